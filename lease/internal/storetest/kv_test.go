package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// A call that etcd has not answered must not be taken for a refused one: a holder would believe that its lease was
// taken away. So the failure of any call is the error of the method, and no other call follows.
func TestACallThatEtcdDoesNotAnswerFails(t *testing.T) {
	for name, c := range map[string]struct {
		calls  int
		method func(ctx context.Context, k *etcdkv.KV) (results int, err error)
	}{
		"get": {2, func(ctx context.Context, k *etcdkv.KV) (int, error) {
			found, err := k.Get(ctx, make([]string, 129)) // one more than etcd takes at once
			return len(found), err
		}},
		"swap one": {1, func(ctx context.Context, k *etcdkv.KV) (int, error) {
			done, err := k.Swap(ctx, make([]kv.Change, 1))
			return len(done), err
		}},
		"swap two": {3, func(ctx context.Context, k *etcdkv.KV) (int, error) {
			done, err := k.Swap(ctx, make([]kv.Change, 2)) // together, and then one by one
			return len(done), err
		}},
		"live": {4, func(ctx context.Context, k *etcdkv.KV) (int, error) {
			return 0, k.Live(ctx, map[string]time.Duration{"key": time.Second, "other": time.Minute})
		}},
		"keys": {1, func(ctx context.Context, k *etcdkv.KV) (int, error) {
			found, err := k.Keys(ctx, "prefix")
			return len(found), err
		}},
		"wake": {1, func(ctx context.Context, k *etcdkv.KV) (int, error) { return 0, k.Wake(ctx, "g") }},
	} {
		for answered := range c.calls + 1 {
			ctx, end := context.WithCancel(t.Context())
			calls := 0
			client := clientv3.NewCtxClient(t.Context())
			mute := muteEtcd{begin: func(ctx context.Context) error {
				if calls++; calls > answered {
					end()
				}
				return ctx.Err()
			}}
			client.KV, client.Lease = mute, mute
			results, err := c.method(ctx, etcdkv.New(client, "released/"))
			if answered == c.calls {
				require.NoError(t, err, name)
			} else {
				require.ErrorIs(t, err, context.Canceled, "%s: call %d", name, answered)
				assert.Zero(t, results, "%s: call %d", name, answered)
			}
			assert.Equal(t, min(answered+1, c.calls), calls, "%s: calls", name)
			end()
		}
	}
}

// muteEtcd replaces an etcd: it has no keys and refuses all changes. begin is called with the context of every call.
type muteEtcd struct {
	clientv3.KV
	clientv3.Lease
	begin func(context.Context) error
	grant func(seconds int64) // nil: nobody notes it
	then  func([]clientv3.Op) // the same for the operations of a transaction
}

func (m muteEtcd) Get(ctx context.Context, _ string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return new(clientv3.GetResponse), m.begin(ctx)
}

func (m muteEtcd) Put(ctx context.Context, _, _ string, _ ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return new(clientv3.PutResponse), m.begin(ctx)
}

func (m muteEtcd) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	if m.grant != nil {
		m.grant(seconds)
	}
	return new(clientv3.LeaseGrantResponse), m.begin(ctx)
}

func (m muteEtcd) Txn(ctx context.Context) clientv3.Txn {
	return muteTxn{begin: func() error { return m.begin(ctx) }, then: m.then}
}

type muteTxn struct {
	clientv3.Txn
	begin func() error
	then  func([]clientv3.Op)
}

func (m muteTxn) If(...clientv3.Cmp) clientv3.Txn { return m }

func (m muteTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	if m.then != nil {
		m.then(ops)
	}
	return m
}

func (m muteTxn) Commit() (*clientv3.TxnResponse, error) { return new(clientv3.TxnResponse), m.begin() }

// A sign of life expires after its time or later: etcd counts seconds, so a part of one is rounded up. Otherwise others would
// take the lease of a holder that still believes in it.
func TestASignOfLifeInEtcdLastsForWholeSeconds(t *testing.T) {
	for ttl, want := range map[time.Duration]int64{
		time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, 2 * time.Second: 2, 2900 * time.Millisecond: 3,
	} {
		var granted []int64
		client := clientv3.NewCtxClient(t.Context())
		mute := muteEtcd{begin: context.Context.Err, grant: func(seconds int64) { granted = append(granted, seconds) }}
		client.KV, client.Lease = mute, mute
		require.NoError(t, etcdkv.New(client, "released/").Live(t.Context(), map[string]time.Duration{"key": ttl}))
		assert.Equal(t, []int64{want}, granted, ttl)
	}
}

// A read is linearizable: a member of etcd that lags does not answer it from its own copy, in which a lease may be free that is
// held.
func TestAReadOfEtcdIsUpToDate(t *testing.T) {
	var asked []clientv3.Op
	client := clientv3.NewCtxClient(t.Context())
	client.KV = muteEtcd{begin: context.Context.Err, then: func(ops []clientv3.Op) { asked = append(asked, ops...) }}
	_, err := etcdkv.New(client, "released/").Get(t.Context(), []string{"record", "life"})
	require.NoError(t, err)
	require.Len(t, asked, 2)
	for _, op := range asked {
		assert.False(t, op.IsSerializable(), "%s", op.KeyBytes())
	}
}

// A watch that etcd cancels ends Listen with the reason, which the keeper logs. It leaves no watch behind.
func TestAWatchThatEtcdCancelsEndsListen(t *testing.T) {
	client := clientv3.NewCtxClient(t.Context())
	watching := context.Context(nil)
	client.Watcher = cancelling{begin: func(ctx context.Context) { watching = ctx }}
	err := etcdkv.New(client, "released/").Listen(t.Context(), func(string) {})
	require.ErrorIs(t, err, rpctypes.ErrCompacted)
	assert.ErrorIs(t, watching.Err(), context.Canceled)
}

// A member of etcd that is cut off from its leader says nothing, unless it was told to end the watch then.
func TestAWatchNeedsAMemberWithALeader(t *testing.T) {
	asked := make(chan string, 1)
	etcd := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get(rpctypes.MetadataRequireLeaderKey)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "9") // it must not be asked again
	}))
	etcd.Config.Protocols = new(http.Protocols)
	etcd.Config.Protocols.SetUnencryptedHTTP2(true)
	etcd.Start()
	t.Cleanup(etcd.Close)
	client := dialEtcd(t, etcd.Listener.Addr().String())
	require.Error(t, etcdkv.New(client, "released/").Listen(t.Context(), func(string) {}))
	assert.Equal(t, "/etcdserverpb.Watch/Watch "+rpctypes.MetadataHasLeader, <-asked)
}

// cancelling replaces an etcd that cancels every watch.
type cancelling struct {
	clientv3.Watcher
	begin func(context.Context)
}

func (c cancelling) Watch(ctx context.Context, _ string, _ ...clientv3.OpOption) clientv3.WatchChan {
	c.begin(ctx)
	answers := make(chan clientv3.WatchResponse, 2)
	answers <- clientv3.WatchResponse{Created: true}
	answers <- clientv3.WatchResponse{Canceled: true, CompactRevision: 1}
	close(answers)
	return answers
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
				assert.LessOrEqual(t, e.Left, time.Duration(0), "a key that was swapped expires")
			}
			require.Equal(t, map[string]string{"a": "a2", "b": "b1", "c": "c2"}, values)
			done, err = k.Swap(t.Context(), []kv.Change{change("b", "b0", "b2")})
			require.NoError(t, err)
			require.Equal(t, []bool{false}, done)
		})
	}
}

// Keys of all lifetimes live and are listed, however many there are of each.
func TestManyKeysOfSeveralLifetimesLive(t *testing.T) {
	for name, open := range map[string]func(testing.TB) kv.KV{"Redis": openRedis, "etcd": openEtcd} {
		t.Run(name, func(t *testing.T) {
			k, prefix := open(t), rand.Text()
			var keys []string
			lives := map[string]time.Duration{}
			for i := range 1500 {
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
			listed, err := k.Keys(t.Context(), prefix)
			require.NoError(t, err)
			assert.ElementsMatch(t, keys, listed)
		})
	}
}
