// How a group ends at a node. It is stopped or fails, and is over once no step of it waits and
// every function that works for it has returned.

package protocol

import (
	"errors"
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// Stop takes a member out of its group. If it leads it resigns first, so that the others need not
// wait for its silence.
func (n *Node) Stop(g *Group) {
	n.open(g)
	if g.Role != memberstate.Leader {
		n.end(g, nil)
		return
	}
	g.notes.set(leaving, true)
	g.Quit()
	n.attend(g)
}

// End takes a member out of its group at once.
func (n *Node) End(g *Group) { n.end(g, nil) }

// defect says why a member must stop: its engine's ledger broke its contract, or its machine tried
// an illegal transition.
func (g *Group) defect(err error) error {
	if broken, ok := errors.AsType[*LedgerError](err); ok {
		broken.Group = g.name
		return err
	}
	return fmt.Errorf("elector: group %q: defect: %w", g.name, err)
}

// end takes the group out of all queues and tells everyone concerned.
func (n *Node) end(g *Group, err error) {
	if !g.running {
		return // it has ended, or has not been started
	}
	n.open(g)
	g.running = false
	g.working++ // it is not over before everyone below has been told
	n.fx.group = g
	g.endOffice(&n.fx)
	g.endPause(&n.fx)
	n.leaveAll(g)
	n.alarms.remove(g)
	n.dropRules(g)
	n.dismiss(g.Electorate)
	n.countLed(g)
	n.stalled.forget(g)
	x := n.transientOf(g)
	x.err = err
	n.muster.end(x)
	var waiting *Step
	if x.busy != nil {
		waiting = &x.busy.Step
	}
	g.showEnd(waiting, &n.fx)
	for _, o := range append(x.orders, x.awaitHeir...) {
		o.Settled(Say(ErrStopped, "group %q has stopped", g.name))
	}
	x.orders, x.awaitHeir = nil, nil
	if err != nil {
		n.edge.Failed(g, err)
	}
	queue := x.queue[x.first:]
	x.queue, x.first, x.messages = nil, 0, 0
	for i := range queue {
		n.abandon(&queue[i].purpose)
	}
	n.done(g)
}

// done notes that a function that worked for the group has returned, or that a watcher has left. It
// first goes on with what that has changed, which may end the group.
func (n *Node) done(g *Group) {
	n.attend(g)
	g.working--
	n.conclude(g)
}

// conclude says that a group is over, if nothing works for it any more.
func (n *Node) conclude(g *Group) {
	if g.running || g.working > 0 || g.busy() != nil || n.marking.underWay() {
		return
	}
	var err error
	if x := g.transient(); x != nil {
		err = x.err
	}
	g.engine.Ended(err)
}
