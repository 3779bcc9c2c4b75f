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
	waking
	listening // has no lane: one is under way all the time
	kindCount
)

// newLanes bounds the calls of each kind. More than one read or renewal is under
// way only if the database does not answer.
func newLanes() [kindCount]lane {
	return [kindCount]lane{
		reading: make(lane, 4), claiming: make(lane, maxClaims), renewing: make(lane, 4), releasing: make(lane, maxClaims), waking: make(lane, maxClaims),
	}
}

// maxClaims bounds the claims under way, the releases, and the wake-ups.
const maxClaims = 8

// errBusy: earlier calls have not returned, though their time is up.
var errBusy = errors.New("too many earlier calls have not returned")

// enter waits for a place, no longer than patience. One that is free is had in any case.
func (l lane) enter(patience time.Duration) bool {
	select {
	case l <- struct{}{}:
		return true
	default:
	}
	if patience <= 0 {
		return false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// call has the store do something, after a wait for its turn that is no longer than
// patience, and returns when it is done or when its time is up. A call that was given
// up goes on in its goroutine until the store returns, and what it brings is not
// looked at.
func call[T any](k *Keeper, lane lane, patience time.Duration, do func(ctx context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if !lane.enter(patience) {
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
