// Which orders are refused, and with which error.

package protocol

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestWhichOrdersAreRefused(t *testing.T) {
	begins := assert.AnError // the order is not settled at once
	for what, c := range map[string]struct {
		change func(d *recorder)
		order  Order
		want   error
	}{
		"a transfer":                         {order: Order{To: "n1"}, want: begins},
		"a transfer to any voter":            {want: begins},
		"a resignation":                      {order: Order{Resign: true}, want: begins},
		"a transfer to the leader itself":    {order: Order{To: "n0"}},
		"a transfer to a stranger":           {order: Order{To: "nx"}, want: ErrTransferFailed},
		"a transfer to an observer":          {func(d *recorder) { d.group.Rules.Voters = memberstate.SetOf(1) }, Order{To: "n1"}, ErrTransferFailed},
		"a transfer by another":              {follows, Order{To: "n1"}, ErrNotLeader},
		"a transfer by another to itself":    {follows, Order{To: "n0"}, ErrNotLeader},
		"a resignation by another":           {follows, Order{Resign: true}, ErrNotLeader},
		"a transfer when it has stopped":     {func(d *recorder) { d.node.End(&d.group) }, Order{To: "n1"}, ErrStopped},
		"a transfer during another":          {func(d *recorder) { d.node.Obey(&d.group, &Order{Settled: func(error) {}}) }, Order{To: "n1"}, ErrTransferInProgress},
		"a resignation during a transfer":    {func(d *recorder) { d.node.Obey(&d.group, &Order{Settled: func(error) {}}) }, Order{Resign: true}, begins},
		"a transfer during a resignation":    {func(d *recorder) { d.node.Obey(&d.group, &Order{Resign: true, Settled: func(error) {}}) }, Order{To: "n1"}, ErrTransferInProgress},
		"a transfer during the leader's own": {offers, Order{To: "n1"}, ErrTransferInProgress},
		"a resignation during such an offer": {offers, Order{Resign: true}, begins},
	} {
		d, _ := pair(t)
		if c.change != nil {
			c.change(d)
		}
		outcome := begins
		c.order.Settled = func(err error) { outcome = err }
		d.node.Obey(&d.group, &c.order)
		require.ErrorIs(t, outcome, c.want, what)
	}
}

// follows makes the leader lead no more.
func follows(d *recorder) { d.group.Role, d.group.Leader = memberstate.Follower, 2 }

// offers makes the leader hand over to a preferred voter, which nobody has ordered.
func offers(d *recorder) { d.group.handover = Handover{Phase: Probing, Target: 2, Reason: ToPreferred} }

// A transfer to a named voter has failed when another one leads.
func TestWhoseElectionCarriesATransferOut(t *testing.T) {
	for _, c := range []struct {
		to     string
		leader memberstate.Seat
		want   error
	}{
		{"n1", 2, nil},
		{"n1", 3, ErrTransferFailed},
		{"", 3, nil},
		{"", 1, ErrTransferFailed},
	} {
		d := newRecorders(t, 3)[0]
		outcome := assert.AnError
		o := &Order{To: c.to, term: 3, Settled: func(err error) { outcome = err }}
		d.node.transientOf(&d.group).awaitHeir = []*Order{o}
		d.node.succeed(&d.group, &View{Term: 4, Leader: c.leader})
		require.ErrorIs(t, outcome, c.want, "to %q, and %d leads", c.to, c.leader)
	}
}

func TestAnOrderThatIsWithdrawnLeavesNoMemoryInUse(t *testing.T) {
	d := newRecorders(t, 3)[0]
	o := &Order{Settled: func(error) {}}
	d.node.transientOf(&d.group).awaitHeir = []*Order{o}
	d.node.Withdraw(&d.group, o, assert.AnError)
	assert.Nil(t, d.group.transient())
}

// An order that is given while a step waits stands in the queue behind what came before it. The leader rests again when
// the order is withdrawn.
func TestAnOrderThatIsWithdrawnFromTheQueueLeavesNoMemoryInUse(t *testing.T) {
	d, f := pair(t)
	first, second := &Order{Settled: func(error) {}}, &Order{Resign: true, Settled: func(error) {}}
	d.node.Obey(&d.group, first) // its step asks for the ledger
	d.node.Give(&d.group, &Input{Kind: Stand}, nil)
	d.node.Obey(&d.group, second)
	x := d.group.transient()
	x.next(new(pending)) // a step has begun with what came first
	d.node.Withdraw(&d.group, second, assert.AnError)
	d.node.Withdraw(&d.group, first, assert.AnError)
	assert.Empty(t, x.queue)
	d.answer()
	deliver([]*recorder{d, f})
	assert.False(t, d.group.Cluttered())
	assert.Nil(t, d.group.transient())
}

// The engine may take long to say where its ledger ends. An order that was withdrawn meanwhile asks nobody to take over.
func TestAnOrderThatIsWithdrawnWhileItsStepWaitsDoesNothing(t *testing.T) {
	for _, resign := range []bool{false, true} {
		d, f := pair(t)
		o := &Order{Resign: resign, Settled: func(err error) { d.write("settled: %v", err) }}
		d.node.Obey(&d.group, o)
		require.Equal(t, []string{"ask ledger 1"}, d.did())
		d.node.Withdraw(&d.group, o, errors.New("enough"))
		d.node.LedgerEnd(&d.group, memberstate.Position{}, 0, nil)
		d.node.EndTurn()
		assert.Equal(t, []string{"settled: enough"}, d.did(), "resign: %v", resign)
		assert.Empty(t, d.failed)
		assert.Equal(t, memberstate.Leader, d.group.Role)
		d.order(f) // and another order may be given
	}
}

// An order may wait behind a step while the handover of an earlier one ends. It keeps its place, and its caller may still withdraw it.
func TestAnOrderThatHasNotBegunIsNotSettledWithAnEarlierOne(t *testing.T) {
	d, _ := pair(t)
	order := func(name string, began bool) *Order {
		return &Order{term: d.group.Term, began: began, Settled: func(err error) { d.write("%s: %v", name, err) }}
	}
	begun, waits := order("begun", true), order("waits", false)
	d.node.transientOf(&d.group).orders = []*Order{begun, waits}
	d.node.settle(&d.group)
	assert.Equal(t, []string{"begun: " + ErrTransferFailed.Error()}, d.did())
	assert.Equal(t, []*Order{waits}, d.group.transient().orders)
	d.node.Withdraw(&d.group, waits, errors.New("enough"))
	assert.Equal(t, []string{"waits: enough"}, d.did())
}
