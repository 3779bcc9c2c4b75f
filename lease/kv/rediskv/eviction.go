// Eviction: a Redis whose memory is full may drop keys, the signs of life of those who hold
// leases, and with some policies the records themselves.

package rediskv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// EvictionError is the error of a Redis whose policy it is to evict keys when its memory
// is full.
type EvictionError struct{ Policy string }

func (e *EvictionError) Error() string {
	return fmt.Sprintf("rediskv: the maxmemory-policy of Redis is %q, by which it may drop leases that are held, and two would lead: set it to noeviction, in redis.conf or by CONFIG SET maxmemory-policy noeviction", e.Policy)
}

// Check returns an EvictionError if Redis evicts keys. It is nil, too, if Redis does not
// tell: the user may not be allowed to call INFO. No lease is taken or renewed before a
// check that found nothing wrong; a program that calls it when it starts can refuse to.
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

// policy is what Redis does when its memory is full; empty if it does not tell.
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
