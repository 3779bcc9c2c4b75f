// The conditions that a campaign must meet. If it does not, its faults were too mild to show
// anything.

package simulation

import (
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Condition is a situation that the protocol must cope with.
type Condition uint8

// The conditions.
const (
	// PreVoteLost: a pre-vote was refused, and changed nothing.
	PreVoteLost Condition = iota
	// VoteLost: a round of votes was lost, for example because the vote was split.
	VoteLost
	// AskedAgain: a round was repeated at once, because some members were not ready.
	AskedAgain
	// TermTooSmall: a round was lost to a larger term.
	TermTooSmall
	// LeaderDeposed: a leader learnt of a larger term.
	LeaderDeposed
	// LeaderSilenced: a leader stepped down in its own term, because it had no quorum or
	// because it resigned.
	LeaderSilenced
	// HandedOver: a leader was elected to which the previous one had handed over.
	HandedOver
	// LeaseLapsed: a lease ran out under a leader.
	LeaseLapsed
	// VoteSurvived: a process restarted in a term in which it had voted.
	VoteSurvived
	// SavedTogether: one save had records of several groups.
	SavedTogether
	// SentTogether: one packet had messages of several groups.
	SentTogether

	conditions
)

var conditionNames = [conditions]string{
	"pre-vote lost", "vote lost", "asked again", "term too small", "leader deposed", "leader silenced",
	"handed over", "lease lapsed", "vote survived a restart",
	"several groups saved at once", "several groups in one packet",
}

// String names the condition.
func (c Condition) String() string {
	if c < conditions {
		return conditionNames[c]
	}
	return "unknown condition"
}

// Conditions lists all there are.
func Conditions() []Condition { return allBelow[Condition](conditions) }

// met counts a condition.
func (w *world) met(c Condition) { w.conditions[c]++ }

// judged counts how a round ended.
func (w *world) judged(asked rpc.Mark, judged elector.Judgement) {
	switch judged {
	case protocol.Passed:
		if asked == rpc.Handed {
			w.met(HandedOver)
		}
		return
	case protocol.RevoteImmediately:
		w.met(AskedAgain)
	case protocol.WaitToVoteNext:
		w.met(TermTooSmall)
	case protocol.WaitToRevote: // counted below
	}
	if asked == rpc.PreVote {
		w.met(PreVoteLost)
	} else {
		w.met(VoteLost)
	}
}

// withdrew counts how an office ended.
func (w *world) withdrew(n *member) {
	if n.group.State().Term > n.engine.Leading && n.engine.Leading > 0 {
		w.met(LeaderDeposed)
	} else {
		w.met(LeaderSilenced)
	}
}

// restarted counts a vote that outlived its process.
func (w *world) restarted(n *node) {
	for _, hard := range n.disk.Durable {
		if n.Incarnation > 1 && hard.Vote != memberstate.Nobody {
			w.met(VoteSurvived)
		}
	}
}
