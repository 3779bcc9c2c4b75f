// The result cache: what a node can do, by as little of what it may hear as matters.
//
// The intuition: a follower may hear ninety messages, of which eighty-nine do nothing to it or to anything that
// it can silently become. So what it can do depends on the ninetieth alone, and is found in the cache for every
// other choice of the eighty-nine.
//
// The cases:
//
//   - A message is known to do something to a node that was looked at: it is part of the key.
//   - It is known to do nothing: it is left out.
//   - It is not known. The closures that were looked at are asked. If it does nothing there, it is left out from
//     then on; if it does something, the result is worked out anew.
//
// The fix that looks right and is wrong is to leave out what does nothing to the node itself. It may do something to a
// node that this one silently becomes.
//
// All workers share the cache, in parts, so that they rarely wait for each other.

package explore

import (
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// resultCache has what was worked out about nodes that may hear this or that, by node in parts,
// so that those who look something up rarely wait for each other.
type resultCache struct{ parts [cacheParts]cachePart }

const cacheParts = 64

// cachePart is what is remembered of some nodes.
type cachePart struct {
	mu       sync.Mutex
	relevant []relevant // by node, of those in this part, so far
	all      []cacheEntry
	places   []int32 // a hash table: where it is, plus 1; 0: nothing is
}

// relevant is what is known to do something to a node, or to others that were looked at on
// its account: messages, and the terms of stale messages.
type relevant struct {
	heard messageSet
	width int // words of heard
	terms uint8
}

func (r *relevant) join(other *relevant) {
	r.heard.join(&other.heard)
	r.width = max(r.width, r.heard.words())
	r.terms |= other.terms
}

// most is the largest term that makes a difference.
func (r *relevant) most(key *localKey) (most memberstate.Term) {
	for most = key.most; most > 0 && r.terms>>most&1 == 0; {
		most--
	}
	return most
}

// cacheEntry is what was worked out for a node and what is relevant of what it may hear.
type cacheEntry struct {
	key        localKey
	irrelevant messageSet // what is known to make no difference
	sources    sourceNodes
	local      *local
	names      int // that there were by then
}

// sourceNodes are the nodes whose closures were looked at, among members renamed by this. To ask them about
// new messages saves up to 13 % of the CPU time in groups of five with pre-vote, and nothing elsewhere.
type sourceNodes struct {
	nodes []nodeID
	by    int
}

// mostCached bounds a part of the cache. What is forgotten can be worked out again, and
// states must have room.
const mostCached = 1 << 13

func (m *resultCache) part(id nodeID) *cachePart { return &m.parts[id%cacheParts] }

// relevantTo is what is known to matter to a node.
func (m *resultCache) relevantTo(id nodeID) relevant {
	p := m.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.relevantTo(id)
}

// find is what was worked out; nil: nothing was, or something else is heard that makes a
// difference. The worker that asks may have to learn numbers, and may give some.
func (m *resultCache) find(by *model, key *localKey) *local {
	what, on, rest := m.recall(by, key)
	if what == nil || rest.words() == 0 {
		return what
	}
	if !by.harmless(&on, key.most, rest) {
		return nil
	}
	m.join(key, what, &rest)
	return what
}

// recall finds what was worked out without asking any node anything, which nodes were asked
// for it, and what else is heard of which it is not known whether it makes a difference.
func (m *resultCache) recall(by *model, key *localKey) (what *local, on sourceNodes, rest messageSet) {
	p, names := m.part(key.node), 0
	p.mu.Lock()
	if r := p.recall(key); r != nil {
		what, on, names = r.local, r.sources, r.names
		matters := p.relevantTo(key.node)
		for i, word := range key.heard {
			rest[i] = word &^ matters.heard[i] &^ r.irrelevant[i]
		}
	}
	p.mu.Unlock()
	by.knows(names)
	return what, on, rest
}

// join notes what makes no difference to what is remembered, if it still is.
func (m *resultCache) join(key *localKey, what *local, idle *messageSet) {
	p := m.part(key.node)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.recall(key); r != nil && r.local == what {
		r.irrelevant.join(idle)
	}
}

// keep remembers what was worked out, and what of all that is heard is known to matter. It
// returns what another one has worked out meanwhile.
func (m *resultCache) keep(w *closureSearch, what *local) *local {
	return m.enter(w.model, w.key, &w.relevant, sourceNodes{nodes: w.sources()}, what)
}

func (m *resultCache) enter(by *model, key *localKey, matters *relevant, on sourceNodes, what *local) *local {
	p := m.part(key.node)
	p.mu.Lock()
	r := p.enter(key, matters, cacheEntry{sources: on, local: what, names: by.known()})
	what = r.local
	names := r.names
	p.mu.Unlock()
	by.knows(names)
	return what
}

// share remembers for a key what was worked out for another one, to which a renaming leads,
// unless that was forgotten meanwhile: then it is not known any more which nodes were asked.
func (m *resultCache) share(by *model, key, like *localKey, renamed int, what *local) *local {
	known, on, rest := m.recall(by, like)
	matters := m.relevantTo(like.node)
	by.learn() // others may know of more that matters
	matters.heard = by.renameSaid(&matters.heard, by.undone[renamed])
	matters.width = matters.heard.words()
	if known == nil || rest.words() > 0 {
		m.note(key.node, &matters)
		return what
	}
	on.by = by.both(on.by, renamed)
	return m.enter(by, key, &matters, on, what)
}

// note is that more matters to a node.
func (m *resultCache) note(id nodeID, matters *relevant) {
	p := m.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relevantTo(id).join(matters)
}

func (p *cachePart) relevantTo(id nodeID) *relevant {
	at := int(id / cacheParts)
	for at >= len(p.relevant) {
		p.relevant = append(p.relevant, relevant{})
	}
	return &p.relevant[at]
}

func (p *cachePart) recall(key *localKey) *cacheEntry {
	if at := *p.place(key, p.relevantTo(key.node)); at > 0 {
		return &p.all[at-1]
	}
	return nil
}

func (p *cachePart) enter(key *localKey, matters *relevant, r cacheEntry) *cacheEntry {
	all := p.relevantTo(key.node)
	all.join(matters)
	place := p.place(key, all)
	if *place == 0 {
		if len(p.all) == cap(p.all) {
			p.makeRoom()
			place = p.place(key, all)
		}
		r.key = localKey{key.node, all.most(key), key.heard.and(&all.heard)}
		p.all = append(p.all, r)
		*place = int32(len(p.all))
	}
	known := &p.all[*place-1]
	known.irrelevant.join(&key.heard)
	return known
}

// place is where to look for what is relevant of a key.
func (p *cachePart) place(key *localKey, matters *relevant) *int32 {
	if len(p.places) == 0 {
		p.places = make([]int32, 1<<8)
	}
	most, width := matters.most(key), matters.width
	sum := uint64(key.node)<<8 | uint64(most)
	for i, word := range key.heard[:width] {
		if word &= matters.heard[i]; word != 0 { // or it would depend on the width
			sum = mixHash(sum, word) + uint64(i)
		}
	}
	for {
		place := &p.places[sum&uint64(len(p.places)-1)] // their number is a power of two
		if *place == 0 || p.all[*place-1].key.is(key.node, most, &key.heard, matters) {
			return place
		}
		sum++
	}
}

// is says whether a key has this node and term, and what is relevant of what is heard.
func (k *localKey) is(node nodeID, most memberstate.Term, heard *messageSet, matters *relevant) bool {
	if k.node != node || k.most != most {
		return false
	}
	for i := range matters.width { // what is in the key is relevant
		if k.heard[i] != heard[i]&matters.heard[i] {
			return false
		}
	}
	return true
}

// makeRoom doubles the part, or empties it if it is as large as it may be.
func (p *cachePart) makeRoom() {
	size := min(max(1<<7, 2*len(p.all)), mostCached)
	if len(p.all) == mostCached {
		p.all = nil
	}
	p.all = append(make([]cacheEntry, 0, size), p.all...)
	p.places = make([]int32, 2*size)
	for i := range p.all {
		key := &p.all[i].key
		*p.place(key, &relevant{heard: key.heard, width: key.heard.words(), terms: 1 << key.most}) = int32(i + 1)
	}
}
