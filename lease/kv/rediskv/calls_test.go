package rediskv_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// node replaces a Redis that evicts nothing. It finds keys page by page.
type node struct {
	begin func(context.Context) error // called with the context of every round trip
	pages [][]string
	sent  []string // all commands of pipelines, and of Wake
	scans []string // the patterns of all pages that were asked for
}

func (n *node) DialHook(redis.DialHook) redis.DialHook {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, n.begin(ctx) }
}

func (n *node) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if err := n.begin(ctx); err != nil {
			c.SetErr(err)
			return err
		}
		switch c := c.(type) {
		case *redis.IntCmd:
			n.sent = append(n.sent, words(c))
		case *redis.StringCmd:
			c.SetVal("maxmemory_policy:noeviction\r\n")
		case *redis.ScanCmd:
			n.scans = append(n.scans, fmt.Sprint(c.Args()[3]))
			page, next := 0, uint64(0)
			if _, err := fmt.Sscan(fmt.Sprint(c.Args()[1]), &page); err != nil || page >= len(n.pages) {
				return errors.New("no such page")
			}
			if page+1 < len(n.pages) {
				next = uint64(page + 1)
			}
			c.SetVal(n.pages[page], next)
		}
		return nil
	}
}

func (n *node) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		for _, c := range all {
			n.sent = append(n.sent, words(c))
			if c, is := c.(*redis.Cmd); is {
				c.SetVal(int64(1))
			}
		}
		return n.begin(ctx)
	}
}

// words is a command with its arguments.
func words(c redis.Cmder) string { return strings.TrimSpace(fmt.Sprintln(c.Args()...)) }

// client makes a client of it.
func (n *node) client(options *redis.Options) *redis.Client {
	client := redis.NewClient(options)
	client.AddHook(n)
	return client
}

// over makes a KV over nodes: one Redis, a cluster, or a ring.
var over = map[string]func(t *testing.T, nodes ...*node) *rediskv.KV{
	"client": func(t *testing.T, nodes ...*node) *rediskv.KV {
		t.Helper()
		return opened(t, nodes[0].client(&redis.Options{}))
	},
	"cluster": func(t *testing.T, nodes ...*node) *rediskv.KV {
		t.Helper()
		options := &redis.ClusterOptions{NewClient: func(o *redis.Options) *redis.Client { return byAddress(nodes, o.Addr).client(o) }}
		options.ClusterSlots = func(context.Context) (slots []redis.ClusterSlot, err error) {
			for i := range nodes {
				slots = append(slots, redis.ClusterSlot{Start: i, End: i, Nodes: []redis.ClusterNode{{Addr: address(i)}}})
			}
			return slots, nil
		}
		return opened(t, redis.NewClusterClient(options))
	},
	"ring": func(t *testing.T, nodes ...*node) *rediskv.KV {
		t.Helper()
		options := &redis.RingOptions{Addrs: map[string]string{}, HeartbeatFn: func(context.Context, *redis.Client) bool { return true }}
		for i := range nodes {
			options.Addrs[address(i)] = address(i)
		}
		options.NewClient = func(o *redis.Options) *redis.Client { return byAddress(nodes, o.Addr).client(o) }
		return opened(t, redis.NewRing(options))
	},
}

func address(i int) string { return fmt.Sprintf("node:%d", i) }

func byAddress(nodes []*node, addr string) *node {
	for i, n := range nodes {
		if address(i) == addr {
			return n
		}
	}
	return nil
}

func opened(t *testing.T, client redis.UniversalClient) *rediskv.KV {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	return rediskv.New(client, "released")
}

// A round trip that fails, here because the context has ended, is the error of the method: what Redis has not answered
// must not be taken for refused or missing. No other round trip follows.
func TestTheFailureOfAnyRoundTripIsTheErrorOfTheMethod(t *testing.T) {
	for name, c := range map[string]struct {
		trips  int
		method func(ctx context.Context, k *rediskv.KV) (results int, err error)
	}{
		"get": {1, func(ctx context.Context, k *rediskv.KV) (int, error) {
			found, err := k.Get(ctx, []string{"key"})
			return len(found), err
		}},
		"swap": {1, func(ctx context.Context, k *rediskv.KV) (int, error) {
			done, err := k.Swap(ctx, []kv.Change{{Key: "key", New: []byte("new")}})
			return len(done), err
		}},
		"live": {2, func(ctx context.Context, k *rediskv.KV) (int, error) {
			return 0, k.Live(ctx, map[string]time.Duration{"key": time.Second})
		}},
		"keys": {3, func(ctx context.Context, k *rediskv.KV) (int, error) {
			_, err := k.Keys(ctx, "prefix")
			return 0, err
		}},
		"check": {1, func(ctx context.Context, k *rediskv.KV) (int, error) { return 0, k.Check(ctx) }},
		"wake":  {1, func(ctx context.Context, k *rediskv.KV) (int, error) { return 0, k.Wake(ctx, "g") }},
	} {
		for kind, open := range over {
			if kind != "client" && name != "keys" && name != "check" {
				continue // the client chooses the node
			}
			for answered := range c.trips {
				ctx, end := context.WithCancel(t.Context())
				trips := 0
				n := &node{pages: [][]string{{"a"}, {"b"}, {"c"}}}
				n.begin = func(ctx context.Context) error {
					if trips++; trips > answered {
						end()
					}
					return ctx.Err()
				}
				results, err := c.method(ctx, open(t, n))
				if !errors.Is(err, context.Canceled) || results != 0 {
					t.Errorf("%s, %s, round trip %d: %d results, error %v", kind, name, answered, results, err)
				}
				if trips != answered+1 {
					t.Errorf("%s, %s, round trip %d: %d round trips", kind, name, answered, trips)
				}
				end()
			}
		}
	}
}

// Every key is found once: each node has some of them, and a scan of one may find a key twice.
func TestTheKeysOfAllNodesAreFound(t *testing.T) {
	answers := func(context.Context) error { return nil }
	first, second := &node{begin: answers, pages: [][]string{{"a", "b"}, {}, {"b", "c"}}}, &node{begin: answers, pages: [][]string{{"d"}, {"e"}}}
	for kind, want := range map[string][]string{"client": {"a", "b", "c"}, "cluster": {"a", "b", "c", "d", "e"}, "ring": {"a", "b", "c", "d", "e"}} {
		found, err := over[kind](t, first, second).Keys(t.Context(), "")
		slices.Sort(found)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%s: %v, error %v", kind, found, err)
		}
	}
}

// Characters that mean something in a pattern of Redis may be in a prefix. It would find no leases otherwise, or those of
// others.
func TestAPrefixIsNoPattern(t *testing.T) {
	for prefix, want := range map[string]string{
		"app/": "app/*", "": "*", "app[1]/": `app\[1\]/*`, `a*[b]?\`: `a\*\[b\]\?\\*`,
	} {
		n := &node{begin: func(context.Context) error { return nil }, pages: [][]string{{"a"}, {"b"}}}
		if _, err := over["client"](t, n).Keys(t.Context(), prefix); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(n.scans, []string{want, want}) {
			t.Errorf("%q: %q, want %q twice", prefix, n.scans, want)
		}
	}
}

// A sign of life expires after its time or later: Redis counts milliseconds, so a part of one is rounded up.
func TestASignOfLifeLastsForWholeMilliseconds(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		time.Second:                      "1000",
		time.Second + 1:                  "1001",
		time.Second + time.Millisecond:   "1001",
		time.Second + time.Millisecond/2: "1001",
	} {
		n := &node{begin: func(context.Context) error { return nil }}
		if err := over["client"](t, n).Live(t.Context(), map[string]time.Duration{"key": ttl}); err != nil {
			t.Fatal(err)
		}
		if want = "SET key 1 PX " + want; !slices.Equal(n.sent, []string{want}) {
			t.Errorf("%v: %q, want %q", ttl, n.sent, want)
		}
	}
}

// A wake-up goes through the store's own channel.
func TestAWakeUpGoesThroughTheChannel(t *testing.T) {
	n := &node{begin: func(context.Context) error { return nil }}
	if err := over["client"](t, n).Wake(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"publish released g"}; !slices.Equal(n.sent, want) {
		t.Errorf("%q, want %q", n.sent, want)
	}
}

// Leases behind a client that hides its nodes could not be listed, and their eviction could not be checked.
func TestAClientThatHidesItsNodesIsRefused(t *testing.T) {
	k := rediskv.New(struct{ redis.UniversalClient }{}, "released")
	_, err := k.Keys(t.Context(), "")
	for _, err := range []error{err, k.Check(t.Context()), k.Live(t.Context(), map[string]time.Duration{"key": time.Second})} {
		if err == nil || !strings.Contains(err.Error(), "cannot reach the masters") {
			t.Errorf("the error is %v", err)
		}
	}
}

// A Listen that cannot reach Redis tries again until its context ends, and leaves no goroutine behind, which the bubble
// would report.
func TestListenEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		n := &node{begin: func(context.Context) error { return errors.New("nobody is there") }}
		began := time.Now()
		if err := over["client"](t, n).Listen(ctx, func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if lasted := time.Since(began); lasted != time.Minute {
			t.Errorf("it lasted for %v", lasted)
		}
		<-time.After(time.Second) // in which the client's goroutines end
	})
}

// The first attempt to reach Redis ends with the context, too.
func TestListenConnectsWithinItsContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var first sync.Once
	n := &node{begin: func(ctx context.Context) error {
		first.Do(func() {
			end()
			if ctx.Err() == nil {
				t.Error("it goes on")
			}
		})
		return errors.New("nobody is there")
	}}
	if err := over["client"](t, n).Listen(ctx, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// A client that was closed receives nothing more.
func TestListenEndsWithItsClient(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	err := rediskv.New(client, "released").Listen(t.Context(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "the subscription has ended") {
		t.Errorf("the error is %v", err)
	}
}
