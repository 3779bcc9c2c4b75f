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
	// leastWait is for how many beats an answer is waited for at first. What was sent just before a beat is not lost yet at the next one.
	leastWait = 2
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
	peers     []*peer
	waiting   map[uint64]chan *ledgerpb.Reply // by the index of the command's entry
	paused    <-chan struct{}                 // closed when writes go on; nil: they were never paused
	round     uint64                          // of reads that ask a quorum
	transfers uint64                          // that were begun
	reads     []*read
}

// peer is what the leader knows of another member.
type peer struct {
	id        string
	votes     bool
	matched   uint64 // up to here its ledger is the leader's, and on disk; 0: that is not known
	next      uint64 // the entry to be sent next
	attempt   uint64 // answers to earlier ones say nothing of what is to be sent now
	unheard   int    // appends of this attempt that were not answered
	told      uint64 // that so much is committed, as it has answered last; a restart may have taken some back
	round     uint64 // the newest that it has answered
	heard     bool   // it has answered since the last beat
	silent    int    // beats since it has answered last, while it was asked something
	age       int    // beats since it was sent something again, has got further, or has said where it is
	wait      int    // what it has not answered is sent again when its age is so many beats
	probing   bool   // no append of this attempt was accepted yet, so one at a time is sent
	transfer  *transfer
	catchesUp bool // it has got the state, and not yet all that was written meanwhile
}

// needed is the entry up to which nobody needs any who is being sent the state, or has got it and is catching up.
func (o *office) needed() uint64 {
	least := uint64(math.MaxInt64)
	for _, p := range o.peers {
		switch {
		case p.transfer != nil:
			least = min(least, p.transfer.upto.Index)
		case p.catchesUp:
			least = min(least, p.matched)
		}
	}
	return least
}

// restart sends again, from an entry on. What is on its way does not count any more: otherwise each late refusal would have more sent again.
func (p *peer) restart(next uint64) {
	p.attempt++
	p.age, p.unheard, p.probing, p.next = 0, 0, true, next
}

// isOpen says whether one more append may be sent.
func (p *peer) isOpen() bool {
	return p.transfer == nil && (p.unheard == 0 || !p.probing && p.unheard < window)
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
	s.awaitOffice(ctx)
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
	for _, p := range o.peers {
		s.sendEntries(o, p)
	}
	return e.Index
}

// sendEntries sends a follower what it lacks, as far as the window allows.
func (s *shard) sendEntries(o *office, p *peer) {
	for p.next <= s.ledger.end.Index && p.isOpen() {
		if p.next <= s.ledger.base.Index {
			s.beginTransfer(o, p)
			return
		}
		if !s.sendAppend(o, p) {
			return
		}
	}
}

// sendAppend sends the entries from p.next on, or none if it has all.
func (s *shard) sendAppend(o *office, p *peer) bool {
	before := memberstate.Position{Term: s.ledger.term(p.next - 1), Index: p.next - 1}
	a := &ledgerpb.Append{Before: position(before), Committed: s.committed, Round: o.round, End: s.ledger.end.Index, Attempt: p.attempt}
	for i, size := p.next, 0; i <= s.ledger.end.Index && len(a.Entries) < mostEntries && size < s.part; i++ {
		e, err := s.entry(i)
		if err != nil {
			s.fail(err)
			return false
		}
		a.Entries = append(a.Entries, e)
		size += proto.Size(e)
	}
	p.next += uint64(len(a.Entries))
	p.unheard++
	s.sendTo(o, p, a)
	return true
}

// sendRound asks a follower whether it still follows. It says nothing of entries: all ledgers have the place before the first one.
func (s *shard) sendRound(o *office, p *peer) {
	s.sendTo(o, p, &ledgerpb.Append{Before: &ledgerpb.Position{}, Round: o.round, End: s.ledger.end.Index})
}

func (s *shard) sendTo(o *office, p *peer, a *ledgerpb.Append) {
	s.network.Send(p.id, &ledgerpb.Message{From: s.self, Shard: s.number, Term: uint64(o.term), Says: &ledgerpb.Message_Append{Append: a}})
}

// heed takes a follower's answer.
func (s *shard) heed(term memberstate.Term, from string, m *ledgerpb.Matched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, p := s.answered(term, from)
	if p == nil || !m.Refused && m.Index > s.ledger.end.Index {
		return
	}
	p.heard, p.round, p.told = true, max(p.round, m.Round), m.Committed
	current := m.Attempt == p.attempt
	refused := m.Refused && (current || m.Attempt == 0)
	if current || refused || m.Index > p.matched {
		p.age = 0
	}
	switch {
	case refused:
		p.restart(max(p.matched, min(m.Index, s.ledger.end.Index)) + 1)
	case m.Refused: // late
	case m.Index > 0:
		if current {
			p.unheard, p.probing = max(0, p.unheard-1), false
		}
		p.matched = max(p.matched, m.Index)
		p.next = max(p.next, p.matched+1)
		p.catchesUp = p.catchesUp && p.matched < s.committed
	}
	s.advance()
	if s.office == o {
		s.sendNext(o, p, refused)
	}
}

// sendNext sends a follower what it lacks. One that has refused may lack nothing, and does not know it.
func (s *shard) sendNext(o *office, p *peer, refused bool) {
	if refused && p.next > s.ledger.end.Index && p.isOpen() {
		s.sendAppend(o, p)
		return
	}
	s.sendEntries(o, p)
}

// answered is the follower that an answer is from; nil if the answer is to another term.
func (s *shard) answered(term memberstate.Term, from string) (*office, *peer) {
	o := s.office
	if o == nil || o.term != term {
		return nil, nil
	}
	i := slices.IndexFunc(o.peers, func(p *peer) bool { return p.id == from })
	if i < 0 {
		return nil, nil
	}
	return o, o.peers[i]
}

// commit commits what a quorum of the voters has on disk. Only an entry of the leader's own term shows that those below
// it stay.
func (s *shard) commit(o *office) {
	have := []uint64{s.ledger.durable}
	for _, p := range o.peers {
		if p.votes {
			have = append(have, p.matched)
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
	for _, p := range o.peers {
		if p.silent++; p.heard {
			p.silent = 0
		}
		p.catchesUp = p.catchesUp && p.silent < patience
		if asked := s.repeat(o, p); !asked {
			p.silent = 0
		}
		p.heard = false
	}
}

// repeat sends a follower what it may not have got, and says whether there is anything that it has to answer.
func (s *shard) repeat(o *office, p *peer) bool {
	lacks := p.matched < s.ledger.end.Index
	if p.age++; !lacks {
		p.age, p.wait = 0, leastWait
	}
	switch {
	case p.transfer != nil:
		s.repeatChunk(o, p)
	case lacks && p.age >= p.wait:
		p.wait = min(2*p.wait, max(s.timing.Leak, leastWait)) // a round trip may take several beats
		s.sendAgain(o, p)
	case !lacks && p.told < s.committed:
		p.restart(s.ledger.end.Index + 1)
		s.sendAppend(o, p)
	}
	if p.round < o.round {
		s.sendRound(o, p)
	}
	return lacks || p.told < s.committed || p.round < o.round
}

// sendAgain sends what a follower lacks. If nobody knows where it is, it says so when it has not got the newest entry.
func (s *shard) sendAgain(o *office, p *peer) {
	if p.matched > s.ledger.base.Index {
		p.restart(p.matched + 1)
		s.sendEntries(o, p)
		return
	}
	p.restart(s.ledger.end.Index + 1)
	s.sendAppend(o, p)
}

// unknown is the reply to a command of which nobody knows whether it will be carried out.
func unknown(why string, args ...any) *ledgerpb.Reply {
	return &ledgerpb.Reply{Says: &ledgerpb.Reply_Unknown{Unknown: fmt.Sprintf(why, args...)}}
}
