// This file places labels so that none overlap. A label without a place is left out; pointing at
// the thing that it names shows the same. still_label.go has the same measures.

// measures has, for each type of label, the generous width of a character, and how far the label
// reaches above and below its line.
const measures = {
  time: [6.8, 9, 3], fault: [6.2, 8, 3], reign: [7.2, 9, 3], term: [7.4, 8, 2], tally: [6.6, 8, 2], violation: [7.6, 9, 3],
};

function labelWidth(type, text) { return measures[type.split(" ")[0]][0] * text.length; }

class Labels {
  constructor(left, width) {
    this.left = left;
    this.width = width;
    this.texts = [];
    this.marks = [];
  }

  // keepOff keeps labels off a mark, if there is room elsewhere.
  keepOff(x, y, radius) { this.marks.push([x - radius, y - radius, x + radius, y + radius]); }

  // put writes a text at the first of some places, each an x and a y, where it lies on
  // nothing, or else on no other label. It says whether there was such a place.
  put(parent, type, text, places) {
    const boxes = places.map(([x, y]) => this.box(type, text, x, y)).filter((b) => b[0] >= this.left && b[2] <= this.width && isFree(this.texts, b));
    const box = boxes.find((b) => isFree(this.marks, b)) ?? boxes[0];
    if (!box) return false;
    this.texts.push(box);
    label(parent, type, box[0], box[4], text);
    return true;
  }

  // box is the area of a text with a gap behind it, and the y of its line.
  box(type, text, x, y) {
    const [, above, below] = measures[type.split(" ")[0]];
    return [x, y - above, x + labelWidth(type, text) + 4, y + below, y];
  }
}

function isFree(taken, [x0, y0, x1, y1]) { return taken.every((t) => t[2] <= x0 || t[0] >= x1 || t[3] <= y0 || t[1] >= y1); }

// along lists places from one x to another.
function along(from, to, y) {
  const places = [];
  for (let x = from; x <= to && places.length < 16; x += 5) places.push([x, y]);
  return places;
}
