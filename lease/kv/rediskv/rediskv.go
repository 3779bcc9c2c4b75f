// Package rediskv keeps leases in Redis.
//
// Redis acknowledges before a replica, and by default before the disk, has what
// was written: after a failover or a crash a term may be given out twice. Set
// appendfsync to always where that matters, do not let it fail over by itself, and
// guard every write with the term in any case. A client that tries again by itself
// (MaxRetries) may be told that it lost what it has just won; it finds out at its
// next look. Have it heed contexts (ContextTimeoutEnabled), or a call that is given up
// lasts as long as the client's own time-outs.
//
// A Redis that evicts keys when its memory is full drops leases that are held, and so
// makes two leaders: see [KV.Check].
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
	checked atomic.Bool
}

var (
	_ kv.KV       = (*KV)(nil)
	_ lease.Waker = (*KV)(nil)
)

// New is a KV whose client is the caller's to close. Wake-ups go through the
// channel of that name.
func New(client redis.UniversalClient, channel string) *KV {
	return &KV{client: client, channel: channel}
}

// swap sets a key if it has the value that is expected.
var swap = redis.NewScript(`
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '1' and now ~= ARGV[2] or ARGV[1] == '0' and now then
	return 0
end
redis.call('SET', KEYS[1], ARGV[3])
return 1`)

// Get is as the contract says.
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
		if left != -2 { // it has not expired in between
			found[key] = kv.Entry{Value: value, Left: max(left, 0)}
		}
	}
	return found, nil
}

// Swap is as the contract says.
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
		n, err := a.Int()
		if err != nil {
			return nil, err
		}
		done[i] = n == 1
	}
	return done, nil
}

// Live is as the contract says. The first one checks whether Redis evicts keys, because
// these are the ones that any eviction policy may drop: see [KV.Check].
func (k *KV) Live(ctx context.Context, keys map[string]time.Duration) error {
	if !k.checked.Load() {
		if err := k.Check(ctx); err != nil {
			return err
		}
	}
	_, err := k.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, ttl := range keys {
			p.Do(ctx, "SET", key, "1", "PX", (ttl + time.Millisecond - 1).Milliseconds())
		}
		return nil
	})
	return err
}

// Keys is as the contract says. In a cluster every master has some of them.
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	var mu sync.Mutex
	found := map[string]bool{} // a scan may find a key twice
	err := k.each(ctx, func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, literally.Replace(prefix)+"*", 1000).Iterator()
		for keys.Next(ctx) {
			mu.Lock()
			found[keys.Val()] = true
			mu.Unlock()
		}
		return keys.Err()
	})
	return slices.Collect(maps.Keys(found)), err
}

// each asks every master.
func (k *KV) each(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch client := k.client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, do)
	case *redis.Ring:
		return client.ForEachShard(ctx, do)
	case *redis.Client:
		return do(ctx, client)
	default:
		return fmt.Errorf("rediskv: the masters behind a %T cannot be asked one by one", client)
	}
}

// literally has a text stand for itself in a pattern of Redis's.
var literally = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)

// Wake publishes the name of a released lease.
func (k *KV) Wake(ctx context.Context, name string) error {
	return k.client.Publish(ctx, k.channel, name).Err()
}

// Listen is subscribed until the context ends.
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
		case <-ctx.Done(): // reading itself does not look at it
			return ctx.Err()
		}
	}
}
