// Package picture draws a simulated election as one HTML page that needs
// no network, library or server.
//
// [Write] makes the page of one trace or of several, such as a run before and after
// shrinking. The page says in one sentence what happened, and opens at the time
// that matters. Every node has a lane on true time; the messages are arrows between the
// lanes. Without JavaScript the page shows a still drawing of that time and a list of the
// important moments; with it, everything can be zoomed, filtered and stepped through.
//
//	file          idea
//	picture.go    the page: its parts, and a policy by which it loads nothing
//	sentence.go   a run in one sentence
//	window.go     the time that matters
//	span.go       the roles of a node over time
//	story.go      the moments that matter, as a list
//	tables.go     how often invariants were checked, faults struck and conditions occurred
//	pack.go       the trace as arrays of numbers, for the script
//	still*.go     the still drawing
//	labels.js     labels that do not overlap
//	data.js       unpacks the arrays of numbers
//	draw.js       the interactive drawing
//	panel.js      the state at the cursor, and the thing under the pointer
//	interact.js   keys, pointer, filters, tabs
package picture
