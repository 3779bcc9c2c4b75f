// Eviction: a Redis whose memory is full may drop keys: the signs of life of lease holders and,
// with some policies, the records themselves.

package rediskv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// EvictionError is the error of a Redis that evicts keys when its memory is full.
type EvictionError struct{ Policy string }

func (e *EvictionError) Error() string {
	return fmt.Sprintf("rediskv: the maxmemory-policy of Redis is %q, so it may drop held leases, and two candidates would lead: set it to noeviction, in redis.conf or by CONFIG SET maxmemory-policy noeviction", e.Policy)
}

// Check returns an EvictionError if Redis evicts keys. It also returns nil if Redis does not
// say, because the user may not be allowed to call INFO. No lease is taken or renewed before a
// check has returned nil, and Redis is asked again every half minute while leases are, because it
// may have been configured anew. A program can call Check at its start, to fail early.
func (k *KV) Check(ctx context.Context) error {
	err := k.ask(ctx)
	k.note(err == nil)
	return err
}

// checkAgain is how often Redis is asked again.
const checkAgain = 30 * time.Second

// checkInTime checks if that was not done lately. Once a check has returned nil, only an answer counts, and
// half of the time of the call is the most that is waited for it: with several masters, one that is down must not
// end the leases of the others.
func (k *KV) checkInTime(ctx context.Context) error {
	last := k.checked.Load()
	if last == nil {
		return k.Check(ctx)
	}
	if time.Since(*last) < checkAgain {
		return nil
	}
	k.note(true)
	brief, cancel := context.WithTimeout(ctx, time.Second)
	if end, bounded := ctx.Deadline(); bounded {
		cancel()
		brief, cancel = context.WithTimeout(ctx, time.Until(end)/2)
	}
	defer cancel()
	err := k.ask(brief)
	if _, evicts := errors.AsType[*EvictionError](err); evicts {
		k.note(false)
		return err
	}
	return nil
}

// note notes that Redis was asked now, and may be used or not.
func (k *KV) note(fit bool) {
	if !fit {
		k.checked.Store(nil)
		return
	}
	now := time.Now()
	k.checked.Store(&now)
}

// ask asks every master.
func (k *KV) ask(ctx context.Context) error {
	return k.each(ctx, func(ctx context.Context, node *redis.Client) error {
		policy, err := policy(ctx, node)
		if err == nil && policy != "" && policy != "noeviction" {
			err = &EvictionError{policy}
		}
		return err
	})
}

// policy returns the eviction policy of Redis; empty if it does not say.
func policy(ctx context.Context, node *redis.Client) (string, error) {
	const field = "maxmemory_policy:"
	info, err := node.Info(ctx, "memory").Result()
	var refused redis.Error
	if errors.As(err, &refused) && !redis.HasErrorPrefix(err, "LOADING") {
		return "", nil
	}
	for line := range strings.Lines(info) {
		if policy, found := strings.CutPrefix(line, field); found {
			return strings.TrimSpace(policy), nil
		}
	}
	return "", err
}
