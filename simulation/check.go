// What must hold after every event. Each invariant has its file; here is what they
// share.

package simulation

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Invariant names what must hold. The package documentation says where each is from.
type Invariant uint8

// The invariants.
const (
	OneLeader Invariant = iota
	WonByQuorum
	FollowsWinner
	OneVote
	TermsRise
	SavedBeforeSaid
	LegalStep
	NeverStuck
	LeaderComplete
	OneLease
	Converges

	invariants
)

var invariantNames = [invariants]string{
	"one leader a term", "won by a quorum", "follows a winner", "one vote a term", "terms rise", "saved before said",
	"legal step", "never stuck", "leader has what is committed", "one lease", "converges",
}

// String names the invariant.
func (i Invariant) String() string {
	if i < invariants {
		return invariantNames[i]
	}
	return "unknown invariant"
}

// Invariants lists all there are.
func Invariants() []Invariant {
	all := make([]Invariant, invariants)
	for i := range all {
		all[i] = Invariant(i)
	}
	return all
}

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant Invariant
	// At is the true time, and Node the index of the node.
	At   time.Duration
	Node int
	What string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%v violated at %v by n%d: %s", v.Invariant, v.At, v.Node, v.What)
}

// checker remembers what the invariants need of the past.
type checker struct {
	world     *world
	counts    [invariants]uint64
	violation *Violation

	leaders     map[memberstate.Term]tenure
	votes       map[ballot]memberstate.Seat
	commitments []commitment // by term
}

func (c *checker) init(w *world) {
	c.world = w
	c.leaders, c.votes = map[memberstate.Term]tenure{}, map[ballot]memberstate.Seat{}
}

// violated notes the first violation; the run ends with it.
func (c *checker) violated(i Invariant, n *node, format string, args ...any) {
	if c.violation == nil {
		c.violation = &Violation{i, time.Duration(c.world.now), n.index, fmt.Sprintf(format, args...)}
	}
}

// started checks an incarnation that begins.
func (c *checker) started(n *node) { c.termsRose(n, &n.disk.durable) }

// stepped checks a step that has been taken; if it waits for the disk it has not
// taken effect yet.
func (c *checker) stepped(n *node, before *elector.Machine, x *elector.Execution) {
	c.step(n, before, x)
	c.vote(n, before)
	c.follows(n)
}

// published checks what has taken effect.
func (c *checker) published(n *node) {
	if n.machine.Role == memberstate.Leader {
		c.leads(n)
	}
}
