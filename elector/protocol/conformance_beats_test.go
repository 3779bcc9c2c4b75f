// Conformance of heartbeat rounds: a leader beats, and answers come in.

package protocol

import (
	"slices"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

var beatRounds = decisions{
	kind:  "heartbeatround",
	agree: agreeOnBeat,
	excuses: []excuse{
		{byD7, (*vector).accused, asksForLargerTerm},
		{byD8, (*vector).firstBeatFails, leadsOn},
		{agreesInOrder, (*vector).mayResendEarly, agreeOnBeat},
	},
	explain:  explainBeat,
	expected: map[verdict]int{agrees: 907, agreesInOrder: 20, byD7: 472, byD8: 101},
}

// explainBeat checks that DLedger's rule gives the recorded outcome.
func explainBeat(c *trial, v *vector) {
	assert.Equal(c, v.tallyBeat().byDLedger(v), v.Outcome, "by DLedger's rule")
}

// beatTally counts the answers to a beat.
type beatTally struct {
	followed, notReady int // this member included
	contested          bool
	lastAccused        int // by the last EXPIRED_TERM, which is DLedger's
	quorum             int
}

func (v *vector) tallyBeat() *beatTally {
	b := &beatTally{followed: 1, quorum: dledgerRules(v.Peers).quorum()}
	for _, a := range v.seen() {
		switch a.Result {
		case "SUCCESS":
			b.followed++
		case "TERM_NOT_READY":
			b.notReady++
		case "INCONSISTENT_LEADER":
			b.contested = true
		case "EXPIRED_TERM":
			b.lastAccused = a.Term
		}
	}
	return b
}

// byDLedger is DLedger's outcome.
func (b *beatTally) byDLedger(v *vector) string {
	switch {
	case b.followed >= b.quorum:
		return "QUORUM_OK"
	case b.followed+b.notReady >= b.quorum:
		return "RESEND_NOW"
	case b.lastAccused > v.State.CurrTerm:
		return "STEP_DOWN_LARGER_TERM"
	case b.contested || v.LastQuorumSuccess != "fresh":
		return "STEP_DOWN_SAME_TERM"
	}
	return "WAIT_NEXT_INTERVAL"
}

// accused says whether an answer teaches the leader a larger term.
func (v *vector) accused() bool { return v.largestTaught() > v.State.CurrTerm }

func (v *vector) largestTaught() (largest int) {
	for _, a := range v.seen() {
		if a.Result == "EXPIRED_TERM" {
			largest = max(largest, a.Term)
		}
	}
	return largest
}

// firstBeatFails says whether DLedger steps down only because it has never heard its quorum, at the
// end of its very first beat.
func (v *vector) firstBeatFails() bool {
	return v.LastQuorumSuccess == "never" && v.Outcome == "STEP_DOWN_SAME_TERM" && !v.tallyBeat().contested
}

// beatRun is a beat, and what the machine did with the answers to it.
type beatRun struct {
	v    *vector
	r    *Rules
	m    *Machine
	beat uint32
	outs []*Output // one for each answer
}

// notReadyLast is the recorded order. If all answers came before DLedger decided, voters that were
// not ready come after those that follow.
func (v *vector) notReadyLast() []dledgerAnswer {
	order := slices.Clone(v.seen())
	if v.Arrival != "ordered" {
		late := func(a dledgerAnswer) int { return map[bool]int{true: 1}[a.Result == "TERM_NOT_READY"] }
		slices.SortStableFunc(order, func(a, b dledgerAnswer) int { return late(a) - late(b) })
	}
	return order
}

// resendsIn says whether, with the answers in this order, a quorum has answered at some moment only
// if voters that were not ready are counted. The machine then sends the beat again, while DLedger
// waits a while for others to follow.
func (v *vector) resendsIn(order []dledgerAnswer) bool {
	followed, notReady, quorum := 1, 0, v.quorum()
	for _, a := range order {
		switch a.Result {
		case "SUCCESS":
			followed++
		case "TERM_NOT_READY":
			notReady++
		}
		if notReady > 0 && followed < quorum && followed+notReady >= quorum {
			return true
		}
	}
	return false
}

// mayResendEarly says whether that is so in some order, though DLedger did not send the beat again.
func (v *vector) mayResendEarly() bool {
	return v.Outcome != "RESEND_NOW" && slices.ContainsFunc(v.beatOrders(), v.resendsIn)
}

func (v *vector) beatOrders() [][]dledgerAnswer {
	if v.Arrival == "ordered" {
		return [][]dledgerAnswer{v.seen()}
	}
	return v.orders()
}

// playBeat sends a beat, and delivers the answers in this order.
func playBeat(c *trial, v *vector, order []dledgerAnswer) *beatRun {
	b := &beatRun{v: v, r: dledgerRules(v.Peers), m: machineIn(&v.State)}
	m, leak := b.m, uint32(b.r.Timing.Leak)
	m.serving = true
	m.office.beat, m.office.heardBeat, m.office.challenge = 10, 10, 10-leak
	var out *Output
	switch v.LastQuorumSuccess {
	case "never": // it has just been elected; of an earlier term nothing counts
		m.Role, m.Leader, m.office.heardBeat = memberstate.Candidate, memberstate.Nobody, 1
		out = new(Output)
		m.takeOffice(b.r, out)
	case "expired": // the next alarm but one is too late
		m.office.heardBeat = 11 - leak
		fallthrough
	default:
		out = v.stepIn(c, b.r, m, Input{Kind: Ring, Number: m.alarm})
	}
	b.beat = m.office.beat
	b.assertBeats(c, out)
	for _, a := range order {
		b.answer(c, a)
	}
	return b
}

func (b *beatRun) answer(c *trial, a dledgerAnswer) {
	if result := resultOf(a.Result); result != 0 {
		b.outs = append(b.outs, b.v.stepIn(c, b.r, b.m, Input{Kind: Receive, Message: Message{From: seatOf(&a.From), Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: result, Round: b.beat, Term: termOf(a.Term), Asked: termOf(b.v.State.CurrTerm),
		}}}))
	}
}

// assertBeats checks that a beat was sent.
func (b *beatRun) assertBeats(c *trial, out *Output) {
	assert.Equal(c, b.r.others(), out.To)
	assert.Equal(c, Message{Leader: n0, Body: rpc.Body{
		Kind: rpc.Heartbeat, Round: b.m.office.beat, Term: termOf(b.v.State.CurrTerm), Detection: b.r.Timing.Detection(),
	}}, out.Send)
	assertArmed(c, b.m, out.Alarm, b.r.Timing.Heartbeat, b.r.Timing.Heartbeat)
}

// sent are the steps that sent messages of this kind and mark.
func (b *beatRun) sent(kind rpc.Kind, mark rpc.Mark) (sent []*Output) {
	for _, out := range b.outs {
		if out.To != 0 && out.Send.Kind == kind && out.Send.Mark == mark {
			sent = append(sent, out)
		}
	}
	return sent
}

// alarmRings rings the alarm of the next beat, at which the leader goes on or steps down within its
// term.
func (b *beatRun) alarmRings(c *trial, leads bool) {
	out := b.v.stepIn(c, b.r, b.m, Input{Kind: Ring, Number: b.m.alarm})
	assert.Equal(c, leads, b.m.Role == memberstate.Leader, "leads")
	want := b.v.State
	want.KnownMaxTermInGroup = max(want.KnownMaxTermInGroup, b.v.largestTaught())
	if leads {
		b.assertBeats(c, out)
	} else {
		want.Role, want.LeaderID = "CANDIDATE", nil
		assert.Zero(c, out.To)
		assert.NotZero(c, out.Alarm.Number)
		assert.True(c, b.m.Spent, "it could lead the term again (D2)")
	}
	want.assertAfter(c, b.m)
}

// fallsSilent checks that a leader that no quorum hears leads for a detection time and no longer.
func (b *beatRun) fallsSilent(c *trial) {
	for beat := 1; beat < b.r.Timing.Leak; beat++ {
		b.alarmRings(c, true)
	}
	b.alarmRings(c, false)
}

// agreeOnBeat checks that the beat ends as DLedger's, in whatever order the answers come; the beat
// may be sent again early in some of these orders.
func agreeOnBeat(c *trial, v *vector) {
	assert.Equal(c, v.Outcome == "RESEND_NOW", v.resendsIn(v.notReadyLast()), "no deviation excuses this")
	for _, order := range v.beatOrders() {
		agreeOnBeatIn(c, v, order)
	}
}

func agreeOnBeatIn(c *trial, v *vector, order []dledgerAnswer) {
	b := playBeat(c, v, order)
	v.State.assertAfter(c, b.m)
	resent := b.sent(rpc.Heartbeat, rpc.Plain)
	if v.Outcome == "RESEND_NOW" || v.resendsIn(order) {
		assert.Len(c, resent, 1)
		assert.Equal(c, b.beat+1, b.m.office.beat)
		for _, out := range resent {
			b.assertBeats(c, out)
		}
		return
	}
	assert.Empty(c, resent)
	switch v.Outcome {
	case "QUORUM_OK":
		assert.Equal(c, b.beat, b.m.office.heardBeat)
		b.alarmRings(c, true)
	case "WAIT_NEXT_INTERVAL":
		b.fallsSilent(c)
	default: // STEP_DOWN_SAME_TERM
		b.alarmRings(c, false)
		v.After.assertAfter(c, b.m)
	}
}

// leadsOn checks D8: the detection time of a new leader begins with its election.
func leadsOn(c *trial, v *vector) {
	b := playBeat(c, v, v.notReadyLast())
	assert.Empty(c, b.sent(rpc.Heartbeat, rpc.Plain))
	b.fallsSilent(c)
}

// asksForLargerTerm checks D7: the leader goes on leading, and once in a detection time asks for votes
// above all terms that it has heard of by then. It steps down in the step that raises the term.
func asksForLargerTerm(c *trial, v *vector) {
	b := playBeat(c, v, v.notReadyLast())
	assert.Equal(c, memberstate.Leader, b.m.Role)
	asked := b.sent(rpc.VoteRequest, rpc.PreVote)
	assert.Len(c, asked, 1)
	for _, out := range asked {
		assert.Equal(c, b.r.others(), out.To)
		assert.Equal(c, termOf(v.firstTaught())+1, out.Send.Term)
		assert.Equal(c, v.State.ledger(), out.Send.Ledger)
		assert.Zero(c, out.Alarm, "its alarm is the next beat")
	}
	assert.Equal(c, termOf(max(v.State.KnownMaxTermInGroup, v.largestTaught())), b.m.known)
	b.assertWinsLargerTerm(c)

	tally, resent := v.tallyBeat(), len(b.sent(rpc.Heartbeat, rpc.Plain)) > 0
	heard := tally.followed >= tally.quorum
	assert.Equal(c, heard, b.m.office.heardBeat == b.beat, "a quorum follows")
	assert.Equal(c, v.resendsBeforeAccused(), resent, "sent again")
	contested := tally.contested && !resent
	b.alarmRings(c, heard || !contested && v.LastQuorumSuccess != "expired")
}

// firstTaught is the largest term heard of when a voter first answers with a larger one.
func (v *vector) firstTaught() int {
	for _, a := range v.seen() {
		if a.Result == "EXPIRED_TERM" && a.Term > v.State.CurrTerm {
			return max(a.Term, v.State.KnownMaxTermInGroup)
		}
	}
	return 0
}

// resendsBeforeAccused says whether a beat had to be sent again before a voter answered with a larger
// term. While the leader asks for a larger term it sends no beat early: the next one will do.
func (v *vector) resendsBeforeAccused() bool {
	before := *v
	for i, a := range v.seen() {
		if a.Result == "EXPIRED_TERM" && a.Term > v.State.CurrTerm {
			before.Responses, before.PeerResponsesSeen = v.seen()[:i], nil
			break
		}
	}
	return v.Arrival == "ordered" && before.tallyBeat().byDLedger(&before) == "RESEND_NOW"
}

// assertWinsLargerTerm makes the others grant the pre-vote, in a copy.
func (b *beatRun) assertWinsLargerTerm(c *trial) {
	m, grants := *b.m, 1
	for voter := range b.r.others().Seats() {
		out := b.v.stepIn(c, b.r, &m, Input{Kind: Receive, Message: Message{From: voter, Body: rpc.Body{
			Kind: rpc.VoteResponse, Mark: rpc.PreVote, Result: rpc.Accept, Round: m.ballot, Term: m.Term, Asked: b.m.round.asked,
		}}})
		grants++
		assert.Equal(c, grants >= b.r.quorum(), m.Role == memberstate.Candidate, "steps down with %d grants", grants)
		if grants < b.r.quorum() {
			continue
		}
		assert.Equal(c, b.m.round.asked, m.Term)
		assert.Equal(c, n0, m.Vote)
		assert.True(c, out.Lost)
		assert.Equal(c, b.r.others(), out.To)
		assert.Equal(c, rpc.Won, out.Send.Mark)
		return
	}
}
