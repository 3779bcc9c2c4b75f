// What a session has to remember besides its machine, and when it may forget that.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// leads is Effects of which a test needs no more than these.
type leads struct {
	Effects
	terms []memberstate.Term
	held  []time.Duration

	pauses, resumes int
}

func (l *leads) Lead(term memberstate.Term) { l.terms = append(l.terms, term) }
func (l *leads) Hold(until time.Duration)   { l.held = append(l.held, until) }
func (l *leads) Resume()                    { l.resumes++ }

func (l *leads) Pause(memberstate.Term, uint32) { l.pauses++ }
func (l *leads) Settle()                        {}

// A follower forgets its duties when nothing of them is left, and not before.
func TestDutiesAreForgottenWhenNothingIsLeft(t *testing.T) {
	for what, c := range map[string]struct {
		change  func(s *Session)
		forgets bool
	}{
		"it follows":               {func(*Session) {}, true},
		"it knows no leader":       {func(s *Session) { s.Leader = memberstate.Nobody }, false},
		"it leads":                 {func(s *Session) { s.Role = memberstate.Leader }, false},
		"the machine knows a Lead": {func(s *Session) { s.serving = true }, false},
		"Lead runs":                {func(s *Session) { s.duties.lead.running = true }, false},
		"it is to resign":          {func(s *Session) { s.duties.lead.quits = true }, false},
		"Pause runs":               {func(s *Session) { s.duties.pause.running = 1 }, false},
		"an order stands":          {func(s *Session) { s.duties.orders.transfers = 1 }, false},
		"it has led before":        {func(s *Session) { s.duties.lead.term, s.duties.pause.number = 7, 7 }, true},
	} {
		s := Session{duties: new(Duties)}
		s.Role, s.Leader, s.Term = memberstate.Follower, 2, 3
		c.change(&s)
		s.tidy()
		assert.Equal(t, c.forgets, s.duties == nil, what)
	}
}

// A Pause may run on after its handover. Its number must not be given to another one before it
// has returned.
func TestAPauseThatRunsOnIsRemembered(t *testing.T) {
	s := Session{duties: &Duties{pause: pause{number: 3, running: 1, asked: true, ready: true}}}
	s.endPause(new(leads))
	assert.Equal(t, pause{number: 3, running: 1}, s.duties.pause)
}

// A leader of which something hangs has told its heir to stand. Its writes are paused meanwhile, and nothing
// depends on what becomes of that.
func TestALeaderThatHangsPausesItsWritesWithoutWaiting(t *testing.T) {
	for _, paused := range []bool{true, false} {
		s, fx := Session{Machine: elected(threeRules()), duties: new(Duties)}, new(leads)
		s.handover = Handover{Phase: Probing, Target: 2, Reason: ToAble}
		assert.Zero(t, s.attendHandover(fx))
		assert.Zero(t, fx.pauses, "writes go on while the heir is asked")
		s.handover.Phase = Taking
		for range 2 {
			assert.Zero(t, s.attendHandover(fx))
			assert.Equal(t, 1, fx.pauses)
		}
		s.PauseEnded(1, paused)
		assert.Zero(t, s.attendHandover(fx))
		s.handover = Handover{}
		assert.Zero(t, s.attendHandover(fx))
		assert.Equal(t, 1, fx.resumes, "if it leads on, so do its writes")
	}
}

// A member that is to resign may win another term first. Then it resigns from that.
func TestAResignationIsNotForgottenInTheNextTerm(t *testing.T) {
	s, fx := Session{duties: &Duties{lead: lead{term: 1, quits: true}}}, new(leads)
	s.Role, s.Leader, s.Term = memberstate.Leader, 1, 2
	assert.Equal(t, Resign, s.attendLead(threeRules(), time.Second, fx))
	assert.Equal(t, []memberstate.Term{2}, fx.terms)
	assert.True(t, s.duties.orders.own)
}

// A member that has lost its office has nothing to resign from, and the next one is not given up for the last one's sake.
func TestAResignationIsForgottenWithTheOffice(t *testing.T) {
	s := Session{Machine: elected(threeRules()), duties: &Duties{lead: lead{term: 1, quits: true}}}
	s.Role, s.Leader, s.serving = memberstate.Candidate, memberstate.Nobody, false
	assert.Zero(t, s.attendLead(threeRules(), time.Second, new(leads)))
	assert.False(t, s.duties.lead.quits)
}

// A member may be told to resign while its Lead runs. It resigns also if Lead returns first.
func TestAResignationOutlivesLead(t *testing.T) {
	for _, quits := range []bool{true, false} {
		s := Session{duties: &Duties{lead: lead{term: 1, running: true, quits: quits}}}
		s.Term = 1
		assert.False(t, s.LeadReturned(1, false))
		assert.Equal(t, lead{term: 1, quits: quits}, s.duties.lead)
	}
}

// A lease that has run out is not extended, whoever has noticed it: the session by its clock, or
// the driver by its own.
func TestALeaseThatHasRunOutIsNotExtended(t *testing.T) {
	const end = 100 * time.Second
	for what, c := range map[string]struct {
		now     time.Duration
		over    bool
		extends bool
	}{
		"it lasts":                       {end - 1, false, true},
		"it has run out":                 {end, false, false},
		"the driver says it has run out": {end - 1, true, false},
	} {
		r, fx := threeRules(), new(leads)
		r.Lease = r.Timing.Detection()
		s := Session{Machine: elected(r), duties: &Duties{lease: lease{until: end, over: c.over}}}
		s.office.leaseBeat = s.office.beat
		s.duties.sent.beats[s.office.beat%recentBeats], s.duties.sent.leases[s.office.beat%recentBeats] = end-r.Timing.Heartbeat, r.Lease
		s.attendLease(r, c.now, fx)
		assert.Equal(t, c.extends, len(fx.held) == 1, what)
		assert.Equal(t, c.extends, s.duties.lease.until > end, what)
	}
}

// The driver may say that the lease of an earlier term has run out when there is another.
func TestOnlyTheLeaseOfThisTermIsOver(t *testing.T) {
	for _, term := range []memberstate.Term{1, 2} {
		s := Session{duties: &Duties{lease: lease{until: time.Second}}}
		s.Term = 2
		s.LeaseOver(term)
		assert.Equal(t, term == 2, s.duties.lease.over)
	}
	s := Session{duties: new(Duties)}
	s.LeaseOver(0)
	assert.False(t, s.duties.lease.over, "a lease that was given back does not run out")
}

func TestHowLongALeaseLasts(t *testing.T) {
	const now = time.Minute
	for lasts, l := range map[time.Duration][]lease{
		0:           {{}, {until: now - 1}, {until: now}, {until: now + time.Second, over: true}},
		time.Second: {{until: now + time.Second}},
	} {
		for _, one := range l {
			s := Session{duties: &Duties{lease: one}}
			assert.Equal(t, lasts, s.LeaseLeft(now), "%+v", one)
		}
	}
}

// A leader of the term of the last promise, or of a later one, may have shortened the ledger. It
// need not be the leader of the term that is asked for now.
func TestALedgerMayBeShortenedByALeaderThatWasHeard(t *testing.T) {
	for heard, may := range map[memberstate.Term]bool{1: false, 2: true, 3: true} {
		l := ledgerLog{end: memberstate.Position{Term: 1, Index: 5}, asked: 2, known: 1}
		err := l.check(4, memberstate.Position{Term: 1, Index: 3}, heard)
		assert.Equal(t, may, err == nil, "a leader of term %d was heard", heard)
	}
}

// Each answer of the ledger is held against the promise that was given with the one before.
func TestALedgerIsHeldAgainstItsLastPromise(t *testing.T) {
	l, end := ledgerLog{known: 1}, memberstate.Position{Term: 1, Index: 5}
	assert.NoError(t, l.check(2, end, 0))
	assert.NoError(t, l.check(5, end, 0))
	end.Index--
	assert.Error(t, l.check(6, end, 4), "the leader of term 4 was not allowed to shorten it")
	assert.NoError(t, l.check(6, end, 5))
}

// A term that was only promised has no leader yet, so no entry can be of it.
func TestALedgerEndsInATermThatWasAnnounced(t *testing.T) {
	for term, may := range map[memberstate.Term]bool{2: true, 3: true, 4: false, 5: false} {
		l := ledgerLog{known: 2}
		err := l.check(5, memberstate.Position{Term: term, Index: 1}, 3)
		assert.Equal(t, may, err == nil, "a ledger that ends in term %d", term)
	}
}

// The order that asked for it was withdrawn, or the office lost, while the engine was asked. Its promise holds all the same.
func TestTheLedgerOfAWithdrawnStepIsChecked(t *testing.T) {
	for end, need := range map[memberstate.Position]Need{{Term: 2, Index: 5}: NeedNothing, {Term: 2, Index: 4}: NeedStop} {
		s := Session{ledger: ledgerLog{end: memberstate.Position{Term: 2, Index: 5}, asked: 3, known: 2}}
		x := &Step{Withdrawn: true, need: NeedLedger, Output: Output{LedgerTerm: 7}}
		assert.Equal(t, need, s.Ledger(threeRules(), time.Second, x, ignored{}, end, 2))
		assert.Equal(t, need == NeedNothing, s.ledger.asked == 7, "what comes next is held against this promise")
	}
}

// settles is Effects of which a test needs no more than Settle.
type settles struct {
	leads
	times int
}

func (s *settles) Settle() { s.times++ }

// When a handover is over, its orders are settled once, and its own resignation no longer stands.
func TestOrdersAreSettledOnce(t *testing.T) {
	s, fx := Session{duties: &Duties{orders: orders{own: true, handing: true}}}, new(settles)
	for range 2 {
		assert.Zero(t, s.attendHandover(fx))
		assert.Equal(t, 1, fx.times)
		assert.Equal(t, orders{}, s.duties.orders)
	}
}

// A handover may end before the session has compared it with its orders: the lease is over, or Lead has returned. What the node has
// learned in it would be kept, and taken for what the next one has learned.
func TestAHandoverThatEndsAtOnceIsSettled(t *testing.T) {
	r := threeRules()
	s, fx := Session{Machine: elected(r), duties: new(Duties)}, new(settles)
	s.handover = Handover{Phase: Probing, Target: 2, Reason: ToAble}
	s.duties.lead.lost = true
	require.Equal(t, Lapsed, s.attend(r, 0, fx))
	s.handover, s.duties.lead.lost = Handover{}, false
	s.attend(r, 0, fx)
	assert.Equal(t, 1, fx.times)
}

func TestAPauseThatHasEndedRunsNoMore(t *testing.T) {
	for _, asked := range []bool{true, false} {
		s := Session{duties: &Duties{pause: pause{number: 3, running: 2, asked: asked}}}
		assert.Equal(t, asked, s.PauseEnded(3, true))
		assert.EqualValues(t, 1, s.duties.pause.running, "an older one runs, so its number must not be given again")
		assert.False(t, s.PauseEnded(2, false))
		assert.Zero(t, s.duties.pause.running)
		assert.False(t, s.duties.pause.failed)
	}
}

// With leases Lead begins when a lease is held. A leader that waits for one is not told that no Lead runs,
// because one is due: it would not know of it later, and stand while it runs.
func TestLeadWaitsForTheLease(t *testing.T) {
	const now = time.Minute
	for what, c := range map[string]struct {
		role  memberstate.Role
		until time.Duration
		leads bool
		own   InputKind
	}{
		"it has no lease yet":   {memberstate.Leader, 0, false, 0},
		"its lease has run out": {memberstate.Leader, now, false, 0},
		"it holds a lease":      {memberstate.Leader, now + 1, true, 0},
		"it leads no more":      {memberstate.Candidate, 0, false, Served},
	} {
		r, fx := threeRules(), new(leads)
		r.Lease = r.Timing.Detection()
		s := Session{Machine: elected(r), duties: &Duties{lease: lease{until: c.until}}}
		s.office.leaseBeat = s.office.beat
		s.Role = c.role
		assert.Equal(t, c.own, s.attendLead(r, now, fx), what)
		assert.Equal(t, c.leads, len(fx.terms) == 1, what)
	}
}

// A driver may repeat itself, and speak of an older term. Only the Lead that runs can return.
func TestOnlyTheLeadThatRunsReturns(t *testing.T) {
	for _, c := range []struct {
		running bool
		term    memberstate.Term
		returns bool
	}{{true, 2, true}, {true, 1, false}, {false, 2, false}} {
		s := Session{duties: &Duties{lead: lead{term: 2, running: c.running}}}
		s.Term = 2
		assert.Equal(t, c.returns, s.LeadReturned(c.term, true))
		assert.Equal(t, lead{term: 2, running: c.running && !c.returns, quits: c.returns}, s.duties.lead)
	}
	assert.False(t, new(Session).LeadReturned(0, true))
	ending := Session{duties: &Duties{lead: lead{term: 2, running: true, ending: true}}}
	ending.Term = 2
	assert.False(t, ending.LeadReturned(2, true), "it returned before it learned that it must")
	assert.False(t, ending.duties.lead.quits)
}

// A member that led in another life of its session has nothing else to remember.
func TestAMemberThatServesIsAttendedTo(t *testing.T) {
	s := Session{Machine: elected(threeRules())}
	s.Role = memberstate.Candidate
	assert.Equal(t, Served, s.attend(threeRules(), time.Second, new(settles)))
}

// inOrder is Effects that write down what comes in which order.
type inOrder struct {
	Effects
	did []string
}

func (o *inOrder) Hold(time.Duration)             { o.did = append(o.did, "hold") }
func (o *inOrder) Show(View)                      { o.did = append(o.did, "show") }
func (o *inOrder) Reply(*Message)                 { o.did = append(o.did, "reply") }
func (o *inOrder) Send(memberstate.Set, *Message) { o.did = append(o.did, "send") }
func (o *inOrder) Arm(Alarm)                      { o.did = append(o.did, "arm") }
func (o *inOrder) Judge(rpc.Mark, Judgement)      { o.did = append(o.did, "judge") }
func (o *inOrder) Drop(Drop)                      { o.did = append(o.did, "drop") }

// A driver may send at once, and no other member may learn of a change before the engine does.
func TestEffectsComeInTheirOrder(t *testing.T) {
	fx := new(inOrder)
	x := &Step{Output: Output{Changed: true, Replied: true, To: 2, Alarm: Alarm{Number: 1}, Ended: true, Dropped: DropMalformed}}
	new(Session).finish(threeRules(), time.Second, x, fx)
	assert.Equal(t, []string{"show", "reply", "send", "arm", "judge", "drop"}, fx.did)
}

// A driver may send at once, and the heir may win as soon as it is told to stand. That it is asked whether it could take over ends nothing.
func TestALeaseEndsBeforeAnHeirIsToldToStand(t *testing.T) {
	for _, why := range []Inability{Able, NotAbleUnhealthy, NotAbleDisk} {
		for mark, did := range map[rpc.Mark][]string{rpc.Plain: {"hold", "send"}, rpc.PreVote: {"send"}} {
			s, fx := Session{Machine: elected(threeRules()), duties: &Duties{lease: lease{until: time.Minute}}}, new(inOrder)
			s.inability = why
			s.send(time.Second, &Output{To: 2, Send: Message{Body: rpc.Body{Kind: rpc.TakeLeadership, Mark: mark}}}, fx)
			assert.Equal(t, did, fx.did, "%v, %v", why, mark)
		}
	}
}
