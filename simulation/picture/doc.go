// Package picture draws what happened in a simulated election: one HTML page that needs
// nothing but itself, no network, no library, no server.
//
// [Write] makes the page of one trace or of several, such as a run and what is left of
// it after shrinking. The page says in one sentence what happened, and opens at the time
// that matters. Every node has a lane on true time; the messages are arrows between the
// lanes. Without JavaScript the page shows a still drawing of that time and a list of the
// important moments; with it, everything can be zoomed, filtered and stepped through.
//
//	file          idea
//	picture.go    the page: what it is made of, and that it may not load anything
//	sentence.go   what happened, in one sentence
//	window.go     the time that matters
//	span.go       for how long a node was what
//	story.go      the moments that matter, as a list
//	tables.go     what was checked, what struck, what came about
//	pack.go       the trace as arrays of numbers, for the script
//	still*.go     the still drawing
//	labels.js     labels that do not lie on each other
//	data.js       the arrays of numbers as what the script asks for
//	draw.js       the interactive drawing
//	panel.js      what the cursor and the pointer tell
//	interact.js   keys, pointer, filters, tabs
package picture
