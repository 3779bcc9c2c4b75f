// How far a search goes.

package nodes

import (
	"errors"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/explore"
)

// Bounds say how far a search goes.
type Bounds struct {
	// Members is how many nodes there are, 2 or 3. In each group all of them vote.
	Members int
	// Groups is how many groups they have, 1 or 2.
	Groups int
	// Terms is the largest term that a member adopts. The search begins in term 1.
	Terms int
	// Moments is how many moments there are, up to 6. From one to the next a heartbeat passes.
	Moments int
	// Calm is for how many moments after the election everything went well before the first moment, up to 6: with 0 the
	// leader has just sent its first heartbeats, after 2 bonds have been offered and taken, and after 4 it rests.
	Calm int
	// Ends, Inabilities, Waits and SlowDisks are how often a group drops out, at the first leader or at one follower:
	// it ends, and may join again; its member is not to lead, for a while, which a leader would hand over for, so it is a
	// follower's; a step of it waits for the ledger; or its node saves nothing for a while.
	Ends, Inabilities, Waits, SlowDisks int
	// Changes is how often an operator changes who should lead, at the first leader. Its bonds end then, and its office does not.
	Changes int
	// Leavings is how many ends of bonds a beat tells of, up to 4; 0: as many as fit in a packet, which are more than there are.
	Leavings int
	// LeaderRestarts and FollowerRestarts are how often the processes of the first leader and of one follower
	// restart.
	LeaderRestarts, FollowerRestarts int

	silent bool // no beat tells of departures, for tests
}

const (
	mostMembers = 3
	mostGroups  = 2
	mostTerms   = 4
	mostMoments = 6
	mostCalm    = 6
	mostTrouble = 3
	mostTold    = 4
)

// Check says what is wrong with the bounds.
func (b *Bounds) Check() error {
	return errors.Join(
		within("Members", b.Members, 2, mostMembers), within("Groups", b.Groups, 1, mostGroups), within("Terms", b.Terms, 1, mostTerms),
		within("Moments", b.Moments, 1, mostMoments), within("Calm", b.Calm, 0, mostCalm), within("Ends", b.Ends, 0, mostTrouble), within("Inabilities", b.Inabilities, 0, mostTrouble),
		within("Waits", b.Waits, 0, mostTrouble), within("SlowDisks", b.SlowDisks, 0, mostTrouble), within("Changes", b.Changes, 0, mostTrouble),
		within("Leavings", b.Leavings, 0, mostTold), within("LeaderRestarts", b.LeaderRestarts, 0, mostTrouble), within("FollowerRestarts", b.FollowerRestarts, 0, mostTrouble),
	)
}

// within says whether a number is too small, or too large.
func within(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("nodes: %s is %d, want %d to %d", name, n, least, most)
	}
	return nil
}

// heartbeat is how long a moment lasts.
const heartbeat = 100 * time.Millisecond

// timing is the shortest that is valid: a follower waits for two moments, and a lease lasts for more than one and
// less than two. All waits of candidates are shorter than a moment.
var timing = protocol.Timing{
	Heartbeat: heartbeat, Leak: 2, MinVoteWait: heartbeat / 10, MaxVoteWait: heartbeat / 5, RoundTimeout: heartbeat / 5, DriftMargin: heartbeat / 2,
}

// began is the time of the first moment. The group has been set up before.
const began = 100 * heartbeat

// at is the time of a moment.
func at(moment int) time.Duration { return began + time.Duration(moment)*heartbeat }

// moment is the moment of a time; before the first one it is negative.
func moment(t time.Duration) int { return int((t - began) / heartbeat) }

// Options configure a search.
type Options struct {
	Bounds
	// MaxStates ends the search; 0: no limit.
	MaxStates uint64
	// Progress, if not nil, is called now and then.
	Progress func(explore.Result)
}
