// The antichain: the known states, none of which covers another.
//
// The intuition: two states have the same nodes, and in one of them n1 has also sent a vote. That vote
// may arrive late or never, so whatever can follow the other state can follow this one, too. This one covers
// the other, which is not looked at.
//
// The cases:
//
//   - A new state is covered by a known one: it is left out. If it covers known ones, they are not
//     looked at, unless they have been. So states with many messages are looked at first (frontier.go).
//   - A member has led a term in one state and not in the other. That a member follows a leader that never led is a
//     violation, so here fewer messages can be worse: only states with the same leaders cover each other.
//   - The search looks for a shortest path to a violation. Then a state covers no other that is
//     nearer to the beginning.
//
// The shortcut that looks right and is wrong is to compare the nodes by what they can become, too. It would leave out
// more; but two nodes that can become each other would each cover the other, and both would go.
//
// States are in blocks that hold no pointers and never move. Each block has only as many words for messages as
// its states need.

package explore

import (
	"fmt"
	"io"
)

// store has all states that were found, in that order. It also finds those that have the same nodes and of
// which none covers another: they are chained.
type store struct {
	blocks    []block
	victories messageSet // the messages that note leaders: a state covers only states with the same of these
	count     int
	heads     []int32 // a hash table: the first of each chain, plus 1; 0: there is none
	chains    int
	// byDepth lets no state cover one that is nearer to the beginning. So the paths that are found are
	// shortest, and there are more states.
	byDepth bool
}

// record is a state without its messages, and how it was found.
type record struct {
	origin
	nodes    [mostMembers]nodeID
	next     int32 // in its chain, plus 1; 0: it is the last one
	depth    uint16
	covered  bool // by one that was found later
	expanded bool // its successors have been found
}

type block struct {
	records []record
	sent    []uint64
	width   int // words for the messages of each one
}

const blockSize = 1 << 12

// state returns the state with this number, in the order in which they were found.
func (t *store) state(at int32) (s state) {
	b, i := t.block(at)
	s.nodes = b.records[i].nodes
	copy(s.sent[:], b.words(i))
	return s
}

func (t *store) record(at int32) *record {
	b, i := t.block(at)
	return &b.records[i]
}

func (t *store) block(at int32) (b *block, i int) {
	return &t.blocks[at/blockSize], int(at % blockSize)
}

func (b *block) words(i int) []uint64 { return b.sent[i*b.width : (i+1)*b.width] }

// add keeps a state, unless a known one covers it. Known states that it covers are taken out of their chain.
func (t *store) add(s *state, from origin, depth uint16) (at int32, isNew bool) {
	head := t.head(&s.nodes)
	for other := *head; other > 0; other = t.record(other - 1).next {
		if b, i := t.block(other - 1); t.covers(b.words(i), s.sent[:]) {
			return 0, false
		}
	}
	at = int32(t.count)
	t.append(s, record{nodes: s.nodes, origin: from, depth: depth})
	t.link(head, at, func(other int32) bool {
		b, i := t.block(other)
		b.records[i].covered = (!t.byDepth || b.records[i].depth >= depth) && t.covers(s.sent[:], b.words(i))
		return b.records[i].covered
	})
	return at, true
}

// link puts a state before all others of its chain, and takes some out.
func (t *store) link(head *int32, at int32, out func(int32) bool) {
	if *head == 0 {
		t.chains++
	}
	link := &t.record(at).next
	for other := *head; other > 0; {
		r := t.record(other - 1)
		if !out(other - 1) {
			*link, link = other, &r.next
		}
		other = r.next
	}
	*link, *head = 0, at+1
}

// covers says whether a state with all these messages covers one with some, that is, whether it has every
// message of the other, and the same members have led. The sets may have different lengths.
func (t *store) covers(all, some []uint64) bool {
	for i := range max(len(all), len(some)) {
		var a, b uint64
		if i < len(all) {
			a = all[i]
		}
		if i < len(some) {
			b = some[i]
		}
		if b&^a != 0 || (a^b)&t.victories[i] != 0 {
			return false
		}
	}
	return true
}

func (t *store) append(s *state, r record) {
	if t.count%blockSize == 0 {
		t.blocks = append(t.blocks, block{records: make([]record, 0, blockSize)})
	}
	t.count++
	b := &t.blocks[len(t.blocks)-1]
	b.records = append(b.records, r)
	if need := s.sent.words(); need > b.width {
		b.widen(need)
	}
	copy(b.words(len(b.records)-1), s.sent[:])
}

// widen makes room for more messages.
func (b *block) widen(width int) {
	wider := block{records: b.records, sent: make([]uint64, blockSize*width), width: width}
	for i := range b.records {
		copy(wider.words(i), b.words(i))
	}
	*b = wider
}

// head is the beginning of the chain of the states with these nodes.
func (t *store) head(nodes *[mostMembers]nodeID) *int32 {
	if t.chains >= len(t.heads)/4*3 {
		t.grow()
	}
	sum := uint64(0)
	for _, id := range nodes {
		sum = mixHash(sum, uint64(id))
	}
	for i := sum; ; i++ {
		if head := &t.heads[i%uint64(len(t.heads))]; *head == 0 || t.record(*head-1).nodes == *nodes {
			return head
		}
	}
}

func (t *store) grow() {
	old := t.heads
	t.heads = make([]int32, max(1<<10, 2*len(old)))
	for _, first := range old {
		if first > 0 {
			*t.head(&t.record(first - 1).nodes) = first
		}
	}
}

// write writes all states as they are in memory.
func (t *store) write(out io.Writer) error {
	for i := range t.blocks {
		b := &t.blocks[i]
		for _, part := range [][]byte{raw([]uint64{uint64(b.width)}), raw(b.records), raw(b.sent[:len(b.records)*b.width])} {
			if _, err := out.Write(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads count states.
func (t *store) read(in io.Reader, count int) error {
	for t.count < count {
		n, width := min(count-t.count, blockSize), make([]uint64, 1)
		if _, err := io.ReadFull(in, raw(width)); err != nil {
			return err
		}
		if width[0] > uint64(len(messageSet{})) {
			return fmt.Errorf("it has states of %d words", width[0])
		}
		b := block{records: make([]record, n, blockSize), width: int(width[0]), sent: make([]uint64, blockSize*int(width[0]))}
		for _, part := range [][]byte{raw(b.records), raw(b.sent[:n*b.width])} {
			if _, err := io.ReadFull(in, part); err != nil {
				return err
			}
		}
		t.blocks = append(t.blocks, b)
		first := t.count
		t.count += n
		for i := range b.records {
			if r := &b.records[i]; !r.covered {
				t.link(t.head(&r.nodes), int32(first+i), func(int32) bool { return false })
			}
		}
	}
	return nil
}
