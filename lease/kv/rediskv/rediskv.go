// Package rediskv keeps leases in Redis.
//
// Redis acknowledges a write before a replica has it and, by default, before the disk has it:
// after a failover or a crash a term may be given out twice. If that matters, set appendfsync
// to always and disable automatic failover; in any case fence every write with the term. A
// client that retries by itself (MaxRetries) may report a claim as lost that it has just won;
// the candidate notices at its next poll. Set ContextTimeoutEnabled, because otherwise a call
// that is given up lasts as long as the client's own time-outs.
//
// A Redis that evicts keys when its memory is full drops held leases, and so makes two
// leaders: see [KV.Check].
package rediskv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
)

// KV is a [kv.KV] in Redis, and a [lease.Waker].
type KV struct {
	client  redis.UniversalClient
	channel string
	checked atomic.Pointer[time.Time] // when Redis was last asked whether it evicts keys; nil: it does, or has not said yet
}

var (
	_ kv.KV       = (*KV)(nil)
	_ lease.Waker = (*KV)(nil)
)

// New makes a KV. The caller closes the client. Wake-ups go through the named channel.
func New(client redis.UniversalClient, channel string) *KV {
	return &KV{client: client, channel: channel}
}

// swap sets a key if it has the expected value.
var swap = redis.NewScript(`
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '1' and now ~= ARGV[2] or ARGV[1] == '0' and now then
	return 0
end
redis.call('SET', KEYS[1], ARGV[3])
return 1`)

// Get implements [kv.KV].
func (k *KV) Get(ctx context.Context, keys []string) (map[string]kv.Entry, error) {
	values, lefts := make([]*redis.StringCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	_, err := k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			values[i], lefts[i] = p.Get(ctx, key), p.PTTL(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	found := make(map[string]kv.Entry, len(keys))
	for i, key := range keys {
		value, err := values[i].Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		left, leftErr := lefts[i].Result()
		if err = errors.Join(err, leftErr); err != nil {
			return nil, err
		}
		if left == -2 { // it has expired between the two commands
			continue
		}
		if left == 0 { // it lasts for less than a millisecond
			left = lease.LeftUnknown
		}
		found[key] = kv.Entry{Value: value, Left: left}
	}
	return found, nil
}

// Swap implements [kv.KV].
func (k *KV) Swap(ctx context.Context, changes []kv.Change) ([]bool, error) {
	answers := make([]*redis.Cmd, len(changes))
	_, err := k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range changes {
			expected := "1"
			if c.Old == nil {
				expected = "0"
			}
			answers[i] = swap.Eval(ctx, p, []string{c.Key}, expected, c.Old, c.New)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	done := make([]bool, len(changes))
	for i, a := range answers {
		n, _ := a.Int() // its error would be that of the pipeline
		done[i] = n == 1
	}
	return done, nil
}

// Live implements [kv.KV]. It checks first whether Redis evicts keys, because every
// eviction policy may drop these: see [KV.Check].
func (k *KV) Live(ctx context.Context, keys map[string]time.Duration) error {
	if err := k.checkInTime(ctx); err != nil {
		return err
	}
	_, err := k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, ttl := range keys {
			p.Do(ctx, "SET", key, "1", "PX", (ttl + time.Millisecond - 1).Milliseconds())
		}
		return nil
	})
	return err
}

// Keys implements [kv.KV]. In a cluster every master has some of the keys.
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	var mu sync.Mutex
	found := map[string]struct{}{} // a scan may find a key twice
	err := k.each(ctx, func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, literally.Replace(prefix)+"*", 1000).Iterator()
		for keys.Next(ctx) {
			mu.Lock()
			found[keys.Val()] = struct{}{}
			mu.Unlock()
		}
		return keys.Err()
	})
	return slices.Collect(maps.Keys(found)), err
}

// each calls do with every master.
func (k *KV) each(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch client := k.client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, do)
	case *redis.Ring:
		return client.ForEachShard(ctx, do)
	case *redis.Client:
		return do(ctx, client)
	default:
		return fmt.Errorf("rediskv: cannot reach the masters behind a %T one by one", client)
	}
}

// literally escapes a text for a pattern of Redis.
var literally = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)

// Wake publishes the name of a released lease.
func (k *KV) Wake(ctx context.Context, name string) error {
	return k.client.Publish(ctx, k.channel, name).Err()
}

// Listen subscribes to the channel until the context ends.
func (k *KV) Listen(ctx context.Context, woken func(name string)) (err error) {
	s := k.client.Subscribe(ctx, k.channel)
	defer func() { err = errors.Join(err, s.Close()) }()
	messages := s.Channel()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return errors.New("rediskv: the subscription has ended")
			}
			woken(m.Payload)
		case <-ctx.Done(): // because the channel does not end with it
			return ctx.Err()
		}
	}
}
