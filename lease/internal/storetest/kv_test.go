package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/etcdkv"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

func openRedis(t testing.TB) kv.KV {
	t.Helper()
	return rediskv.New(dialRedis(t, given("HUSTINGS_TEST_REDIS")(t)), "released "+rand.Text())
}

// dialRedis makes a client as docs/lease.md recommends.
func dialRedis(t testing.TB, address string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func openEtcd(t testing.TB) kv.KV {
	t.Helper()
	return etcdkv.New(dialEtcd(t, startEtcd(t)), "released/"+rand.Text()+"/")
}

// startEtcd starts an etcd within the test, and returns its address.
func startEtcd(t testing.TB) (address string) {
	t.Helper()
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = t.TempDir(), "fatal", true
	anywhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = anywhere, anywhere
	server, err := embed.StartEtcd(config)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return server.Clients[0].Addr().String()
}

func dialEtcd(t testing.TB, address string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// A call that etcd has not answered must not be taken for a refused one: a holder would believe
// that its lease was taken away.
func TestACallThatEtcdDoesNotAnswerFails(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	store := etcdkv.New(client, "released/")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Get(ended, []string{"key"})
	require.ErrorIs(t, err, context.Canceled)
	for changes := 1; changes <= 2; changes++ {
		done, err := store.Swap(ended, make([]kv.Change, changes))
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, done)
	}
	require.ErrorIs(t, store.Live(ended, map[string]time.Duration{"key": time.Second}), context.Canceled)
}

// Of many changes exactly those are made whose conditions hold, and each answer is that of its
// own change.
func TestEachOfManyChangesIsMadeOrNot(t *testing.T) {
	for name, open := range map[string]func(testing.TB) kv.KV{"Redis": openRedis, "etcd": openEtcd} {
		t.Run(name, func(t *testing.T) {
			k, prefix := open(t), rand.Text()
			change := func(key, old, to string) kv.Change {
				c := kv.Change{Key: prefix + key, New: []byte(to)}
				if old != "" {
					c.Old = []byte(old)
				}
				return c
			}
			done, err := k.Swap(t.Context(), []kv.Change{change("a", "", "a1"), change("b", "", "b1"), change("c", "", "c1")})
			require.NoError(t, err)
			require.Equal(t, []bool{true, true, true}, done)
			done, err = k.Swap(t.Context(), []kv.Change{change("a", "a1", "a2"), change("b", "b0", "b2"), change("c", "c1", "c2"), change("d", "d0", "d1")})
			require.NoError(t, err)
			require.Equal(t, []bool{true, false, true, false}, done)
			found, err := k.Get(t.Context(), []string{prefix + "a", prefix + "b", prefix + "c", prefix + "d"})
			require.NoError(t, err)
			values := map[string]string{}
			for key, e := range found {
				values[key[len(prefix):]] = string(e.Value)
			}
			require.Equal(t, map[string]string{"a": "a2", "b": "b1", "c": "c2"}, values)
			done, err = k.Swap(t.Context(), []kv.Change{change("b", "b0", "b2")})
			require.NoError(t, err)
			require.Equal(t, []bool{false}, done)
		})
	}
}

// Keys of all lifetimes live, however many there are of each.
func TestManyKeysOfSeveralLifetimesLive(t *testing.T) {
	for name, open := range map[string]func(testing.TB) kv.KV{"Redis": openRedis, "etcd": openEtcd} {
		t.Run(name, func(t *testing.T) {
			k, prefix := open(t), rand.Text()
			var keys []string
			lives := map[string]time.Duration{}
			for i := range 900 {
				key := fmt.Sprint(prefix, i)
				keys = append(keys, key)
				lives[key] = time.Duration(1+i%3) * time.Minute
			}
			require.NoError(t, k.Live(t.Context(), lives))
			found, err := k.Get(t.Context(), keys)
			require.NoError(t, err)
			for _, key := range keys {
				e, lives := found[key], lives[key]
				require.NotEmpty(t, e.Value, "%s does not live", key)
				require.True(t, e.Left == lease.LeftUnknown || 0 < e.Left && e.Left <= lives, "%s lives for %v", key, e.Left)
			}
		})
	}
}
