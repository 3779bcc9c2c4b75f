// Calling the store: nobody waits longer than the time-out, whatever a driver
// does, and renewals wait for nobody else.

package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lane holds one for every call of a kind that is under way, including those that
// were given up but have not returned.
type lane chan struct{}

const (
	reading = iota
	claiming
	renewing
	releasing
	laneCount
)

// newLanes bounds the calls of each kind. More than one read or renewal is under
// way only if the database does not answer.
func newLanes() [laneCount]lane {
	return [laneCount]lane{
		reading: make(lane, 4), claiming: make(lane, maxClaims), renewing: make(lane, 4), releasing: make(lane, maxClaims),
	}
}

// maxClaims bounds the claims, and the releases, under way.
const maxClaims = 8

// errBusy: earlier calls have not returned, though their time is up.
var errBusy = errors.New("too many earlier calls have not returned")

// call has the store do something, and returns when it is done or when its time
// is up. A call that was given up goes on in its goroutine until the store
// returns, and what it brings is not looked at.
func call[T any](k *Keeper, lane lane, do func(ctx context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	timer := time.NewTimer(k.config.Timing.Timeout)
	defer timer.Stop()
	select {
	case lane <- struct{}{}:
	case <-timer.C:
		return none, errBusy
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.config.Timing.Timeout)
	defer cancel()
	answers := make(chan answer, 1)
	k.working.Go(func() {
		value, err := do(ctx)
		<-lane
		answers <- answer{value, err}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("no answer: %w", ctx.Err())
	}
}
