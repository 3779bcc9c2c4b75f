// Conversion between Go types and the wire.

package operator

import (
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

var roles = []electorpb.Role{
	memberstate.Candidate: electorpb.Role_ROLE_CANDIDATE,
	memberstate.Follower:  electorpb.Role_ROLE_FOLLOWER,
	memberstate.Leader:    electorpb.Role_ROLE_LEADER,
	memberstate.Observer:  electorpb.Role_ROLE_OBSERVER,
}

var departures = []electorpb.Departure{
	0:                             electorpb.Departure_DEPARTURE_UNSPECIFIED,
	protocol.DepartedSilent:       electorpb.Departure_DEPARTURE_SILENT,
	protocol.DepartedDisconnected: electorpb.Departure_DEPARTURE_DISCONNECTED,
	protocol.DepartedOutvoted:     electorpb.Departure_DEPARTURE_OUTVOTED,
	protocol.DepartedHandedOver:   electorpb.Departure_DEPARTURE_HANDED_OVER,
	protocol.DepartedNoQuorum:     electorpb.Departure_DEPARTURE_NO_QUORUM,
	protocol.DepartedLeaseLapsed:  electorpb.Departure_DEPARTURE_LEASE_LAPSED,
	protocol.DepartedResigned:     electorpb.Departure_DEPARTURE_RESIGNED,
	protocol.DepartedRenewed:      electorpb.Departure_DEPARTURE_RENEWED,
	protocol.DepartedNotAble:      electorpb.Departure_DEPARTURE_NOT_ABLE,
}

var inabilities = []electorpb.Inability{
	protocol.Able:             electorpb.Inability_INABILITY_UNSPECIFIED,
	protocol.NotAbleOrdered:   electorpb.Inability_INABILITY_ORDERED,
	protocol.NotAbleUnhealthy: electorpb.Inability_INABILITY_UNHEALTHY,
	protocol.NotAbleSilent:    electorpb.Inability_INABILITY_SILENT,
	protocol.NotAbleDisk:      electorpb.Inability_INABILITY_DISK,
	protocol.NotAbleLedger:    electorpb.Inability_INABILITY_LEDGER,
	protocol.NotAblePause:     electorpb.Inability_INABILITY_PAUSE,
	protocol.NotAbleLead:      electorpb.Inability_INABILITY_LEAD,
	protocol.NotAbleHold:      electorpb.Inability_INABILITY_HOLD,
}

var hindrances = []electorpb.Hindrance{
	0:                             electorpb.Hindrance_HINDRANCE_UNSPECIFIED,
	protocol.HinderedSilent:       electorpb.Hindrance_HINDRANCE_SILENT,
	protocol.HinderedUnanswered:   electorpb.Hindrance_HINDRANCE_UNANSWERED,
	protocol.HinderedBehind:       electorpb.Hindrance_HINDRANCE_BEHIND,
	protocol.HinderedNotFollowing: electorpb.Hindrance_HINDRANCE_NOT_FOLLOWING,
	protocol.HinderedNotPaused:    electorpb.Hindrance_HINDRANCE_NOT_PAUSED,
	protocol.HinderedNotElected:   electorpb.Hindrance_HINDRANCE_NOT_ELECTED,
	protocol.HinderedNotAble:      electorpb.Hindrance_HINDRANCE_NOT_ABLE,
	protocol.HinderedNotAsked:     electorpb.Hindrance_HINDRANCE_NOT_ASKED,
}

// found converts a value from the wire; an unknown one, which a later version may have added,
// becomes zero.
func found[T ~uint8, W comparable](values []W, w W) T { return foundOr[T](values, w, 0) }

// foundOr does so, but another value stands for unknown ones.
func foundOr[T ~uint8, W comparable](values []W, w W, unknown T) T {
	if i := slices.Index(values, w); i >= 0 {
		return T(i)
	}
	return unknown
}

func encode(s elector.Status) *electorpb.Status {
	return &electorpb.Status{
		Group: s.Group, Node: s.Self, Role: roles[s.Role], Term: uint64(s.Term),
		Leader: s.Leader, Vote: s.Vote, Revision: s.Revision, Stopped: s.Stopped,
		LastLeader: s.LastLeader, Departure: departures[s.Departure], Inability: inabilities[s.Inability],
	}
}

func encodeReport(r elector.Report) *electorpb.Status {
	s := encode(r.Status)
	s.LeaseLeftNanos, s.QuorumAgeNanos = int64(r.Lease), int64(r.QuorumAge)
	s.LedgerTerm, s.LedgerIndex = uint64(r.Ledger.Term), r.Ledger.Index
	s.UnableNanos, s.Preferred, s.LastChoice = int64(r.Unable), r.Preferred, r.LastChoice
	return s
}

func decode(s *electorpb.Status) elector.Status {
	return elector.Status{
		Group: s.GetGroup(), Self: s.GetNode(), Role: found[memberstate.Role](roles, s.GetRole()), Term: memberstate.Term(s.GetTerm()),
		Leader: s.GetLeader(), Vote: s.GetVote(), Revision: s.GetRevision(), Stopped: s.GetStopped(),
		LastLeader: s.GetLastLeader(), Departure: found[elector.Departure](departures, s.GetDeparture()),
		Inability: found[elector.Inability](inabilities, s.GetInability()),
	}
}

func decodeReport(s *electorpb.Status) elector.Report {
	return elector.Report{
		Status: decode(s), Lease: time.Duration(s.GetLeaseLeftNanos()), QuorumAge: time.Duration(s.GetQuorumAgeNanos()),
		Ledger: memberstate.Position{Term: memberstate.Term(s.GetLedgerTerm()), Index: s.GetLedgerIndex()},
		Unable: time.Duration(s.GetUnableNanos()), Preferred: s.GetPreferred(), LastChoice: s.GetLastChoice(),
	}
}

// withReasons adds the reasons of a failed transfer to a status, if the error has them.
func withReasons(s *status.Status, err error) *status.Status {
	failed, is := errors.AsType[*elector.TransferError](err)
	if !is {
		return s
	}
	detail := &electorpb.TransferFailure{Group: failed.Group, Term: uint64(failed.Term)}
	for _, o := range failed.Obstacles {
		detail.Obstacles = append(detail.Obstacles, &electorpb.Obstacle{
			Voter: o.Voter, Hindrance: hindrances[o.Hindrance], LostNanos: int64(o.Lost), Cause: o.Cause,
			LedgerTerm: uint64(o.Ledger.Term), LedgerIndex: o.Ledger.Index, GoalTerm: uint64(o.Goal.Term), GoalIndex: o.Goal.Index,
		})
	}
	detailed, err := s.WithDetails(detail)
	if err != nil {
		return s // its text says the same
	}
	return detailed
}

// reasons returns the reasons of a failed transfer from a status; nil if it has none.
func reasons(s *status.Status) *elector.TransferError {
	for _, d := range s.Details() {
		detail, is := d.(*electorpb.TransferFailure)
		if !is {
			continue
		}
		failed := &elector.TransferError{Group: detail.GetGroup(), Term: memberstate.Term(detail.GetTerm())}
		for _, o := range detail.GetObstacles() {
			failed.Obstacles = append(failed.Obstacles, protocol.Obstacle{
				Voter: o.GetVoter(), Hindrance: found[protocol.Hindrance](hindrances, o.GetHindrance()),
				Lost: time.Duration(o.GetLostNanos()), Cause: o.GetCause(),
				Ledger: memberstate.Position{Term: memberstate.Term(o.GetLedgerTerm()), Index: o.GetLedgerIndex()},
				Goal:   memberstate.Position{Term: memberstate.Term(o.GetGoalTerm()), Index: o.GetGoalIndex()},
			})
		}
		return failed
	}
	return nil
}
