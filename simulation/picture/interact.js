// This file has the keys, pointer, filters and tabs, which change the view and paint it again.

const zoomStep = 1.5, panStep = 0.2, shortestView = 200;

// Stage is one tab, with a drawing, its panels, and the view that both show.
class Stage {
  constructor(root) {
    this.root = root;
    this.run = unpack(JSON.parse(root.querySelector(".data").textContent));
    const box = root.querySelector(".box");
    box.replaceChildren();
    this.drawing = new Drawing(box, this.run);
    this.panels = new Panels(root, this.run);
    this.view = {
      from: this.run.open[0], to: this.run.open[1], cursor: this.run.cursor, chosen: -1, only: false,
      filters: { heartbeat: true, vote: true, prevote: true, handover: true, troubled: false },
      nodes: Array(this.run.nodes).fill(true),
    };
    root.querySelectorAll(".tools, .panels").forEach((e) => { e.hidden = false; });
    this.nodeFilters();
    this.storyLinks();
    this.listen(box);
    this.moved = true;
    this.paint();
  }

  listen(box) {
    this.root.addEventListener("change", (e) => this.filter(e.target));
    this.root.addEventListener("click", (e) => {
      const name = e.target.closest("[data-do]")?.dataset.do;
      if (name) actions[name]?.(this);
    });
    new ResizeObserver(() => this.later()).observe(box);
    new Pointer(this);
  }

  nodeFilters() {
    const set = this.root.querySelector(".nodes");
    for (let i = 0; i < this.run.nodes; i++) {
      const name = element("label"), tick = element("input");
      tick.type = "checkbox";
      tick.checked = true;
      tick.dataset.node = i;
      name.append(tick, "n" + i);
      set.append(name);
    }
  }

  storyLinks() {
    for (const line of this.root.querySelectorAll(".story li[data-moment]")) {
      const at = line.querySelector(".at"), button = element("button", "", at.textContent);
      button.type = "button";
      button.addEventListener("click", () => {
        this.goTo(Number(line.dataset.moment));
        this.drawing.box.scrollIntoView({ block: "nearest" });
      });
      at.replaceChildren(button);
    }
    this.scrollStory();
  }

  // scrollStory shows the part of the list at which the run's cursor begins.
  scrollStory() {
    const lines = [...this.root.querySelectorAll(".story li[data-moment]")];
    const near = lines.find((line) => Number(line.dataset.moment) >= this.run.cursor);
    if (near) near.parentElement.scrollTop = near.offsetTop - near.parentElement.clientHeight / 2;
  }

  filter(tick) {
    if (tick.dataset.filter) this.view.filters[tick.dataset.filter] = tick.checked;
    if (tick.dataset.node) this.view.nodes[tick.dataset.node] = tick.checked;
    this.later();
  }

  // later paints once before the next frame, however often the view changes until then.
  later() {
    if (this.waiting || this.root.hidden) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    this.drawing.paint(this.view);
    if (this.moved) this.panels.show(this.view.cursor);
    this.moved = false;
    this.root.dataset.cursor = this.view.cursor;
    this.root.dataset.view = `${this.view.from} ${this.view.to}`;
  }

  show(from, to) {
    const least = Math.min(shortestView, this.run.end), most = Math.max(this.run.end * 1.02, this.run.open[1] - this.run.open[0]);
    const length = Math.min(Math.max(to - from, least, 1), most);
    const start = Math.min(Math.max(from, -length / 50), Math.max(this.run.end * 1.02 - length, 0));
    this.view.from = start;
    this.view.to = start + length;
    this.later();
  }

  // zoom keeps the time around at its place.
  zoom(factor, around = this.focus()) {
    const { from, to } = this.view, length = (to - from) / factor, share = (around - from) / (to - from);
    this.show(around - length * share, around + length * (1 - share));
  }

  focus() {
    const { from, to, cursor } = this.view, at = this.run.moments.at[cursor];
    return at >= from && at <= to ? at : (from + to) / 2;
  }

  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.show(this.view.from + by, this.view.to + by);
  }

  goTo(place) {
    if (place < 0 || place >= this.run.moments.count) return;
    this.view.cursor = place;
    this.moved = true;
    this.reveal(this.run.moments.at[place]);
  }

  // reveal pans so that a time is in view.
  reveal(at) {
    const { from, to } = this.view, length = to - from;
    if (at < from + length * 0.02 || at > to - length * 0.02) this.show(at - length / 2, at + length / 2);
    this.later();
  }

  // step goes to the next moment that is not filtered out.
  step(by) {
    const { moments } = this.run, { nodes, only } = this.view;
    let i = this.view.cursor + by;
    while (i >= 0 && i < moments.count && (!nodes[moments.node[i]] || only && !moments.past[i])) i += by;
    this.goTo(i);
  }

  stepRole(by) {
    const changes = this.run.roleChanges, after = firstAt(changes, this.view.cursor + (by > 0 ? 1 : 0));
    const place = changes[by > 0 ? after : after - 1];
    if (place !== undefined) this.goTo(place);
  }

  // stepMessage chooses the next message in view, and shows its details.
  stepMessage(by) {
    const list = this.drawing.inView;
    if (list.length === 0) return;
    let at = list.indexOf(this.view.chosen) + by;
    if (this.view.chosen < 0 && by < 0 || at < 0) at = list.length - 1;
    this.choose("passage " + list[at % list.length]);
  }

  choose(named) {
    const [what, place] = named.split(" ");
    this.view.chosen = what === "passage" ? Number(place) : -1;
    this.panels.about(linesAbout(this.run, named));
    this.later();
  }

  // nearest is the moment nearest to a place in the drawing; if a lane is there, one of its node.
  nearest(x, y) {
    const { at, node } = this.run.moments, wanted = this.drawing.at(x);
    const lane = this.view.nodes.findIndex((shown, i) => shown && y >= this.drawing.tops[i] && y < this.drawing.tops[i] + lanePitch);
    const places = lane < 0 ? null : this.run.byNode[lane];
    const times = places ? { length: places.length, time: (i) => at[places[i]] } : { length: at.length, time: (i) => at[i] };
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times.time(middle) < wanted) low = middle + 1; else high = middle;
    }
    if (low > 0 && (low === times.length || wanted - times.time(low - 1) < times.time(low) - wanted)) low--;
    return places ? places[low] ?? -1 : Math.min(low, node.length - 1);
  }
}

// actions are the actions of buttons and keys.
const actions = {
  zoomIn: (s) => s.zoom(zoomStep),
  zoomOut: (s) => s.zoom(1 / zoomStep),
  all: (s) => s.show(-s.run.end * 0.01, s.run.end * 1.01),
  matters: (s) => { s.show(...s.run.open); s.goTo(s.run.cursor); },
  next: (s) => s.step(1),
  last: (s) => s.step(-1),
  nextRole: (s) => s.stepRole(1),
  lastRole: (s) => s.stepRole(-1),
  nextMessage: (s) => s.stepMessage(1),
  lastMessage: (s) => s.stepMessage(-1),
  first: (s) => s.goTo(0),
  end: (s) => s.goTo(s.run.moments.count - 1),
  left: (s) => s.pan(-panStep),
  right: (s) => s.pan(panStep),
  help: () => document.querySelector(".help").showModal(),
  only: (s) => {
    const button = s.root.querySelector(".only");
    if (!button) return;
    s.view.only = !s.view.only;
    button.setAttribute("aria-pressed", s.view.only);
    s.later();
  },
};

const keys = {
  n: "next", j: "next", p: "last", k: "last", N: "nextRole", P: "lastRole", ".": "nextMessage", ",": "lastMessage",
  Home: "first", End: "end", "+": "zoomIn", "=": "zoomIn", "-": "zoomOut", "−": "zoomOut", ArrowLeft: "left", ArrowRight: "right",
  0: "all", v: "matters", o: "only", "?": "help",
};

// Pointer handles dragging, pinching, the wheel, and pointing.
class Pointer {
  constructor(stage) {
    this.stage = stage;
    this.down = new Map();
    this.travelled = 0;
    const { svg, overview } = stage.drawing;
    svg.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    svg.addEventListener("pointerdown", (e) => this.press(e));
    svg.addEventListener("pointermove", (e) => this.move(e));
    svg.addEventListener("pointerup", (e) => this.release(e));
    svg.addEventListener("pointercancel", (e) => this.down.delete(e.pointerId));
    svg.addEventListener("pointerleave", () => tip(null));
    overview.addEventListener("pointerdown", (e) => this.jump(e));
    overview.addEventListener("pointermove", (e) => { if (e.buttons) this.jump(e); });
  }

  x(e) { return e.clientX - this.stage.drawing.svg.getBoundingClientRect().left; }

  wheel(e) {
    e.preventDefault();
    const { stage } = this;
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) stage.pan(e.deltaX / stage.drawing.width);
    else stage.zoom(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0022)), stage.drawing.at(this.x(e)));
  }

  press(e) {
    if (e.button !== 0) return;
    this.down.set(e.pointerId, this.x(e));
    this.travelled = 0;
    tip(null);
  }

  move(e) {
    const { stage } = this, last = this.down.get(e.pointerId);
    if (last === undefined) { this.point(e); return; }
    const now = this.x(e), before = [...this.down.values()];
    this.down.set(e.pointerId, now);
    this.travelled += Math.abs(now - last);
    if (this.travelled > 4) { stage.drawing.svg.setPointerCapture(e.pointerId); stage.drawing.svg.classList.add("dragged"); }
    if (before.length === 1) stage.pan((last - now) / (stage.drawing.width - stage.drawing.left));
    if (before.length === 2) this.pinch(before, [...this.down.values()]);
  }

  pinch([a, b], [c, d]) {
    const wide = Math.max(Math.abs(c - d), 10) / Math.max(Math.abs(a - b), 10);
    this.stage.zoom(wide, this.stage.drawing.at((c + d) / 2));
  }

  // release is a click if the pointer has hardly moved.
  release(e) {
    const { stage } = this, pressed = this.down.delete(e.pointerId);
    stage.drawing.svg.classList.remove("dragged");
    if (!pressed || this.travelled > 4) return;
    const named = e.target.closest("[data-about]")?.dataset.about, at = stage.drawing.svg.getBoundingClientRect();
    if (named) stage.choose(named);
    stage.goTo(named?.startsWith("moment ") ? this.momentAt(named, e, at) : stage.nearest(e.clientX - at.left, e.clientY - at.top));
  }

  // momentAt is the moment of a mark, or of a bar the moment nearest to the pointer.
  momentAt(named, e, at) {
    if (e.target.classList.contains("span")) return this.stage.nearest(e.clientX - at.left, e.clientY - at.top);
    return Number(named.split(" ")[1]);
  }

  point(e) {
    const named = e.pointerType === "mouse" && e.target.closest("[data-about]")?.dataset.about;
    tip(named ? linesAbout(this.stage.run, named) : null, e.clientX, e.clientY);
  }

  jump(e) {
    const { stage } = this, { drawing, view, run } = stage, length = view.to - view.from;
    const box = drawing.overview.getBoundingClientRect();
    const at = (e.clientX - box.left - drawing.left) / (drawing.width - drawing.left) * run.end;
    stage.show(at - length / 2, at + length / 2);
  }
}

// tip shows lines next to the pointer, or nothing.
function tip(lines, x, y) {
  const box = document.querySelector(".tip");
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(...lines.map((line) => element("p", "", line)));
  const { offsetWidth: w, offsetHeight: h } = box;
  box.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + "px";
  box.style.top = (y + 16 + h > innerHeight ? y - h - 12 : y + 16) + "px";
}

// Page shows one tab at a time; a stage is made when its tab is first shown.
class Page {
  constructor() {
    this.roots = [...document.querySelectorAll(".run")];
    this.stages = [];
    document.body.classList.add("scripted");
    if (this.roots.length > 1) this.tabs();
    if (this.roots.length > 0) this.select(0);
    this.copying();
    document.addEventListener("keydown", (e) => this.key(e));
  }

  tabs() {
    const list = document.querySelector(".tabs");
    list.hidden = false;
    this.buttons = this.roots.map((root, i) => {
      const button = element("button", "", root.dataset.name);
      Object.assign(button, { type: "button", id: "tab-" + i });
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", root.id);
      button.addEventListener("click", () => this.select(i));
      root.setAttribute("role", "tabpanel");
      list.append(button);
      return button;
    });
    list.addEventListener("keydown", (e) => this.tabKey(e));
  }

  tabKey(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    this.select((this.current + by + this.roots.length) % this.roots.length);
    this.buttons[this.current].focus();
  }

  select(i) {
    this.current = i;
    this.roots.forEach((root, at) => { root.hidden = at !== i; });
    this.buttons?.forEach((button, at) => { button.setAttribute("aria-selected", at === i); button.tabIndex = at === i ? 0 : -1; });
    if (this.stages[i]) this.stages[i].later(); else this.stages[i] = new Stage(this.roots[i]);
  }

  copying() {
    const button = document.querySelector("[data-do=copy]");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = document.querySelector(".replay code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch { // without permission the reader copies the selected text
        getSelection().selectAllChildren(code);
      }
    });
  }

  key(e) {
    const stage = this.stages[this.current];
    const scrolls = e.target.closest("pre") && /^(Arrow|Home|End)/.test(e.key);
    if (!stage || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || scrolls || document.querySelector("dialog[open]")) return;
    const name = keys[e.key];
    if (!name) return;
    e.preventDefault();
    actions[name](stage);
  }
}

new Page();
