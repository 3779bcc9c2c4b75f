// This file unpacks the arrays of numbers, which pack.go has packed, into runs.

const fieldNames = [
  "up", "paused", "saving", "incarnation", "role", "term", "vote", "leader", "durable", "durableVote",
  "ledgerTerm", "ledgerIndex", "asking", "accepts", "serving",
];
const roles = { candidate: 0, follower: 1, leader: 2, observer: 3 };
const momentKinds = { stepped: 0, saveDone: 1, started: 2, crashed: 3, pauseBegan: 4, pauseEnded: 5, struck: 6, violated: 7, ticked: 8 };
const fates = { underway: 0, delivered: 1, lost: 2, severed: 3, unanswered: 4, refused: 5 };
const bandKinds = { fault: 0, down: 1, pause: 2, save: 3, lease: 4, office: 5 };

// unpack makes a run of the data of one tab.
function unpack(packed) {
  const run = { ...packed, moments: unpackMoments(packed), passages: null };
  run.passages = unpackPassages(packed, run.moments);
  run.byNode = momentsByNode(run);
  run.spans = run.byNode.map((places) => spansOf(run, places));
  run.reigns = reignsOf(run);
  run.roleChanges = roleChangesOf(run);
  run.voters = run.spans.filter((spans) => !spans.some((s) => s.role === roles.observer)).length;
  run.faultRows = stackFaults(run.bands.filter((b) => b.kind === bandKinds.fault));
  return run;
}

// sums turns differences back into values.
function sums(differences) {
  const values = new Float64Array(differences.length);
  let value = 0;
  for (let i = 0; i < values.length; i++) values[i] = value += differences[i];
  return values;
}

function unpackMoments({ moments: m, nodes }) {
  const n = m.at.length;
  const all = {
    count: n, at: sums(m.at), node: m.node, what: m.what, kind: m.kind, passage: m.passage,
    cause: Int32Array.from(m.cause, (back, i) => (back === 0 ? -1 : i - back)),
    past: new Uint8Array(n), before: new Int32Array(n),
    state: fieldNames.map(() => new Float64Array(n)),
  };
  for (const i of m.past) all.past[i] = 1;
  const last = new Int32Array(nodes).fill(-1);
  let next = 0;
  for (let i = 0; i < n; i++) {
    const before = last[m.node[i]];
    for (let f = 0; f < fieldNames.length; f++) {
      const inherited = before < 0 ? 0 : all.state[f][before];
      all.state[f][i] = m.mask[i] & (1 << f) ? m.values[next++] : inherited;
    }
    all.before[i] = before;
    last[m.node[i]] = i;
  }
  return all;
}

function unpackPassages({ passages: p, nodes }, moments) {
  const n = p.sort.length;
  const column = (f) => Uint8Array.from(p.sort, (s) => p.sorts[s][f]);
  const all = {
    count: n, kind: column(0), mark: column(1), result: column(2), fate: column(3), again: column(4),
    from: Uint8Array.from(p.link, (l) => Math.floor(l / nodes)), to: Uint8Array.from(p.link, (l) => l % nodes),
    sent: sums(p.sent), arrived: new Float64Array(n), term: sums(p.term), round: sums(p.round),
    sentBy: sums(p.sentBy), heardBy: new Int32Array(n).fill(-1), past: new Uint8Array(n), filter: [],
    travel: 1000, longest: 0,
  };
  let total = 0, arrived = 0;
  for (let i = 0; i < n; i++) {
    all.arrived[i] = p.travel[i] < 0 ? -1 : all.sent[i] + p.travel[i];
    if (p.travel[i] >= 0) { total += p.travel[i]; arrived++; all.longest = Math.max(all.longest, p.travel[i]); }
    if (p.heardBy[i] !== 0) all.heardBy[i] = all.sentBy[i] + p.heardBy[i];
    all.past[i] = all.heardBy[i] >= 0 && all.sentBy[i] >= 0 && moments.past[all.heardBy[i]] && moments.past[all.sentBy[i]] ? 1 : 0;
  }
  all.filter = p.sorts.map(filterOf);
  all.sort = p.sort;
  if (arrived > 0) all.travel = total / arrived;
  all.longest = Math.max(all.longest, all.travel);
  return all;
}

// filterOf is the filter of a sort of messages, which is also its class in the style sheet.
function filterOf([kind, mark]) {
  if (kind === 3 || kind === 4) return "heartbeat";
  if (kind >= 5 || mark === 3) return "handover";
  return mark === 1 ? "prevote" : "vote";
}

function momentsByNode(run) {
  const places = Array.from({ length: run.nodes }, () => []);
  for (let i = 0; i < run.moments.count; i++) places[run.moments.node[i]]?.push(i);
  return places;
}

function stateAt(run, place) {
  const state = {};
  fieldNames.forEach((name, f) => { state[name] = place < 0 ? 0 : run.moments.state[f][place]; });
  return state;
}

// spansOf lists the times in which a node did not change.
function spansOf(run, places) {
  const { at, state } = run.moments;
  const shown = [0, 1, 4, 5, 12, 13].map((f) => state[f]);
  const spans = [];
  for (const i of places) {
    const last = spans[spans.length - 1];
    if (last && shown.every((column) => column[i] === column[last.first])) continue;
    if (last) last.to = at[i];
    const [up, paused, role, term, asking, accepts] = shown.map((column) => column[i]);
    spans.push({ place: spans.length, first: i, from: at[i], to: run.end, up, paused, role, term, asking, accepts });
  }
  return spans;
}

// reignsOf lists the leaders of all terms. Shared is the time until which an earlier reign lasts,
// too; a rival leads the same term as that one.
function reignsOf(run) {
  const reigns = [];
  run.spans.forEach((spans, node) => {
    let open = null;
    for (const s of spans) {
      if (!s.up || s.role !== roles.leader) { open = null; continue; }
      if (open && open.term === s.term) { open.to = s.to; continue; }
      open = { node, term: s.term, from: s.from, to: s.to, shared: -1, rival: false };
      reigns.push(open);
    }
  });
  reigns.sort((a, b) => a.from - b.from);
  let longest = null;
  for (const reign of reigns) {
    if (longest && reign.from <= longest.to) {
      reign.shared = Math.min(reign.to, longest.to);
      reign.rival = reign.term === longest.term && reign.node !== longest.node;
    }
    if (!longest || reign.to > longest.to) longest = reign;
  }
  return reigns;
}

function roleChangesOf(run) {
  const changes = run.spans.flatMap((spans) => spans.filter((s, i) => {
    const last = spans[i - 1];
    return !last || last.role !== s.role || last.up !== s.up;
  }).map((s) => s.first));
  return changes.sort((a, b) => a - b);
}

// stackFaults gives each fault a row in which it overlaps no other.
function stackFaults(faults) {
  const ends = [];
  for (const fault of faults) {
    let row = ends.findIndex((end) => end < fault.from);
    if (row < 0) row = ends.length;
    ends[row] = fault.to;
    fault.row = row;
  }
  return { faults, rows: ends.length };
}

// firstAt is the first place whose value is not below a limit.
function firstAt(values, limit, count = values.length) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < limit) low = middle + 1; else high = middle;
  }
  return low;
}

// latestOf is a node's last moment up to a place.
function latestOf(run, node, place) {
  const places = run.byNode[node];
  const after = firstAt(places, place + 1);
  return after > 0 ? places[after - 1] : -1;
}

// cutAt says which links are cut at a time, as "from-to".
function cutAt(run, at) {
  const cut = new Set();
  for (const b of run.bands) {
    if (b.kind !== bandKinds.fault || b.from > at || b.to <= at) continue;
    for (const [from, to] of b.links) cut.add(from + "-" + to);
  }
  return cut;
}
