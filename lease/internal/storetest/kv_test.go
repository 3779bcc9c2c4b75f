package storetest

import (
	"crypto/rand"
	"net/url"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/etcdkv"
	"github.com/hustings/hustings/lease/kv/rediskv"
	"github.com/hustings/hustings/lease/leasetest"
)

func openRedis(t *testing.T) kv.KV {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: given("HUSTINGS_TEST_REDIS")(t), MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return rediskv.New(client, "released "+rand.Text())
}

func openEtcd(t *testing.T) kv.KV {
	t.Helper()
	return etcdkv.New(dialEtcd(t, startEtcd(t)), "released/"+rand.Text()+"/")
}

// startEtcd starts one within the test, and says where it listens.
func startEtcd(t *testing.T) (address string) {
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

func dialEtcd(t *testing.T, address string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestKeyValueStores(t *testing.T) {
	for name, open := range map[string]func(*testing.T) kv.KV{"Redis": openRedis, "etcd": openEtcd} {
		t.Run(name, func(t *testing.T) {
			store, err := kv.New(open(t), rand.Text()+"/")
			require.NoError(t, err)
			leasetest.Run(t, leasetest.Subject{Store: store, Coarse: name == "etcd"})
		})
	}
}
