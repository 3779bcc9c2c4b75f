// These tests show the judge, the bubble and the disk something that they must refuse.

package shell

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// court makes a judge of one group of three members without a history, and their processes.
func court(t *testing.T) (j *judge, processes []*process) {
	t.Helper()
	g := &groupPlan{name: "g0", voters: []int{0, 1, 2}, members: memberstate.Voters("n0", "n1", "n2"), timing: elector.DefaultTiming()}
	p := &plan{groups: []*groupPlan{g}, rates: []float64{1, 1, 1}}
	j = newJudge(0, p, nil)
	w := &world{base: newBase(nil, nil), plan: p, judge: j}
	for _, voter := range []string{"n0", "n1"} {
		j.groups["g0"].kept[ballot{voter, 9}] = "n0"
	}
	for i := range p.rates {
		n := &node{world: w, index: i, name: nodeName(i), rate: 1}
		pr := &process{node: n, number: 1, died: make(chan struct{}), members: map[string]*member{}}
		n.process.Store(pr)
		w.nodes = append(w.nodes, n)
		host, err := elector.NewHost(elector.HostConfig{Self: n.name, Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(0).Join(n.name), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		m := &member{process: pr, group: g, id: j.nextID(), name: n.name + " g0", timing: g.timing, ledger: new(ledger)}
		m.el, err = host.Join(elector.GroupConfig{
			Group: g.name, Members: g.members, Timing: g.timing,
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		j.joined(m, nil)
		j.enters(m)
		j.groups["g0"].seats[i].saved = &memberstate.Record{Group: "g0", Term: 9, Vote: n.name}
		processes = append(processes, pr)
	}
	return j, processes
}

func TestJudgeNoticesViolations(t *testing.T) {
	shows := func(p *process, role memberstate.Role, term memberstate.Term, revision uint64) {
		s := elector.Status{Group: "g0", Self: p.node.name, Role: role, Term: term, Revision: revision}
		if role == memberstate.Leader {
			s.Leader, s.Vote = p.node.name, p.node.name
		}
		p.world().judge.shown(p, s)
	}
	says := func(p *process, to string, body rpc.Body) {
		p.world().judge.said(p, to, []rpc.Message{{Group: "g0", From: p.node.name, To: to, Leader: to, Body: body}})
	}
	for name, test := range map[string]struct {
		invariant Invariant
		does      func(j *judge, p []*process)
	}{
		"two leaders of a term": {OneLeader, func(_ *judge, p []*process) {
			shows(p[0], memberstate.Leader, 9, 1)
			shows(p[1], memberstate.Leader, 9, 1)
		}},
		"a leader without votes": {WonByQuorum, func(_ *judge, p []*process) {
			shows(p[1], memberstate.Leader, 9, 1)
		}},
		"a term that falls": {TermsGrow, func(_ *judge, p []*process) {
			shows(p[0], memberstate.Candidate, 9, 1)
			shows(p[0], memberstate.Candidate, 8, 2)
		}},
		"a vote that is not durable": {SaidDurable, func(_ *judge, p []*process) {
			says(p[0], "n1", rpc.Body{Kind: rpc.VoteResponse, Result: rpc.Accept, Term: 9})
		}},
		"a term that is not durable": {SaidDurable, func(_ *judge, p []*process) {
			says(p[0], "n1", rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: 10})
		}},
		"two votes in a term": {VotesKept, func(j *judge, p []*process) {
			says(p[0], "n1", rpc.Body{Kind: rpc.VoteRequest, Term: 9})
			j.groups["g0"].seats[0].saved.Vote = "n1"
			says(p[0], "n1", rpc.Body{Kind: rpc.VoteResponse, Result: rpc.Accept, Term: 9})
		}},
		"an office shown while its end is saved": {LossShown, func(j *judge, p []*process) {
			shows(p[0], memberstate.Leader, 9, 1)
			j.saving(p[0], []memberstate.Record{{Group: "g0", Term: 10}})
		}},
		"a vote that vanishes from the disk": {VotesKept, func(j *judge, p []*process) {
			j.saved(p[0], []memberstate.Record{{Group: "g0", Term: 9}}, nil)
		}},
		"two Leads": {LeadOnce, func(j *judge, p []*process) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			j.leads(ended, p[0].members["g0"], 8)
			j.leads(ended, p[0].members["g0"], 9)
		}},
		"a Lead without an office": {LeadInOffice, func(j *judge, p []*process) {
			j.leads(t.Context(), p[0].members["g0"], 9)
		}},
		"a callback after the end": {StopWaits, func(j *judge, p []*process) {
			p[0].members["g0"].over = true
			j.called(p[0].members["g0"], "LedgerEnd")
		}},
		"a committed entry that changes": {CommittedStays, func(j *judge, p []*process) {
			j.commits(p[0].members["g0"], 8, []entry{{8, 1}})
			j.commits(p[1].members["g0"], 9, []entry{{9, 2}})
		}},
		"a leader without a committed entry": {CommittedStays, func(j *judge, p []*process) {
			j.commits(p[0].members["g0"], 8, []entry{{8, 1}})
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			j.leads(ended, p[1].members["g0"], 9)
		}},
		"an heir that no order has named": {NamedHeir, func(_ *judge, p []*process) {
			p[0].members["g0"].shown.Revision = 1
			says(p[0], "n1", rpc.Body{Kind: rpc.TakeLeadership, Mark: rpc.PreVote, Term: 9})
		}},
		"a candidate that should rest": {Rests, func(_ *judge, p []*process) {
			p[0].members["g0"].shown.Revision = 1
			p[0].members["g0"].rest = time.Now().Add(time.Hour)
			says(p[0], "n1", rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 10})
		}},
		"a vote against a promise": {PromiseKept, func(j *judge, p []*process) {
			beat := rpc.Body{Kind: rpc.Heartbeat, Term: 8, Round: 1, Lease: time.Hour}
			j.heard(p[0], []rpc.Message{{Group: "g0", From: "n1", To: "n0", Body: beat}})
			j.groups["g0"].seats[0].saved.Promise = time.Hour
			says(p[0], "n1", rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: 8, Asked: 8, Round: 1, Promised: true})
			says(p[0], "n2", rpc.Body{Kind: rpc.VoteRequest, Term: 9})
		}},
		"a store that forgets that its node is kept drained": {RecordsKept, func(j *judge, p []*process) {
			p[0].service.begins(false)
			j.keepsDrained(p[0], true)(nil)
			j.asked(p[0], new(memberstate.Record))
		}},
		"a promise that is not durable": {SaidDurable, func(j *judge, p []*process) {
			beat := rpc.Body{Kind: rpc.Heartbeat, Term: 8, Round: 1, Lease: time.Hour}
			j.heard(p[0], []rpc.Message{{Group: "g0", From: "n1", To: "n0", Body: beat}})
			says(p[0], "n1", rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: 8, Asked: 8, Round: 1, Promised: true})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j, p := court(t)
			test.does(j, p)
			require.NotNil(t, j.violation)
			assert.Equal(t, test.invariant, j.violation.Invariant, "%v", j.violation)
			assert.NotEmpty(t, j.violation.Story)
		})
	}
}

// In each row n0 asks n1, which has said that it drains. Nothing but the row's change excuses that.
func TestWhenALeaderMayAskANodeThatDrains(t *testing.T) {
	for what, c := range map[string]struct {
		change func(n0, n1, n2 *process)
		may    bool
	}{
		"another one serves":              {func(*process, *process, *process) {}, false},
		"it serves again":                 {func(_, n1, _ *process) { n1.service.state = rpc.Serving }, true},
		"it is about to serve again":      {func(_, n1, _ *process) { n1.service.waiting = map[*call]struct{}{{what: "Undrain"}: {}} }, true},
		"it has an order of another kind": {func(_, n1, _ *process) { n1.service.waiting = map[*call]struct{}{{what: "Drain"}: {}} }, false},
		"it has said that it serves":      {func(n0, _, _ *process) { n0.beating.told["n1"] = toldStanding{sure: true, serves: true} }, true},
		"the other one drains, too":       {func(n0, _, _ *process) { n0.beating.told["n2"] = toldStanding{sure: true} }, true},
		"the other one has not answered":  {func(n0, _, _ *process) { delete(n0.members["g0"].answers, "n2") }, true},
		"an order names it":               {func(n0, _, _ *process) { n0.members["g0"].orders["n1"] = 1 }, true},
	} {
		j, p := court(t)
		m, now := p[0].members["g0"], time.Now()
		m.shown.Revision, m.beatAt, m.ownBeatAt = 1, now, now
		m.answers = map[string]roundAnswer{"n2": {term: 9}}
		p[0].beating.told = map[string]toldStanding{"n1": {sure: true}, "n2": {sure: true, serves: true}}
		p[1].service.state = rpc.Draining
		c.change(p[0], p[1], p[2])
		j.offers(m, &rpc.Message{From: "n0", To: "n1", Leader: "n1", Body: rpc.Body{Kind: rpc.TakeLeadership, Mark: rpc.PreVote, Term: 9}})
		assert.Equal(t, c.may, j.violation == nil, "%s: %v", what, j.violation)
	}
}

// A disk that has failed, or a process that has died, may have saved an order or not.
func TestTheNextProcessMayFindAnOrderThatFailed(t *testing.T) {
	for _, vote := range []string{"", "drained"} {
		j, p := court(t)
		p[0].service.begins(false)
		p[0].failing = true
		j.keepsDrained(p[0], true)(assert.AnError)
		j.asked(p[0], &memberstate.Record{Vote: vote})
		assert.Nil(t, j.violation, vote)
		assert.Equal(t, vote != "", p[0].node.kept, "from then on it is known")
	}
}

func TestBubbleReportsGoroutinesLeft(t *testing.T) {
	require.NoError(t, bubble(0, time.Minute, func(*atomic.Uint64) { <-time.After(time.Hour) }))
	err := bubble(0, time.Minute, func(*atomic.Uint64) { go func() { select {} }() })
	require.ErrorContains(t, err, "blocked goroutines remain")
	var held sync.Mutex
	held.Lock()
	err = bubble(0, time.Millisecond, func(*atomic.Uint64) { held.Lock() })
	require.ErrorIs(t, err, errStuck)
	held.Unlock()
}

func TestDeadProcessCannotWriteItsDisk(t *testing.T) {
	d := newDisk(random(0, "disk"))
	p := &process{died: make(chan struct{})}
	m := &mount{disk: d, files: d.files, died: p.died, busy: &p.busy, failed: &p.diskFailed}
	s, err := memberstate.CreateFileOn(m, storePath, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{{Group: "g0", Term: 1}}))
	close(p.died)
	require.ErrorIs(t, s.Save([]memberstate.Record{{Group: "g0", Term: 2}}), errDied)
	d.died(true)
	next := &mount{disk: d, files: d.files, died: make(chan struct{}), busy: &p.busy, failed: &p.diskFailed}
	s, err = memberstate.OpenFileOn(next, storePath, "n0")
	require.NoError(t, err)
	assert.Equal(t, []memberstate.Record{{Group: "g0", Term: 1}}, s.Records())
}

func TestAMemberThatTakesNoAppendIsBehind(t *testing.T) {
	m := &member{name: "n1 g0", ledger: new(ledger)}
	assert.Equal(t, "the ledger of n1 g0 ends at 0:0, and no append has arrived", m.behind(9))
	err := error(elector.ErrStaleTerm)
	m.refused.Store(&err)
	assert.Contains(t, m.behind(9), "the last append was answered so: "+elector.ErrStaleTerm.Error())
	m.ledger.write(entry{term: 9})
	assert.Empty(t, m.behind(9))
	assert.NotEmpty(t, m.behind(10))
}
