// A node whose edge and engine write down what they are asked for, so that a test can carry it out.

package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// recorder is a node with one group, whose edge and engine write down every request. Messages and saves
// wait until the test carries them out.
type recorder struct {
	counting
	t       testing.TB
	node    *Node
	group   Group
	others  map[string]*recorder
	wrote   []string
	heeded  int // how many of these were answered, as far as they need an answer
	post    []rpc.Message
	saving  []memberstate.Record // the newest batch
	shown   []View
	batches []int // lengths of those that were sent
	failed  []*TransferError
	again   []bool          // whether the node has begun these of its own accord
	heard   []time.Duration // from the sending of a beat until a quorum had answered
	voting  []rpc.Kind      // of the requests and answers that were counted
	cohorts []uint32        // in which a leader began to rest; 0: it beats by itself again
	dropped []Drop
	alarm   Alarm
	pause   uint32
	ended   error
}

// newRecorders are the voters n0, n1 and so on of a group with leases.
func newRecorders(t testing.TB, voters int) []*recorder {
	t.Helper()
	ids := []string{"n0", "n1", "n2"}[:voters]
	members, err := memberstate.NewMembers(memberstate.Voters(ids...))
	require.NoError(t, err)
	all := map[string]*recorder{}
	list := make([]*recorder, voters)
	for i, id := range ids {
		e := &Electorate{Members: members, Rules: Rules{
			Self: memberstate.Seat(i + 1), Voters: members.Voters(), All: members.All(), Timing: DefaultTiming(), PreVote: true, Ranks: true,
		}}
		e.Rules.Lease = e.Rules.Timing.Detection()
		d := &recorder{t: t, others: all}
		d.node, d.group = NewNode(id, d), NewGroup(e, "g", d)
		require.NoError(t, d.group.Restore(memberstate.Record{}, false, memberstate.Position{}))
		d.node.At(time.Second)
		all[id], list[i] = d, d
	}
	return list
}

func (d *recorder) write(format string, args ...any) {
	d.wrote = append(d.wrote, fmt.Sprintf(format, args...))
}

// did returns the entries since the last call.
func (d *recorder) did() []string {
	wrote := d.wrote
	d.wrote, d.heeded = nil, 0
	return wrote
}

func (d *recorder) Draw(_ *Group, a Alarm) time.Duration {
	d.alarm = a
	d.write("arm")
	return a.Min
}

func (d *recorder) Send(to string, batch []rpc.Message) {
	for _, m := range batch {
		d.write("send %v to %s", m.Kind, to)
	}
	d.post = append(d.post, batch...)
	d.batches = append(d.batches, len(batch))
}

func (d *recorder) Save(batch []memberstate.Record) {
	d.write("save term %d", batch[0].Term)
	d.saving = batch
}

func (d *recorder) Drop(why Drop, _ int) { d.dropped = append(d.dropped, why) }

func (d *recorder) AskLedger(term memberstate.Term) { d.write("ask ledger %d", term) }

func (d *recorder) Lead(term memberstate.Term) { d.write("lead %d", term) }

func (d *recorder) EndLead(term memberstate.Term) { d.write("end lead %d", term) }

func (d *recorder) Resume() { d.write("resume") }

func (d *recorder) Vouched() bool { return false }

func (d *recorder) AskHealth() bool { return false }

func (d *recorder) AskStalled(time.Duration) bool { return false }
func (d *recorder) Progress(Progress)             {}

func (d *recorder) Obey(*Rules) {}

func (d *recorder) Groups() []*Group { return []*Group{&d.group} }

func (d *recorder) Ended(err error) {
	d.ended = err
	d.write("ended: %v", err)
}

func (d *recorder) NotTransferred(_ *Group, failed *TransferError, repeated bool) {
	d.failed, d.again = append(d.failed, failed), append(d.again, repeated)
}

func (d *recorder) QuorumHeard(_ *Group, took time.Duration) { d.heard = append(d.heard, took) }
func (d *recorder) Rests(_ *Group, cohort uint32)            { d.cohorts = append(d.cohorts, cohort) }
func (d *recorder) CohortHeard(uint32, time.Duration)        {}

func (d *recorder) Voting(_ *Group, m *Message) { d.voting = append(d.voting, m.Kind) }

func (d *recorder) TooFarApart(_ *Group, peer string, term memberstate.Term, _ uint64) {
	d.write("%s is too far apart in term %d", peer, term)
}

func (d *recorder) LeadFailed(_ *Group, term memberstate.Term, err error) {
	d.write("lead %d failed: %v", term, err)
}

func (d *recorder) Judge(_ *Group, asked rpc.Mark, _ Judgement) { d.write("judge %v", asked) }

func (d *recorder) Show(v View) {
	d.shown = append(d.shown, v)
	if v.Stopped {
		d.write("show stopped in term %d", v.Term)
		return
	}
	d.write("show %v in term %d", v.Role, v.Term)
}

func (d *recorder) Hold(until time.Duration) {
	if until == 0 {
		d.write("hold nothing")
		return
	}
	d.write("hold")
}

func (d *recorder) Share(number uint32) { d.write("share %d", number) }

func (d *recorder) Pause(_ memberstate.Term, number uint32) {
	d.write("pause")
	d.pause = number
}

// ring makes time pass until the alarm rings.
func (d *recorder) ring() {
	at, armed := d.node.Next()
	require.True(d.t, armed)
	d.node.At(at)
	d.node.EndTurn()
}

// answer gives the node the answers that it waits for, in the order in which it asked.
func (d *recorder) answer() {
	for d.heeded < len(d.wrote) {
		asked := d.wrote[d.heeded]
		d.heeded++
		switch {
		case strings.HasPrefix(asked, "ask ledger"):
			d.node.LedgerEnd(&d.group, memberstate.Position{}, 0, nil)
		case strings.HasPrefix(asked, "save"):
			d.node.Saved(nil)
		}
		d.node.EndTurn()
	}
}

func (d *recorder) start() {
	d.node.Start(&d.group)
	d.node.EndTurn()
}

// deliver makes all messages arrive, and those that are sent because of them.
func deliver(all []*recorder) {
	for moved := true; moved; {
		moved = false
		for _, d := range all {
			post := d.post
			d.post = nil
			for i := range post {
				to := d.others[post[i].To]
				to.node.Deliver(&to.group, &post[i])
				to.node.EndTurn()
				to.answer()
				moved = true
			}
		}
	}
}

// lone is a voter that leads alone.
func lone(t *testing.T) *recorder {
	t.Helper()
	d := newRecorders(t, 1)[0]
	d.start()
	d.ring()
	d.answer()
	require.Equal(t, memberstate.Leader, d.group.Role)
	d.did()
	return d
}

// pair is a leader and another voter, which follows it.
func pair(t *testing.T) (leader, follower *recorder) {
	t.Helper()
	all := newRecorders(t, 2)
	for _, d := range all {
		d.start()
	}
	leader, follower = all[0], all[1]
	for range 3 {
		leader.ring()
		leader.answer()
		deliver(all)
	}
	require.Equal(t, memberstate.Leader, leader.group.Role)
	require.Equal(t, memberstate.Follower, follower.group.Role)
	leader.did()
	follower.did()
	return leader, follower
}

// order gives the leader of a pair an order, up to the point at which the follower is ready and writes
// are paused.
func (d *recorder) order(f *recorder) *Order {
	o := &Order{To: "n1", Settled: func(err error) { d.write("settled: %v", err) }}
	d.node.Obey(&d.group, o)
	d.node.EndTurn()
	d.answer()
	deliver([]*recorder{d, f})
	require.Equal(d.t, []string{"ask ledger 1", "send take leadership to n1", "pause"}, d.did())
	require.Equal(d.t, []string{"ask ledger 1", "send take leadership answer to n0"}, f.did())
	return o
}

// handed carries an order so far that this member leads no more, and no other member does yet.
func (d *recorder) handed(f *recorder) *Order {
	o := d.order(f)
	d.node.PauseEnded(&d.group, d.pause, nil)
	d.node.EndTurn()
	d.answer()
	d.node.LeadReturned(&d.group, 1, false, nil)
	for _, to := range []*recorder{f, d} { // the word to stand, and the request for a vote
		for _, from := range []*recorder{d, f} {
			post := from.post
			from.post = nil
			for i := range post {
				to.node.Deliver(&to.group, &post[i])
			}
		}
		to.node.EndTurn()
		to.answer()
	}
	require.NotEqual(d.t, memberstate.Leader, d.group.Role)
	require.NotContains(d.t, strings.Join(d.did(), "\n"), "settled", "no leader is known")
	return o
}
