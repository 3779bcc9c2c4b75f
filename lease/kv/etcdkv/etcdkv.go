// Package etcdkv keeps leases in etcd.
//
// etcd rounds an expiry up to whole seconds, and to the duration of its own elections, so a
// crashed leader is replaced later than its TTL says. Strict candidates use their own clocks
// and are not delayed.
package etcdkv

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
)

// KV is a [kv.KV] in etcd, and a [lease.Waker].
type KV struct {
	client *clientv3.Client
	wakes  string
}

var (
	_ kv.KV       = (*KV)(nil)
	_ lease.Waker = (*KV)(nil)
)

// New makes a KV. The caller closes the client. wakes is the prefix of the keys for wake-ups.
func New(client *clientv3.Client, wakes string) *KV { return &KV{client, wakes} }

// maxOps is how many operations etcd takes in one transaction by default.
const maxOps = 128

// Get implements [kv.KV].
func (k *KV) Get(ctx context.Context, keys []string) (map[string]kv.Entry, error) {
	found := make(map[string]kv.Entry, len(keys))
	for batch := range slices.Chunk(keys, maxOps) {
		ops := make([]clientv3.Op, len(batch))
		for i, key := range batch {
			ops[i] = clientv3.OpGet(key)
		}
		answer, err := k.client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, err
		}
		for _, r := range answer.Responses {
			for _, e := range r.GetResponseRange().Kvs {
				entry := kv.Entry{Value: e.Value}
				if e.Lease != 0 {
					entry.Left = lease.LeftUnknown // because the time left would need another request for each
				}
				found[string(e.Key)] = entry
			}
		}
	}
	return found, nil
}

// Swap implements [kv.KV]. Changes whose conditions all hold take one transaction; if one does
// not hold, they are made one by one.
func (k *KV) Swap(ctx context.Context, changes []kv.Change) ([]bool, error) {
	done := make([]bool, 0, len(changes))
	for batch := range slices.Chunk(changes, maxOps) {
		all, err := k.swap(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i := range batch {
			one := all
			if !all && len(batch) > 1 {
				if one, err = k.swap(ctx, batch[i:i+1]); err != nil {
					return nil, err
				}
			}
			done = append(done, one)
		}
	}
	return done, nil
}

// swap makes all changes or none.
func (k *KV) swap(ctx context.Context, changes []kv.Change) (bool, error) {
	conditions, puts := make([]clientv3.Cmp, len(changes)), make([]clientv3.Op, len(changes))
	for i, c := range changes {
		conditions[i] = clientv3.Compare(clientv3.Value(c.Key), "=", string(c.Old))
		if c.Old == nil {
			conditions[i] = clientv3.Compare(clientv3.CreateRevision(c.Key), "=", 0)
		}
		puts[i] = clientv3.OpPut(c.Key, string(c.New))
	}
	answer, err := k.client.Txn(ctx).If(conditions...).Then(puts...).Commit()
	if err != nil {
		return false, err
	}
	return answer.Succeeded, nil
}

// Live implements [kv.KV]. Keys with the same TTL share a lease of etcd, a new one each time,
// because an old one would also keep other keys alive.
func (k *KV) Live(ctx context.Context, keys map[string]time.Duration) error {
	byTTL := map[int64][]clientv3.Op{}
	grants := map[int64]clientv3.LeaseID{}
	for key, ttl := range keys {
		seconds := int64((ttl + time.Second - 1) / time.Second)
		id, ok := grants[seconds]
		if !ok {
			g, err := k.client.Grant(ctx, seconds)
			if err != nil {
				return fmt.Errorf("etcdkv: granting %d s: %w", seconds, err)
			}
			id = g.ID
			grants[seconds] = id
		}
		byTTL[seconds] = append(byTTL[seconds], clientv3.OpPut(key, "1", clientv3.WithLease(id)))
	}
	for _, puts := range byTTL {
		for batch := range slices.Chunk(puts, maxOps) {
			if _, err := k.client.Txn(ctx).Then(batch...).Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keys implements [kv.KV].
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	answer, err := k.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(answer.Kvs))
	for i, e := range answer.Kvs {
		keys[i] = string(e.Key)
	}
	return keys, nil
}

// Wake puts the key of a released lease.
func (k *KV) Wake(ctx context.Context, name string) error {
	_, err := k.client.Put(ctx, k.wakes+name, "")
	return err
}

// Listen watches the keys of released leases until the context ends.
func (k *KV) Listen(ctx context.Context, woken func(name string)) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for answer := range k.client.Watch(clientv3.WithRequireLeader(watching), k.wakes, clientv3.WithPrefix()) {
		if err := answer.Err(); err != nil {
			return err
		}
		for _, event := range answer.Events {
			woken(strings.TrimPrefix(string(event.Kv.Key), k.wakes))
		}
	}
	return ctx.Err()
}
