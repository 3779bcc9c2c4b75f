// The faults besides the leader that dies.

package failover

import "fmt"

// Scenario is one situation in which a leader dies.
type Scenario struct {
	Members int
	// Delay of every message, in detection times.
	Delay float64
	// Dead says that one follower has never started.
	Dead bool
	// Behind says that one follower's ledger lacks an entry that the others have.
	Behind bool
	// Loss is the share of messages that is lost.
	Loss float64
}

// String names the scenario for the table.
func (s Scenario) String() string { return s.kind() + ", " + s.shape() }

// kind names the fault.
func (s Scenario) kind() string {
	switch {
	case s.Dead:
		return "one more dead"
	case s.Behind:
		return "one ledger behind"
	case s.Loss > 0:
		return fmt.Sprintf("%.0f %% lost", 100*s.Loss)
	default:
		return "silent crash"
	}
}

// shape describes the group.
func (s Scenario) shape() string {
	if s.Delay == 0 {
		return fmt.Sprintf("%d members, no delay", s.Members)
	}
	return fmt.Sprintf("%d members, delay T/%.0f", s.Members, 1/s.Delay)
}

// Every scenario is measured with these sizes and delays.
var (
	sizes  = []int{3, 5, 7, 9}
	delays = []float64{0, 0.01, 0.1}
)

// Scenarios returns all scenarios.
func Scenarios() (all []Scenario) {
	for _, with := range []Scenario{{}, {Dead: true}, {Behind: true}, {Loss: 0.01}, {Loss: 0.1}} {
		for _, n := range sizes {
			for _, d := range delays {
				s := with
				s.Members, s.Delay = n, d
				if !s.Dead || n > 3 { // because with three members two dead ones leave no quorum
					all = append(all, s)
				}
			}
		}
	}
	return all
}
