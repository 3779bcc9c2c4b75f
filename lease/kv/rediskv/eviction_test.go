package rediskv_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// server replaces Redis: it returns an eviction policy, and counts writes.
type server struct {
	info   string
	err    error // of INFO
	asked  int   // for INFO
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
// Redis has said that it does not, it is not asked again. A Redis that does not say is trusted.
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
