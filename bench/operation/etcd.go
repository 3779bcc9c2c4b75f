// etcd's side: a node in the state before the operation, and messages made by other nodes.

package operation

import (
	"context"
	"fmt"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
)

// Etcd measures the version of etcd/raft that is linked in.
func Etcd(_ context.Context, t Task) (Cost, error) {
	return costOf(t.Times, func() (batch, error) { return etcdBatch((*raft.RawNode).Step, t.Operation) })
}

// etcdTimes is how often an operation is done from a fresh start, with one term for each and
// messages that are all made beforehand.
const etcdTimes = 1000

// group is three nodes with their messages.
type group[M any] struct {
	nodes [3]*etcd.Node[M]
	said  []saying[M]
	post  func(etcd.Label, M)
	err   error
}

type saying[M any] struct {
	label   etcd.Label
	message M
}

// newGroup makes a group whose nodes stand with or without a pre-vote, except node 2, the voter.
// No leader steps down for lack of answers.
func newGroup[M any](step func(*raft.RawNode, M) error, preVote bool) (*group[M], error) {
	g := new(group[M])
	g.post = func(l etcd.Label, m M) { g.said = append(g.said, saying[M]{l, m}) }
	for i := range g.nodes {
		storage, err := etcd.NewStorage(len(g.nodes))
		if err != nil {
			return nil, err
		}
		g.nodes[i], err = etcd.NewNode(step, uint64(i+1), storage, func(c *raft.Config) {
			c.PreVote = preVote || i == 1
			c.ElectionTick = 1 << 30
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// work handles each Ready of a node.
func (g *group[M]) work(node *etcd.Node[M]) {
	if err := node.Work(g.post); err != nil {
		g.err = err
	}
}

// settle delivers all messages.
func (g *group[M]) settle() {
	for len(g.said) > 0 {
		first := g.said[0]
		g.said = g.said[1:]
		to := g.nodes[first.label.To-1]
		to.Step(first.message)
		g.work(to)
	}
}

// campaign makes a node stand, and returns its messages to node 2.
func (g *group[M]) campaign(i int) []M {
	g.err = g.nodes[i].Campaign()
	g.work(g.nodes[i])
	return g.to2()
}

// to2 returns the messages to node 2.
func (g *group[M]) to2() (messages []M) {
	for _, s := range g.said {
		if s.label.To == 2 {
			messages = append(messages, s.message)
		}
	}
	g.said = nil
	return messages
}

// elect makes node 1 lead.
func (g *group[M]) elect() {
	g.err = g.nodes[0].Campaign()
	g.work(g.nodes[0])
	g.settle()
}

// asksFirst reports whether nodes stand with a pre-vote in an operation.
func asksFirst(operation string) bool { return operation != granted && operation != refused }

func etcdBatch[M any](step func(*raft.RawNode, M) error, operation string) (batch, error) {
	g, err := newGroup(step, asksFirst(operation))
	if err != nil {
		return batch{}, err
	}
	run, err := g.operation(operation)
	if err == nil {
		err = g.err
	}
	// No message is delivered during the measurement.
	g.post = func(etcd.Label, M) {}
	return batch{etcdTimes, func() error { run(); return g.err }}, err
}

// operation returns a function that does an operation etcdTimes times.
func (g *group[M]) operation(what string) (func(), error) {
	voter := g.nodes[1]
	switch what {
	case heartbeat:
		g.elect()
		g.nodes[0].Tick()
		g.work(g.nodes[0])
		return g.take(voter, g.to2()), nil
	case granted:
		var requests []M
		for range etcdTimes {
			requests = append(requests, g.campaign(0)...)
		}
		return g.take(voter, requests), nil
	case refused:
		voter.Step(g.campaign(0)[0])
		g.work(voter)
		g.said = nil
		return g.take(voter, g.campaign(2)), nil
	case preVote:
		return g.take(voter, g.campaign(0)), nil
	case beat:
		g.elect()
		return g.again(g.nodes[0], g.nodes[0].Tick), nil
	case stands:
		return g.again(voter, func() { g.err = voter.Campaign() }), nil
	}
	return nil, fmt.Errorf("operation: unknown operation %q", what)
}

// take returns a function that gives a node the messages, and begins again after the last.
func (g *group[M]) take(node *etcd.Node[M], messages []M) func() {
	return func() {
		for i := range etcdTimes {
			node.Step(messages[i%len(messages)])
			g.work(node)
		}
	}
}

// again returns a function that repeats what on a node.
func (g *group[M]) again(node *etcd.Node[M], what func()) func() {
	return func() {
		for range etcdTimes {
			what()
			g.work(node)
		}
	}
}
