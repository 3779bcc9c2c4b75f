// Which reason an operator is told, and a patient drain goes by, when nobody takes over a group.

package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// failure is the error of a handover that voters were hindered in.
func failure(hindered ...Hindrance) error {
	failed := new(TransferError)
	for _, by := range hindered {
		failed.Obstacles = append(failed.Obstacles, Obstacle{Hindrance: by})
	}
	return fmt.Errorf("it failed: %w", failed)
}

func TestEachHindranceHasItsReason(t *testing.T) {
	for by, why := range map[Hindrance]Stuck{
		HinderedSilent: StuckNoVoter, HinderedUnanswered: StuckNoVoter, HinderedNotAsked: StuckNoVoter, HinderedNotAble: StuckNotAble,
		HinderedNotFollowing: StuckRefused, HinderedBehind: StuckBehind, HinderedNotPaused: StuckNotPaused, HinderedNotElected: StuckNotElected,
	} {
		assert.Equal(t, why, whyStuck(failure(by)), "%v", Obstacle{Hindrance: by})
	}
	assert.Equal(t, StuckNoVoter, whyStuck(failure()), "there is no other voter")
	assert.Equal(t, StuckBusy, whyStuck(ErrTransferInProgress), "an operator hands the group over already")
}

// What has to change for the group to be handed over is what keeps that voter from it.
func TestTheReasonIsThatOfTheVoterWhichCameNearest(t *testing.T) {
	order := []Hindrance{HinderedSilent, HinderedNotAble, HinderedNotFollowing, HinderedBehind, HinderedNotPaused, HinderedNotElected}
	for i, nearer := range order {
		for _, farther := range order[:i] {
			want := whyStuck(failure(nearer))
			assert.Equal(t, want, whyStuck(failure(nearer, farther)))
			assert.Equal(t, want, whyStuck(failure(farther, nearer)))
		}
	}
}
