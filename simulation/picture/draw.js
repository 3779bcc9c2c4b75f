// This file paints the interactive drawing. It paints only the things in view, anew whenever the
// view changes. still.go has the same measures.

const svgSpace = "http://www.w3.org/2000/svg";
const axisHeight = 26, reignRow = 30, faultRow = 17, mostFaultRows = 5;
const lanePitch = 74, barTop = 16, barHeight = 20;
const officeTop = barTop - 5, saveTop = barTop + barHeight + 3, leaseTop = barTop + barHeight + 12, localTop = leaseTop + 7;
const beatsTop = barTop + barHeight + 22, beatsHeight = 12, beatsBin = 20;
const mostBeats = 260, mostArrows = 500, mostDots = 600;

function shape(parent, name, attributes, about) {
  const element = document.createElementNS(svgSpace, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (about) element.dataset.about = about;
  parent.append(element);
  return element;
}

function label(parent, type, x, y, text) {
  shape(parent, "text", { class: type, x, y }).textContent = text;
}

// seconds is a time with as many digits as a step of this length, in microseconds, needs.
function seconds(at, step = 1000) {
  const digits = Math.max(0, Math.min(6, Math.ceil(6 - Math.log10(Math.max(step, 1)) - 1e-9)));
  return (at / 1e6).toFixed(digits) + " s";
}

function roundStep(least) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return unit * [1, 2, 5, 10].find((times) => unit * times >= least);
}

// Drawing paints one run into a box. The view selects the visible part of it:
// { from, to, cursor, chosen, only, filters, nodes }.
class Drawing {
  constructor(box, run) {
    this.run = run;
    this.overview = shape(box, "svg", { class: "drawing overview", height: 26, role: "img", "aria-label": "The whole run" });
    this.svg = shape(box, "svg", { class: "drawing stage", tabindex: 0, role: "application", "aria-label": "Lanes of the nodes over time" });
    this.box = box;
  }

  // x is the place of a time.
  x(at) { return this.left + (at - this.view.from) * this.scale; }
  // at is the time at a place.
  at(x) { return this.view.from + (x - this.left) / this.scale; }
  // y is the middle of a node's bar.
  y(node) { return this.tops[node] + barTop + barHeight / 2; }
  shows(from, to) { return from <= this.view.to && to >= this.view.from; }
  // clamp keeps a place inside, because a bar need not reach further than can be seen.
  clamp(x) { return Math.min(Math.max(x, this.left - 20), this.width + 20); }

  paint(view) {
    this.view = view;
    this.width = Math.max(this.box.clientWidth, 200);
    this.left = this.width < 500 ? 40 : 52;
    this.scale = (this.width - this.left) / (view.to - view.from);
    this.layOut();
    this.labels = new Labels(this.left, this.width);
    const all = document.createDocumentFragment(), words = document.createDocumentFragment();
    const dimmed = view.only ? " dimmed" : "";
    this.accusation(words);
    this.axis(all);
    this.faults(all);
    this.reigns(all);
    this.lanes(shape(all, "g", { class: "lanes" + dimmed }), words);
    this.messages(shape(all, "g", { class: "messages" + dimmed }));
    shape(all, "g", { class: "words" + dimmed }).append(words);
    this.violation(all);
    this.cursor(all);
    this.names(all);
    this.svg.replaceChildren(all);
    this.paintOverview();
  }

  layOut() {
    const rows = Math.min(this.run.faultRows.rows, mostFaultRows);
    let top = axisHeight + reignRow + rows * faultRow + 8;
    this.tops = this.view.nodes.map((shown) => { const at = top; if (shown) top += lanePitch; return at; });
    this.height = top;
    this.svg.setAttribute("height", this.height);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
  }

  axis(all) {
    const { from, to } = this.view;
    const step = roundStep((to - from) / Math.max(2, this.width / 110));
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      shape(all, "path", { class: "tick", d: `M${this.x(at)} ${axisHeight - 6}V${this.height}` });
      this.labels.put(all, "time", seconds(at, step), [[this.x(at) + 3, axisHeight - 9]]);
    }
  }

  // faults draws the faults that lasted, above the lanes and behind them. It draws only some of
  // those that are too narrow to be distinguished.
  faults(all) {
    const taken = Array(mostFaultRows).fill(-9);
    this.run.bands.forEach((b, i) => {
      if (b.kind !== bandKinds.fault || !this.shows(b.from, b.to)) return;
      const x = this.clamp(this.x(b.from)), w = Math.max(2, this.clamp(this.x(b.to)) - x), row = Math.min(b.row, mostFaultRows - 1);
      if (x + w - taken[row] < 3) return;
      taken[row] = x + w;
      const y = axisHeight + reignRow + row * faultRow;
      shape(all, "rect", { class: "shade", x, y, width: w, height: this.height - y });
      shape(all, "rect", { class: "fault", x, y, width: w, height: faultRow - 3 }, "band " + i);
      const start = Math.max(x, this.left), text = faultLabel(b);
      const room = Math.floor((Math.min(x + w, this.width) - start - 8) / labelWidth("fault", "0"));
      if (room >= Math.min(text.length, 8)) this.labels.put(all, "fault", text.length <= room ? text : text.slice(0, room - 1) + "…", [[start + 4, y + 11]]);
    });
  }

  reigns(all) {
    const y = axisHeight + 2, h = reignRow - 8;
    const x = this.clamp(this.x(0)), end = this.clamp(this.x(this.run.end));
    shape(all, "rect", { class: "leaderless", x, y, width: Math.max(0, end - x), height: h }, "text nobody led");
    this.run.reigns.forEach((r, i) => { if (this.shows(r.from, r.to)) this.reign(all, r, "reign " + i, y, h); });
  }

  // reign draws a reign. While an earlier one lasts, too, it covers only that one's lower half.
  reign(all, r, about, y, h) {
    const type = r.rival ? "reign rival" : "reign", x = this.clamp(this.x(r.from)), end = this.clamp(this.x(r.to));
    const parting = this.clamp(this.x(Math.max(r.from, r.shared)));
    if (r.shared >= r.from) shape(all, "rect", { class: type, x, y: y + h / 2, width: Math.max(4, parting - x), height: h / 2 }, about);
    if (end > parting) shape(all, "rect", { class: type, x: parting, y, width: Math.max(1, end - parting), height: h }, about);
    const start = Math.max(parting, this.left), text = `n${r.node} · term ${r.term}`;
    if (end - start > labelWidth("reign", text) + 7) this.labels.put(all, "reign", text, [[start + 5, y + 15]]);
  }

  // lanes draws the nodes. It places the labels last, because they must keep off the marks.
  lanes(group, words) {
    this.wanted = [];
    this.view.nodes.forEach((shown, node) => {
      if (!shown) return;
      shape(group, "path", { class: "rail", d: `M${this.left} ${this.y(node)}H${this.width}` });
      this.spans(group, node);
    });
    this.bands(group);
    this.marks(group);
    const { cursor } = this.view, m = this.run.moments;
    if (cursor >= 0 && cursor < m.count) this.labels.keepOff(this.x(m.at[cursor]), this.y(m.node[cursor]), 9);
    for (const [type, texts, places] of this.wanted) texts.some((text) => this.labels.put(words, type, text, places(text)));
  }

  // spans draws the spans of a node. Spans that are too narrow to be seen share one bar.
  spans(group, node) {
    const spans = this.run.spans[node];
    let i = 0, many = null;
    while (i < spans.length && spans[i].to < this.view.from) i++;
    for (; i < spans.length && spans[i].from <= this.view.to; i++) {
      const s = spans[i], x = this.clamp(this.x(s.from)), end = this.clamp(this.x(s.to));
      if (this.scale > 2e-4) this.tally(node, s, x);
      if (end - x >= 1.2) { this.span(group, node, s, x, end); many = null; continue; }
      if (many && end - many.x < 4) { many.element.setAttribute("width", Math.max(1, end - many.x)); continue; }
      many = { x, element: shape(group, "rect", { class: "span many", x, y: this.y(node) - 6, width: Math.max(1, end - x), height: 12 }, `span ${node} ${i}`) };
    }
  }

  span(group, node, s, x, end) {
    const type = spanClass(this.run, s), asks = s.asking !== 0;
    const h = barHeight * (s.up && s.role === roles.leader ? 1 : asks ? 0.9 : 0.7), y = this.y(node);
    shape(group, "rect", { class: "span " + type, x, y: y - h / 2, width: end - x, height: h }, `moment ${s.first}`);
    if (!s.up || !this.begins(node, s)) return;
    const start = Math.max(x, this.left) + 5;
    this.wanted.push(["term " + type, [String(s.term)], (text) => along(start, end - labelWidth("term", text) - 2, y + 4)]);
  }

  // begins says whether the role or the term differs from the bar to the left.
  begins(node, s) {
    const before = s.from <= this.view.from ? null : this.run.spans[node][s.place - 1];
    return !before || !before.up || before.role !== s.role || before.term !== s.term;
  }

  // tally writes how many voters have accepted, where the count grows and has room.
  tally(node, s, x) {
    if (s.asking === 0 || !s.up || this.x(s.to) < this.left) return;
    const spans = this.run.spans[node], before = spans[s.place - 1], after = spans[s.place + 1];
    const began = !before || before.asking !== s.asking;
    if (!began && before.accepts === s.accepts) return;
    const long = `${this.run.words[s.asking]} ${s.accepts} of ${Math.floor(this.run.voters / 2) + 1}`;
    const room = (after && after.asking === s.asking ? this.x(after.from) : Infinity) - x;
    const texts = began && room > labelWidth("tally", long) ? [long, String(s.accepts)] : [String(s.accepts)];
    const start = Math.max(x, this.left) + 1;
    this.wanted.push(["tally", texts, () => along(start, start + 10, this.y(node) - barHeight / 2 - 7)]);
  }

  bands(group) {
    this.run.bands.forEach((b, i) => {
      if (b.node < 0 || !this.view.nodes[b.node] || !this.shows(b.from, Math.max(b.to, b.from + b.local))) return;
      const top = this.tops[b.node], x = this.clamp(this.x(b.from)), w = Math.max(1.5, this.clamp(this.x(b.to)) - x);
      const about = "band " + i;
      if (b.kind === bandKinds.office) shape(group, "rect", { class: "office", x, y: top + officeTop, width: w, height: 3 }, about);
      if (b.kind === bandKinds.save && (b.to - b.from) * this.scale > 0.5) shape(group, "path", { class: "save", d: `M${x} ${top + saveTop}v4h${Math.max(w, 3)}v-4` }, about);
      if (b.kind !== bandKinds.lease) return;
      shape(group, "rect", { class: "lease", x, y: top + leaseTop, width: w, height: 5 }, about);
      const local = this.clamp(this.x(b.from + b.local)) - x;
      if (b.local > 0) shape(group, "rect", { class: "local", x, y: top + localTop, width: Math.max(1, local), height: 2 }, about);
    });
  }

  // marks draws the moments, and plain steps only where there is room for them.
  marks(group) {
    const m = this.run.moments, first = firstAt(m.at, this.view.from), end = firstAt(m.at, this.view.to + 1);
    const dots = end - first <= Math.min(mostDots, this.width / 2);
    const taken = new Float64Array(this.run.nodes * 2).fill(-9);
    for (let i = first; i < end; i++) {
      const node = m.node[i], plain = m.kind[i] <= momentKinds.saveDone;
      if (!this.view.nodes[node] || plain && !m.past[i] && !dots) continue;
      const x = this.x(m.at[i]), place = node * 2 + (plain ? 1 : 0);
      if (!dots && x - taken[place] < 5 && m.kind[i] !== momentKinds.violated) continue;
      taken[place] = x;
      this.mark(group, i, x, this.y(node), this.scale > 2e-4 ? 6 : 3.5);
    }
  }

  mark(group, i, x, y, size) {
    if (this.run.moments.kind[i] > momentKinds.saveDone || this.run.moments.past[i]) this.labels.keepOff(x, this.run.moments.kind[i] === momentKinds.struck ? y - 14 : y, size);
    const { kind, past, cause, node, at } = this.run.moments, about = "moment " + i, type = past[i] ? " past" : "";
    if (past[i] && cause[i] >= 0 && past[cause[i]] && node[cause[i]] === node[i]) {
      shape(group, "path", { class: "thread past", d: `M${this.clamp(this.x(at[cause[i]]))} ${y}H${x}` });
    }
    switch (kind[i]) {
      case momentKinds.crashed: shape(group, "path", { class: (size < 6 ? "crash small" : "crash") + type, d: `M${x - size} ${y - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}` }, about); break;
      case momentKinds.started: shape(group, "path", { class: "start" + type, d: `M${x} ${y - size}l${size * 1.3} ${size}l${-size * 1.3} ${size}z` }, about); break;
      case momentKinds.struck: shape(group, "path", { class: "struck" + type, d: `M${x} ${y - 10}l${size * 0.8} ${-size * 1.2}h${-size * 1.6}z` }, about); break;
      case momentKinds.ticked: shape(group, "path", { class: "clock" + type, d: `M${x} ${y - 10}v20` }, about); break;
      case momentKinds.pauseBegan: case momentKinds.pauseEnded: shape(group, "path", { class: "save" + type, d: `M${x - 2} ${y - 7}v14m4 -14v14` }, about); break;
      default: shape(group, "circle", { class: past[i] ? "past" : "dot", cx: x, cy: y, r: past[i] ? 4 : 2.2 }, about);
    }
  }

  // messages draws arrows, and the density of heartbeats if there are too many.
  messages(group) {
    const { beats, others, past } = this.passagesInView();
    const crowded = beats.length > Math.min(mostBeats, this.width / 2.5);
    if (crowded) this.density(group, beats, "heartbeats"); else beats.forEach((i) => this.arrow(group, i));
    if (others.length > mostArrows) this.density(group, others, "messages"); else others.forEach((i) => this.arrow(group, i));
    past.slice(-mostArrows).forEach((i) => this.arrow(group, i));
  }

  passagesInView() {
    const p = this.run.passages, { from, to, filters, nodes, only, chosen } = this.view;
    const beats = [], others = [], past = [];
    for (let i = firstAt(p.sent, from - p.longest, p.count); i < p.count && p.sent[i] <= to; i++) {
      if (p.arrived[i] >= 0 && p.arrived[i] < from || p.arrived[i] < 0 && p.sent[i] + p.travel < from) continue;
      const filter = p.filter[p.sort[i]], beat = filter === "heartbeat";
      if (!nodes[p.from[i]] || !nodes[p.to[i]] || p.from[i] === p.to[i] || !filters[filter]) continue;
      if (p.past[i] || i === chosen) { past.push(i); continue; }
      if (only || beat && filters.troubled && p.fate[i] === fates.delivered) continue;
      (beat ? beats : others).push(i);
    }
    this.inView = beats.concat(others, past).sort((a, b) => a - b);
    return { beats, others, past };
  }

  // density draws bars below the sender's lane; a higher bar means more messages.
  density(group, list, what) {
    const bins = new Map(), p = this.run.passages;
    for (const i of list) {
      const bin = Math.floor((this.x(p.sent[i]) - this.left) / beatsBin);
      if (bin < 0) continue;
      const key = p.from[i] * 1e6 + bin, sum = bins.get(key) ?? { node: p.from[i], bin, count: 0, trouble: 0 };
      sum.count++;
      if (p.fate[i] > fates.delivered) sum.trouble++;
      bins.set(key, sum);
    }
    let most = 1;
    for (const { count } of bins.values()) most = Math.max(most, count);
    for (const { node, bin, count, trouble } of bins.values()) {
      const base = this.tops[node] + beatsTop + beatsHeight, part = (n) => Math.max(1, beatsHeight * n / most), x = this.left + bin * beatsBin;
      const about = `text n${node} sent ${count} ${what} here${trouble ? `, ${trouble} did not get through` : ""}`;
      shape(group, "rect", { class: "beats", x, y: base - part(count), width: beatsBin - 1, height: part(count) }, about);
      if (trouble) shape(group, "rect", { class: "beats troubled", x, y: base - part(trouble), width: beatsBin - 1, height: part(trouble) }, about);
    }
  }

  // arrow draws a message. A lost one ends half-way, and a refused one arrives at a cross.
  arrow(group, i) {
    const p = this.run.passages, down = p.to[i] > p.from[i] ? 1 : -1, fate = p.fate[i];
    const arrived = p.arrived[i] < 0 ? p.sent[i] + p.travel : p.arrived[i];
    const x0 = this.x(p.sent[i]), y0 = this.y(p.from[i]) + down * barHeight / 2;
    const share = fate === fates.lost ? 0.5 : fate === fates.severed ? 0.3 : 1;
    const x1 = x0 + (this.x(arrived) - x0) * share, y1 = y0 + (this.y(p.to[i]) - down * barHeight / 2 - y0) * share;
    const type = ["message", p.filter[p.sort[i]], p.past[i] && "past", p.again[i] && "again", i === this.view.chosen && "chosen"].filter(Boolean).join(" ");
    const refusal = p.result[i] > 1 && this.run.names.result[p.result[i]] !== "SUCCESS";
    const line = { class: type, d: `M${x0} ${y0}L${x1} ${y1}` };
    const crossed = fate > fates.delivered;
    if (!crossed) line["marker-end"] = refusal ? "url(#hollow)" : "url(#arrow)";
    shape(group, "path", line);
    if (crossed) shape(group, "path", { class: p.past[i] ? "crossed past" : "crossed", d: `M${x1 - 3.5} ${y1 - 3.5}l7 7m0 -7l-7 7` });
    shape(group, "path", { class: "hit", d: line.d }, "passage " + i);
  }

  violation(all) {
    const v = this.run.violation;
    if (!v || !this.shows(v.at, v.at)) return;
    const x = this.x(v.at);
    shape(all, "path", { class: "violation", d: `M${x} ${axisHeight - 6}V${this.height}` });
    shape(all, "path", { class: "hit", d: `M${x} ${axisHeight - 6}V${this.height}` }, "violation");
  }

  // accusation names the violated invariant, to the right of its line or else to the left of it.
  // It is the first label, because it needs its place most.
  accusation(words) {
    const v = this.run.violation;
    if (!v || !this.shows(v.at, v.at) || !this.view.nodes[v.node]) return;
    const x = this.x(v.at), y = this.y(v.node) - barHeight / 2 - 8;
    this.labels.put(words, "violation", v.invariant, [[x + 8, y], [x - 8 - labelWidth("violation", v.invariant), y], [this.left + 1, y]]);
  }

  cursor(all) {
    const i = this.view.cursor, m = this.run.moments;
    if (i < 0 || i >= m.count) return;
    const x = this.x(m.at[i]);
    shape(all, "path", { class: "cursor", d: `M${x} ${axisHeight - 8}V${this.height}` });
    if (this.view.nodes[m.node[i]]) shape(all, "circle", { class: "cursor at", cx: x, cy: this.y(m.node[i]), r: 8 });
  }

  // names writes the nodes' names, and covers shapes that reach to the left of the lanes.
  names(all) {
    shape(all, "rect", { class: "gutter", x: 0, y: 0, width: this.left - 4, height: this.height });
    label(all, "node", 8, axisHeight + 18, "led");
    this.view.nodes.forEach((shown, node) => { if (shown) label(all, "node", 8, this.y(node) + 5, "n" + node); });
  }

  // paintOverview draws the leaders of the whole run, and the part that is in view.
  paintOverview() {
    const { run, view, left, width } = this, all = document.createDocumentFragment();
    const x = (at) => left + (width - left) * at / Math.max(run.end, 1);
    this.overview.setAttribute("viewBox", `0 0 ${width} 26`);
    shape(all, "rect", { class: "leaderless", x: left, y: 8, width: width - left, height: 10 });
    let painted = -1;
    for (const r of run.reigns) {
      if (x(r.to) < painted + 0.5) continue;
      painted = x(r.to);
      shape(all, "rect", { class: "reign", x: x(r.from), y: 8, width: Math.max(0.7, painted - x(r.from)), height: 10 });
    }
    if (run.violation) shape(all, "path", { class: "violation", d: `M${x(run.violation.at)} 2V24` });
    shape(all, "rect", { class: "brush", x: x(Math.max(0, view.from)), y: 1.5, width: Math.max(3, x(Math.min(view.to, run.end)) - x(Math.max(0, view.from))), height: 23, rx: 3 });
    label(all, "node", 8, 18, "run");
    this.overview.replaceChildren(all);
  }
}

function spanClass(run, s) {
  if (!s.up) return "down";
  return run.names.role[s.role] + (s.paused ? " paused" : "");
}

// linksOf names links: n0–n1 for both directions of a link, n0→n1 for one.
function linksOf(links) {
  const known = new Set(links.map(([from, to]) => from + "-" + to)), names = [];
  for (const [from, to] of links) {
    if (!known.has(to + "-" + from)) names.push(`n${from}→n${to}`);
    else if (from < to) names.push(`n${from}–n${to}`);
  }
  return names.join(", ");
}

function faultLabel(b) { return b.links.length ? `${b.what}: ${linksOf(b.links)}` : b.what; }
