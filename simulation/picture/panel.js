// This file has the panels. They show the state of every node at the cursor, the last change, the
// links that are cut, and all details of the thing under the pointer.

const stateColumns = [
  ["role", (run, s) => s.up ? run.names.role[s.role] + (s.paused ? ", paused" : "") : "down", ["up", "paused", "role"]],
  ["term", (run, s) => s.term, ["term"]],
  ["vote", (run, s) => nodeName(s.vote), ["vote"]],
  ["leader", (run, s) => nodeName(s.leader), ["leader"]],
  ["on disk", (run, s) => `${s.durable}, ${nodeName(s.durableVote)}${s.saving ? " …" : ""}`, ["durable", "durableVote", "saving"]],
  ["ledger", (run, s) => `${s.ledgerTerm}:${s.ledgerIndex}`, ["ledgerTerm", "ledgerIndex"]],
  ["asks", (run, s) => s.asking ? `${run.words[s.asking]}, ${s.accepts}` : "", ["asking", "accepts"]],
  ["serves", (run, s) => s.serving || "", ["serving"]],
  ["life", (run, s) => s.incarnation, ["incarnation"]],
];

// fateOf says whether a node had acknowledged the lost entry, and whether it lacks it.
function fateOf(v, node) {
  const had = v.has.includes(node), lacks = v.lacks.includes(node);
  return lacks ? (had ? "acknowledged, lost" : "does not have it") : had ? "acknowledged" : "";
}

function nodeName(i) { return i < 0 ? "–" : "n" + i; }

function element(name, type, text) {
  const e = document.createElement(name);
  if (type) e.className = type;
  if (text !== undefined) e.textContent = text;
  return e;
}

// changesAt lists the fields that a moment changed at its node: { field: [before, after] }.
function changesAt(run, i) {
  const before = stateAt(run, run.moments.before[i]), after = stateAt(run, i), changed = {};
  for (const name of fieldNames) if (before[name] !== after[name]) changed[name] = [before[name], after[name]];
  return changed;
}

// Panels are the panels below one drawing.
class Panels {
  constructor(root, run) {
    this.run = run;
    this.moment = root.querySelector(".moment");
    this.table = root.querySelector(".states");
    this.graph = root.querySelector(".graph");
    this.cuts = root.querySelector(".cuts");
    this.told = root.querySelector(".told");
  }

  show(cursor) {
    if (cursor < 0) { this.moment.textContent = "Nothing happened."; return; }
    const latest = this.run.byNode.map((_, node) => latestOf(this.run, node, cursor));
    const changes = changesAt(this.run, cursor);
    this.tell(cursor, changes);
    const v = this.run.violation, lost = v && v.entry && this.run.moments.at[cursor] >= v.at ? v : null;
    this.states(latest, this.run.moments.node[cursor], changes, lost);
    this.connect(latest, this.run.moments.at[cursor]);
  }

  tell(cursor, changes) {
    const m = this.run.moments;
    const said = stateColumns.filter(([, , fields]) => fields.some((f) => f in changes)).map(([name, text]) => {
      const [before, after] = [m.before[cursor], cursor].map((i) => text(this.run, stateAt(this.run, i)));
      return m.before[cursor] < 0 ? `${name} ${after}` : `${name} ${before === "" ? "–" : before} → ${after === "" ? "–" : after}`;
    });
    this.moment.replaceChildren(
      element("b", "", seconds(m.at[cursor], 1)), ` n${m.node[cursor]} ${this.run.words[m.what[cursor]]} `,
      element("span", "faint", `${cursor + 1} of ${m.count}`),
      element("span", "changes", said.length ? said.join("; ") : "changes nothing"));
  }

  states(latest, acts, changes, lost) {
    const head = element("tr");
    for (const name of ["node", ...stateColumns.map(([n]) => n), ...(lost ? [`entry ${lost.entry}`] : [])]) {
      const cell = element("th", "", name);
      cell.scope = "col";
      head.append(cell);
    }
    const body = element("tbody"), thead = element("thead");
    thead.append(head);
    latest.forEach((place, node) => body.append(this.row(node, place, node === acts ? changes : null, lost)));
    this.table.replaceChildren(thead, body);
  }

  row(node, place, changes, lost) {
    const row = element("tr", changes ? "acts" : ""), name = element("th", "", "n" + node), state = stateAt(this.run, place);
    name.scope = "row";
    row.append(name);
    for (const [, text, fields] of stateColumns) {
      const changed = changes && fields.some((f) => f in changes);
      const cell = element("td", changed ? "changed" : "", place < 0 ? "" : text(this.run, state));
      if (fields.includes("role")) cell.prepend(element("i", "swatch " + (place < 0 ? "down" : spanClass(this.run, state))));
      row.append(cell);
    }
    if (lost) row.append(element("td", lost.lacks.includes(node) ? "lost" : "", fateOf(lost, node)));
    return row;
  }

  // connect draws the nodes in a circle, with the links between them.
  connect(latest, at) {
    const n = this.run.nodes, cut = cutAt(this.run, at), size = 200, ring = n > 1 ? 74 : 0;
    const svg = document.createElementNS(svgSpace, "svg");
    svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
    svg.setAttribute("role", "img");
    const spots = latest.map((_, i) => [size / 2 + ring * Math.sin(i / n * 2 * Math.PI), size / 2 - ring * Math.cos(i / n * 2 * Math.PI)]);
    for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) this.link(svg, spots[a], spots[b], cut.has(a + "-" + b), cut.has(b + "-" + a));
    latest.forEach((place, i) => this.spot(svg, place, i, spots[i]));
    this.graph.replaceChildren(svg);
    const names = linksOf([...cut].map((link) => link.split("-").map(Number)));
    this.cuts.textContent = cut.size ? "cut: " + names : "all links are up";
    svg.setAttribute("aria-label", this.cuts.textContent);
  }

  // link draws each direction from its sender to the middle.
  link(svg, [ax, ay], [bx, by], there, back) {
    const mx = (ax + bx) / 2, my = (ay + by) / 2;
    shape(svg, "path", { class: there ? "cut" : "up", d: `M${ax} ${ay}L${mx} ${my}` });
    shape(svg, "path", { class: back ? "cut" : "up", d: `M${bx} ${by}L${mx} ${my}` });
  }

  spot(svg, place, node, [x, y]) {
    const state = stateAt(this.run, place), group = shape(svg, "g", { class: place < 0 ? "down" : spanClass(this.run, state) });
    shape(group, "circle", { cx: x, cy: y, r: 17 });
    label(group, "", x, y + 4, "n" + node);
  }

  // about fills the panel with the lines about one thing.
  about(lines) { this.told.replaceChildren(...lines.map((line) => element("p", "", line))); }
}

// linesAbout lists the details of a thing that the drawing has named.
function linesAbout(run, named) {
  const [what, ...rest] = named.split(" "), [i, j] = rest.map(Number);
  switch (what) {
    case "passage": return aboutPassage(run, i);
    case "moment": return aboutMoment(run, i);
    case "band": return aboutBand(run.bands[i]);
    case "span": return aboutMoment(run, run.spans[i][j].first);
    case "reign": return aboutReign(run, run.reigns[i]);
    case "violation": return [`${run.violation.invariant} violated`, `at ${seconds(run.violation.at, 1)} by n${run.violation.node}`, run.violation.what];
    default: return [rest.join(" ")];
  }
}

function aboutPassage(run, i) {
  const p = run.passages, lines = [`n${p.from[i]} to n${p.to[i]}: ${run.names.kind[p.kind[i]]}`];
  if (p.mark[i]) lines.push(run.names.mark[p.mark[i]]);
  if (p.result[i]) lines.push(run.names.result[p.result[i]]);
  lines.push(`term ${p.term[i]}, round ${p.round[i]}`);
  if (p.again[i]) lines.push("a second copy, or one from long ago");
  const arrived = p.arrived[i] < 0 ? "" : ` ${seconds(p.arrived[i], 1)}, after ${((p.arrived[i] - p.sent[i]) / 1000).toFixed(2)} ms`;
  lines.push(`sent ${seconds(p.sent[i], 1)}`, run.names.fate[p.fate[i]] + arrived);
  if (p.past[i]) lines.push("led to the violation");
  return lines;
}

function aboutMoment(run, i) {
  const m = run.moments, s = stateAt(run, i);
  const lines = [`n${m.node[i]} ${run.words[m.what[i]]}`, seconds(m.at[i], 1)];
  lines.push(s.up ? `${run.names.role[s.role]} in term ${s.term}${s.paused ? ", paused" : ""}` : "down");
  if (s.asking) lines.push(`asks for ${run.words[s.asking]}s: ${s.accepts} accepted`);
  if (m.cause[i] >= 0) lines.push(`because n${m.node[m.cause[i]]} ${run.words[m.what[m.cause[i]]]} at ${seconds(m.at[m.cause[i]], 1)}`);
  if (m.past[i]) lines.push("led to the violation");
  return lines;
}

function aboutBand(b) {
  const lines = [b.node < 0 ? b.what : `n${b.node}: ${b.what}`];
  if (b.term) lines.push(`term ${b.term}`);
  if (b.links.length) lines.push("cut: " + linksOf(b.links));
  lines.push(`${seconds(b.from, 1)} to ${seconds(b.to, 1)}`, `${((b.to - b.from) / 1000).toFixed(2)} ms`);
  if (b.local) lines.push(`${(b.local / 1000).toFixed(2)} ms by the holder’s clock`);
  return lines;
}

function aboutReign(run, r) {
  return [`n${r.node} led term ${r.term}`, `${seconds(r.from)} to ${seconds(r.to)}`, `${((r.to - r.from) / 1000).toFixed(0)} ms`];
}
