// A shard: one replicated ledger and the state that it makes, at one node. This file has what its elector asks of it.

package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

// shard is one shard at one node. Its writes to the ledger go through promise, which is locked before mu.
type shard struct {
	number  uint32
	group   string
	elector *elector.Elector
	disk    *disk
	network Network
	members memberstate.Members
	self    string
	fail    func(error)
	room    chan struct{} // for commands that wait
	timing  elector.Timing

	keep, sessions uint64 // see Config
	part           int

	transfers chan struct{} // those of the node that are under way

	promise elector.Promise

	mu         sync.Mutex
	closed     bool // nothing may be read or written any more
	fed        bool // a leader has sent entries, or a part of its state, since the last beat
	complete   bool // see isComplete
	ledger     ledger
	committed  uint64
	applied    uint64
	generation uint32 // of the state
	office     *office
	begun      chan struct{} // closed when an office begins
	incoming   *incoming     // a state from the leader, ...
	installing bool          // ... that is complete, and takes the place of the one that is there
}

// mostWaiting bounds the commands of a shard that wait for a quorum at one time. Others wait for room.
const mostWaiting = 1024

// LedgerEnd says where the ledger ends, and promises to accept nothing of a lower term. Entries that are not on disk yet
// count: nobody has been told of them, and to say that the ledger is longer than it will be after a crash can only
// refuse a candidate.
func (s *shard) ledgerEnd(term memberstate.Term) memberstate.Position {
	return s.promise.End(term, func() memberstate.Position {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ledger.end
	})
}

// lead serves while this node leads the shard.
func (s *shard) lead(ctx context.Context, term memberstate.Term) error {
	o, err := s.begin(ctx, term)
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.end(o)
	return nil
}

// begin begins an office. Its first entry, which has no command, commits those of earlier terms: a quorum that has an
// entry of an earlier term does not show that the entry stays, because another candidate may still win without it.
func (s *shard) begin(ctx context.Context, term memberstate.Term) (o *office, err error) {
	err = s.promise.Accept(term, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		o = &office{term: term, ctx: ctx, waiting: map[uint64]chan *ledgerpb.Reply{}}
		for _, m := range s.members.List() {
			if m.ID != s.self {
				o.peers = append(o.peers, &peer{id: m.ID, votes: !m.Observer, attempt: 1, wait: leastWait, next: s.ledger.end.Index + 1})
			}
		}
		s.dropIncoming()
		s.office, s.complete = o, true
		close(s.begun)
		o.began = s.add(o, nil)
		return nil
	})
	return o, err
}

// end ends it. Commands that nobody has been told about may yet be carried out, by another leader.
func (s *shard) end(o *office) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.office, s.begun = nil, make(chan struct{})
	for _, waits := range o.waiting {
		waits <- unknown("the leader of term %d has lost its office", o.term)
		<-s.room
	}
	for _, r := range o.reads {
		close(r.done)
	}
	for _, p := range o.peers {
		p.endTransfer()
	}
}

// awaitOffice waits for Lead if this node has just been elected. Clients may know that before Lead is called, with leases a round trip before.
func (s *shard) awaitOffice(ctx context.Context) {
	s.mu.Lock()
	begins, begun := s.begun, s.office != nil
	s.mu.Unlock()
	if begun || s.elector.Status().Role != memberstate.Leader {
		return
	}
	wait, cancel := context.WithTimeout(ctx, s.timing.Detection())
	defer cancel()
	select {
	case <-begins:
	case <-wait.Done():
	}
}

// isCutOff says whether this node leads and has asked a quorum of the voters for longer than a detection time without any answer. Its elector has one,
// or it would not lead: the engines have connections of their own, and those may be broken alone.
func (s *shard) isCutOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.serving()
	if o == nil {
		return false
	}
	silences := []int{0}
	for _, p := range o.peers {
		if p.votes {
			silences = append(silences, p.silent)
		}
	}
	slices.Sort(silences)
	return silences[len(silences)/2] > s.timing.Leak
}

// pause stops writes for a handover. They wait until it is over, and are refused then.
func (s *shard) pause(ctx context.Context, term memberstate.Term) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.office
	if o == nil || o.term != term {
		return elector.ErrStaleTerm
	}
	o.paused = ctx.Done()
	return nil
}

// serving is the office, if there is one that has not ended.
func (s *shard) serving() *office {
	if s.office == nil || s.office.ctx.Err() != nil {
		return nil
	}
	return s.office
}

// notLeader is the reply to what was not done, because this node does not lead.
func notLeader() *ledgerpb.Reply {
	return &ledgerpb.Reply{Says: &ledgerpb.Reply_NotLeader{NotLeader: &ledgerpb.NotLeader{}}}
}

// close ends all use of the disk. The elector has ended before.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// advance commits and applies what can be, and answers reads that have waited for it.
func (s *shard) advance() {
	if o := s.office; o != nil {
		s.commit(o)
	}
	if err := s.apply(); err != nil {
		s.fail(err)
		return
	}
	if o := s.office; o != nil {
		s.answerReads(o)
	}
	s.ledger.trim(s.applied, s.inMemory())
	s.compact()
}

// writeNow changes the state on disk without waiting for a sync. A crash may take it back, and then leaves the state as
// it was before: what is written later is not kept without it.
func (s *shard) writeNow(b *pebble.Batch) error { return b.Commit(pebble.NoSync) }
