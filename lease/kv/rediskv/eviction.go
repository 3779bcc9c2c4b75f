// Eviction: a Redis whose memory is full may drop keys: the signs of life of lease holders and,
// with some policies, the records themselves.

package rediskv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// EvictionError is the error of a Redis that evicts keys when its memory is full.
type EvictionError struct{ Policy string }

func (e *EvictionError) Error() string {
	return fmt.Sprintf("rediskv: the maxmemory-policy of Redis is %q, so it may drop held leases, and two candidates would lead: set it to noeviction, in redis.conf or by CONFIG SET maxmemory-policy noeviction", e.Policy)
}

// Check returns an EvictionError if Redis evicts keys. It also returns nil if Redis does not
// say, because the user may not be allowed to call INFO. No lease is taken or renewed before a
// check has returned nil. A program can call Check at its start, to fail early.
func (k *KV) Check(ctx context.Context) error {
	err := k.each(ctx, func(ctx context.Context, node *redis.Client) error {
		policy, err := policy(ctx, node)
		if err == nil && policy != "" && policy != "noeviction" {
			err = &EvictionError{policy}
		}
		return err
	})
	k.checked.Store(err == nil)
	return err
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
