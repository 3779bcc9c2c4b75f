// What a leader does: it writes commands to its ledger, sends them to the others without waiting for each answer, and
// commits what a quorum of the voters has on disk.

package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

const (
	// window is how many appends may be on their way to a follower. Then entries gather, and go together.
	window = 16
	// mostEntries bounds an append.
	mostEntries = 256
	// MaxCommand bounds a command, in bytes.
	MaxCommand = 1 << 20
)

// office is a term that this node leads. It belongs to the lock of the shard.
type office struct {
	term      memberstate.Term
	ctx       context.Context // ends with the term
	began     uint64          // its first entry
	followers []*follower
	waiting   map[uint64]chan *ledgerpb.Reply // by the index of the command's entry
	paused    <-chan struct{}                 // closed when writes go on; nil: they were never paused
	round     uint64                          // of reads that ask a quorum
	transfers uint64                          // that were begun
	reads     []*read
}

// follower is what the leader knows of another member.
type follower struct {
	id       string
	votes    bool
	matched  uint64 // up to here its ledger is the leader's, and on disk
	next     uint64 // the entry to be sent next
	unheard  int    // appends that were not answered
	told     uint64 // that so much is committed, as it has answered last; a restart may have taken some back
	round    uint64 // the newest that it has answered
	heard    bool   // it has answered since the last beat, ...
	moved    bool   // ... and got further, or said where it is
	probing  bool   // what was sent may have been lost, so one append at a time is sent
	transfer *transfer
}

// needed is the newest entry below which no follower that is being sent the state will need one.
func (o *office) needed() uint64 {
	least := uint64(math.MaxUint64)
	for _, f := range o.followers {
		if f.transfer != nil {
			least = min(least, f.transfer.upto.Index)
		}
	}
	return least
}

// isOpen says whether one more append may be sent.
func (f *follower) isOpen() bool {
	return f.transfer == nil && (f.unheard == 0 || !f.probing && f.unheard < window)
}

// isPaused says whether writes are paused for a handover.
func (o *office) isPaused() bool {
	if o.paused == nil {
		return false
	}
	select {
	case <-o.paused:
		o.paused = nil
		return false
	default:
		return true
	}
}

// carryOut has a command written, and returns when it is committed and applied, or when its fate cannot be learned here. A
// command takes room until it has a reply, also if nobody waits for that any more.
func (s *shard) carryOut(ctx context.Context, c *ledgerpb.Command) *ledgerpb.Reply {
	if size := proto.Size(c); size > MaxCommand {
		return refused("the command has %d bytes, and may have %d", size, MaxCommand)
	}
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return unknown("%v", context.Cause(ctx))
	}
	for {
		replied, paused := s.propose(c)
		switch {
		case replied != nil:
			select {
			case r := <-replied:
				return r
			case <-ctx.Done():
				return unknown("%v", context.Cause(ctx))
			}
		case paused == nil:
			<-s.room
			return notLeader()
		}
		select {
		case <-paused:
		case <-ctx.Done():
			<-s.room
			return unknown("%v", context.Cause(ctx))
		}
	}
}

// propose adds a command to the ledger, and returns where the reply will come; or until when writes are paused; or
// neither, if this node does not lead.
func (s *shard) propose(c *ledgerpb.Command) (replied chan *ledgerpb.Reply, paused <-chan struct{}) {
	s.mu.Lock()
	o := s.serving()
	s.mu.Unlock()
	if o == nil {
		return nil, nil
	}
	_ = s.promise.Accept(o.term, func() error { // refused: somebody else leads
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.serving() != o:
		case o.isPaused():
			paused = o.paused
		default:
			replied = make(chan *ledgerpb.Reply, 1)
			o.waiting[s.add(o, c)] = replied
		}
		return nil
	})
	return replied, paused
}

// add adds an entry to the leader's ledger, sends it, and has it saved meanwhile.
func (s *shard) add(o *office, c *ledgerpb.Command) (index uint64) {
	e := &ledgerpb.Entry{Term: uint64(o.term), Index: s.ledger.end.Index + 1, Command: c}
	s.ledger.append(e)
	s.save([]*ledgerpb.Entry{e}, nil)
	for _, f := range o.followers {
		s.sendEntries(o, f)
	}
	return e.Index
}

// sendEntries sends a follower what it lacks, as far as the window allows.
func (s *shard) sendEntries(o *office, f *follower) {
	for f.next <= s.ledger.end.Index && f.isOpen() {
		if f.next <= s.ledger.base.Index {
			s.beginTransfer(o, f)
			return
		}
		if err := s.sendAppend(o, f); err != nil {
			s.fail(err)
			return
		}
	}
}

// sendAppend sends the entries from f.next on, or none if it has all.
func (s *shard) sendAppend(o *office, f *follower) error {
	before := memberstate.Position{Term: s.ledger.term(f.next - 1), Index: f.next - 1}
	a := &ledgerpb.Append{Before: position(before), Committed: s.committed, Round: o.round, End: s.ledger.end.Index}
	for i, size := f.next, 0; i <= s.ledger.end.Index && len(a.Entries) < mostEntries && size < s.part; i++ {
		e, err := s.entry(i)
		if err != nil {
			return err
		}
		a.Entries = append(a.Entries, e)
		size += proto.Size(e)
	}
	f.next += uint64(len(a.Entries))
	f.unheard++
	s.sendTo(o, f, a)
	return nil
}

// sendRound asks a follower whether it still follows. It says nothing of entries: all ledgers have the place before the first one.
func (s *shard) sendRound(o *office, f *follower) {
	s.sendTo(o, f, &ledgerpb.Append{Before: &ledgerpb.Position{}, Round: o.round, End: s.ledger.end.Index})
}

func (s *shard) sendTo(o *office, f *follower, a *ledgerpb.Append) {
	s.network.Send(f.id, &ledgerpb.Message{From: s.self, Shard: s.number, Term: uint64(o.term), Says: &ledgerpb.Message_Append{Append: a}})
}

// heed takes a follower's answer.
func (s *shard) heed(term memberstate.Term, from string, m *ledgerpb.Matched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, f := s.answered(term, from)
	if f == nil || !m.Refused && m.Index > s.ledger.end.Index {
		return
	}
	f.heard, f.round, f.told = true, max(f.round, m.Round), m.Committed
	f.moved = f.moved || m.Refused || m.Index > f.matched
	switch {
	case m.Refused:
		f.unheard, f.probing, f.next = 0, true, max(f.matched, min(m.Index, f.next-1))+1
	case m.Index > 0:
		f.unheard, f.probing = max(0, f.unheard-1), false
		f.matched = max(f.matched, m.Index)
		f.next = max(f.next, f.matched+1)
	}
	s.advance()
	if s.office == o {
		s.sendNext(o, f, m.Refused)
	}
}

// sendNext sends a follower what it lacks. One that has refused may lack nothing, and does not know it.
func (s *shard) sendNext(o *office, f *follower, refused bool) {
	if refused && f.next > s.ledger.end.Index && f.isOpen() {
		if err := s.sendAppend(o, f); err != nil {
			s.fail(err)
		}
		return
	}
	s.sendEntries(o, f)
}

// answered is the follower that an answer is from; nil if the answer is to another term.
func (s *shard) answered(term memberstate.Term, from string) (*office, *follower) {
	o := s.office
	if o == nil || o.term != term {
		return nil, nil
	}
	i := slices.IndexFunc(o.followers, func(f *follower) bool { return f.id == from })
	if i < 0 {
		return nil, nil
	}
	return o, o.followers[i]
}

// commit commits what a quorum of the voters has on disk. Only an entry of the leader's own term shows that those below
// it stay.
func (s *shard) commit(o *office) {
	have := []uint64{s.ledger.durable}
	for _, f := range o.followers {
		if f.votes {
			have = append(have, f.matched)
		}
	}
	if n := reached(have); n >= o.began {
		s.committed = max(s.committed, n)
	}
}

// reached is what a majority of these have reached.
func reached(have []uint64) uint64 {
	slices.Sort(have)
	return have[(len(have)-1)/2]
}

// beat sends again what may have been lost, and tells followers what has been committed since.
func (s *shard) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.serving()
	if o == nil {
		return
	}
	for _, f := range o.followers {
		s.repeat(o, f)
		f.heard, f.moved = false, false
	}
}

// repeat sends a follower what it may not have got.
func (s *shard) repeat(o *office, f *follower) {
	lacks := f.matched < s.ledger.end.Index
	switch {
	case f.transfer != nil:
		s.repeatChunk(o, f)
	case lacks && f.moved:
	case lacks && f.matched < s.ledger.base.Index: // when it answers, it is sent the state
		f.unheard, f.probing, f.next = 0, true, f.matched+1
		s.sendRound(o, f)
	case lacks:
		f.unheard, f.probing, f.next = 0, true, f.matched+1
		s.sendEntries(o, f)
	case f.told < s.committed:
		if err := s.sendAppend(o, f); err != nil {
			s.fail(err)
		}
	}
	if f.round < o.round {
		s.sendRound(o, f)
	}
}

// unknown is the reply to a command of which nobody knows whether it will be carried out.
func unknown(why string, args ...any) *ledgerpb.Reply {
	return &ledgerpb.Reply{Says: &ledgerpb.Reply_Unknown{Unknown: fmt.Sprintf(why, args...)}}
}
