// This file places the labels of the still drawing so that none overlap. A label without a place is
// left out; the title of the thing that it names says the same.

package picture

import "unicode/utf8"

// measure is the generous width of a character of a type of label, and how far the label reaches
// above and below its line. labels.js has the same.
type measure struct{ width, above, below float64 }

var measures = map[string]measure{
	"time": {6.8, 9, 3}, "fault": {6.2, 8, 3}, "reign": {7.2, 9, 3}, "term": {7.4, 8, 2}, "violation": {7.6, 9, 3},
	"count": {6.2, 8, 3},
}

// labelGap is kept free behind a label.
const labelGap = 4

func labelWidth(kind, text string) float64 {
	return measures[kind].width * float64(utf8.RuneCountInString(text))
}

// box is an occupied area.
type box struct{ x0, y0, x1, y1 float64 }

func (b *box) touches(o *box) bool { return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1 }

func isFree(taken []box, b *box) bool {
	for i := range taken {
		if taken[i].touches(b) {
			return false
		}
	}
	return true
}

// keepOff keeps labels off a mark, if there is room elsewhere.
func (c *canvas) keepOff(x, y, radius float64) {
	c.marks = append(c.marks, box{x - radius, y - radius, x + radius, y + radius})
}

// label writes a text on a line, at the first of some places where it lies on nothing, or else where
// it lies on no other label. Its classes in the style sheet are kind and more.
func (c *canvas) label(kind, more, text string, y float64, places ...float64) {
	m, w := measures[kind], labelWidth(kind, text)
	var found *box
	for _, x := range places {
		b := &box{x, y - m.above, x + w + labelGap, y + m.below}
		if b.x0 < gutter || b.x1 > stillWidth || !isFree(c.texts, b) {
			continue
		}
		if isFree(c.marks, b) {
			found = b
			break
		}
		if found == nil {
			found = b
		}
	}
	if found == nil {
		return
	}
	c.texts = append(c.texts, *found)
	c.words = append(c.words, shape{Kind: "text", Class: kind + more, X: tenth(found.x0), Y: tenth(y), Text: text})
}

// along lists places from one x to another.
func along(from, to float64) (places []float64) {
	for x := from; x <= to && len(places) < 16; x += 5 {
		places = append(places, x)
	}
	return places
}
