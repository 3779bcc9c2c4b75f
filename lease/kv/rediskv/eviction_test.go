package rediskv_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// server replaces Redis: it returns an eviction policy, and counts writes.
type server struct {
	info   string
	err    error         // of INFO
	takes  time.Duration // to answer it
	asked  int           // for INFO
	writes int
}

func (s *server) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("nobody needs a connection")
	}
}

func (s *server) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		info, is := c.(*redis.StringCmd)
		if !is || info.Name() != "info" {
			return errors.New("unexpected: " + c.String())
		}
		s.asked++
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return ctx.Err()
		}
		info.SetVal(s.info)
		info.SetErr(s.err)
		return s.err
	}
}

func (s *server) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, all []redis.Cmder) error {
		for _, c := range all {
			switch c := c.(type) {
			case *redis.StringCmd: // GET
				c.SetErr(redis.Nil)
			case *redis.Cmd:
				c.SetVal(int64(1))
				s.writes++
			}
		}
		return nil
	}
}

// refusal is an error that Redis answers with.
type refusal string

func (r refusal) Error() string { return string(r) }
func (r refusal) RedisError()   {}

// If Redis may drop expiring keys early, nothing is written, so that no candidate leads. Once
// Redis has said that it does not, it is not asked again at once. A Redis that does not say is trusted.
func TestARedisThatEvictsKeepsNoLeases(t *testing.T) {
	const head = "# Memory\r\nused_memory:1\r\nmaxmemory:0\r\n"
	down := errors.New("connection refused")
	for name, c := range map[string]struct {
		server  server
		evicts  string
		refused error
	}{
		"noeviction":   {server: server{info: head + "maxmemory_policy:noeviction\r\nx:y\r\n"}},
		"volatile-lru": {server: server{info: head + "maxmemory_policy:volatile-lru\r\nx:y\r\n"}, evicts: "volatile-lru"},
		"allkeys-lfu":  {server: server{info: head + "maxmemory_policy:allkeys-lfu\r\n"}, evicts: "allkeys-lfu"},
		"silent":       {server: server{info: head}},
		"not allowed":  {server: server{err: refusal("NOPERM this user has no permissions to run the INFO command")}},
		"loading":      {server: server{err: refusal("LOADING Redis is loading the dataset in memory")}, refused: refusal("LOADING Redis is loading the dataset in memory")},
		"down":         {server: server{err: down}, refused: down},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{})
			defer func() { _ = client.Close() }()
			client.AddHook(&c.server)
			store, err := kv.New(rediskv.New(client, "released"), "lease/")
			if err != nil {
				t.Fatal(err)
			}
			claim := lease.Claim{Name: "g", Holder: "a#1", TTL: time.Second}
			for range 2 {
				won, err := store.Acquire(t.Context(), claim)
				var evicts *rediskv.EvictionError
				switch {
				case c.evicts != "":
					if !errors.As(err, &evicts) || evicts.Policy != c.evicts || !strings.Contains(err.Error(), "noeviction") {
						t.Errorf("the error is %v", err)
					}
				case c.refused != nil:
					if !errors.Is(err, c.refused) {
						t.Errorf("the error is %v", err)
					}
				case err != nil || !won:
					t.Errorf("it was not acquired: %v", err)
				}
			}
			bad := c.evicts != "" || c.refused != nil
			if (c.server.writes == 0) != bad {
				t.Errorf("%d writes", c.server.writes)
			}
			if asked := map[bool]int{false: 1, true: 2}[bad]; c.server.asked != asked {
				t.Errorf("it was asked %d times, not %d", c.server.asked, asked)
			}
		})
	}
}

// A program may check again. Then the last answer counts, as Redis may have been configured anew.
func TestTheLastCheckCounts(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer func() { _ = client.Close() }()
	s := new(server)
	client.AddHook(s)
	k := rediskv.New(client, "released")
	for _, policy := range []string{"noeviction", "volatile-lru", "noeviction"} {
		s.info, s.writes = "maxmemory_policy:"+policy, 0
		evicts := policy != "noeviction"
		if err := k.Check(t.Context()); (err != nil) != evicts {
			t.Errorf("%s: the check says %v", policy, err)
		}
		err := k.Live(t.Context(), map[string]time.Duration{"key": time.Second})
		if (err != nil) != evicts || (s.writes == 0) != evicts {
			t.Errorf("%s: %d writes, error %v", policy, s.writes, err)
		}
	}
}

// A Redis that is configured anew while leases are held is noticed within half a minute, and noticed at once when it
// is mended. One that does not answer the question ends no lease.
func TestARedisThatBeginsToEvictIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{})
		defer func() { _ = client.Close() }()
		s := &server{info: "maxmemory_policy:noeviction"}
		client.AddHook(s)
		k := rediskv.New(client, "released")
		renew := func() error {
			<-time.After(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := k.Live(ctx, map[string]time.Duration{"key": 3 * time.Second}); err != nil {
				return err
			}
			return ctx.Err()
		}
		renewed := func(times int) (renewed int, err error) {
			for ; renewed < times; renewed++ {
				if err := renew(); err != nil {
					return renewed, err
				}
			}
			return renewed, nil
		}
		if n, err := renewed(100); err != nil || s.asked != 4 {
			t.Errorf("asked %d times during %d renewals: %v", s.asked, n, err)
		}
		s.err = errors.New("connection refused")
		if _, err := renewed(100); err != nil {
			t.Errorf("it only did not answer: %v", err)
		}
		s.takes = time.Hour
		if _, err := renewed(100); err != nil {
			t.Errorf("it did not answer in time: %v", err)
		}
		s.takes, s.err, s.info = 0, nil, "maxmemory_policy:volatile-lru"
		var evicts *rediskv.EvictionError
		if n, err := renewed(100); !errors.As(err, &evicts) || n > 30 {
			t.Errorf("it begins to evict, and after %d renewals the error is %v", n, err)
		}
		if err := renew(); !errors.As(err, &evicts) {
			t.Errorf("it still evicts, and the error is %v", err)
		}
		s.info = "maxmemory_policy:noeviction"
		if err := renew(); err != nil {
			t.Errorf("it is mended: %v", err)
		}
	})
}

// Of several masters each has some of the keys, so none of them may evict any. It makes no difference which one answers last.
func TestNoneOfSeveralMastersMayEvict(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			masters := map[string]*server{
				"a": {info: "maxmemory_policy:noeviction", takes: takes}, "b": {info: "maxmemory_policy:volatile-lru", takes: 2 * time.Second},
			}
			ring := redis.NewRing(&redis.RingOptions{
				Addrs: map[string]string{"a": "a", "b": "b"}, HeartbeatFrequency: time.Hour,
				NewClient: func(o *redis.Options) *redis.Client {
					client := redis.NewClient(o)
					client.AddHook(masters[o.Addr])
					return client
				},
			})
			defer func() { _ = ring.Close() }()
			k := rediskv.New(ring, "released")
			for range 2 {
				var evicts *rediskv.EvictionError
				if err := k.Live(t.Context(), map[string]time.Duration{"key": time.Second}); !errors.As(err, &evicts) {
					t.Errorf("a takes %v: the error is %v", takes, err)
				}
			}
			if writes := masters["a"].writes + masters["b"].writes; writes != 0 {
				t.Errorf("%d writes", writes)
			}
		})
	}
}

// A server that does not answer the check must not hold up a call whose context has ended.
func TestTheCheckEndsWithItsContext(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer func() { _ = client.Close() }()
	client.AddHook(new(server))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rediskv.New(client, "released").Live(ended, map[string]time.Duration{"key": time.Second}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
