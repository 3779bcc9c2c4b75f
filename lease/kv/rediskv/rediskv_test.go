package rediskv_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// lasting replaces Redis: every key exists, and PTTL has this answer.
type lasting struct {
	server

	left time.Duration
}

func (l *lasting) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, all []redis.Cmder) error {
		for _, c := range all {
			switch c := c.(type) {
			case *redis.StringCmd:
				c.SetVal("value")
			case *redis.DurationCmd:
				c.SetVal(l.left)
			}
		}
		return nil
	}
}

// An error of one command is an error, although that of the first one only says that there is no such key.
func TestAKeyThatRedisRefusesIsNotMissing(t *testing.T) {
	for command, refuse := range map[string]func(all []redis.Cmder){
		"GET":  func(all []redis.Cmder) { all[2].SetErr(refusal("NOPERM")) },
		"PTTL": func(all []redis.Cmder) { all[3].SetErr(refusal("NOPERM")) },
	} {
		client := redis.NewClient(&redis.Options{})
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(&refusing{refuse: refuse})
		found, err := rediskv.New(client, "released").Get(t.Context(), []string{"missing", "refused"})
		if !errors.Is(err, refusal("NOPERM")) || len(found) != 0 {
			t.Errorf("%s: %v, error %v", command, found, err)
		}
	}
}

// refusing replaces Redis: the first key is missing, and a command for the second one is refused.
type refusing struct {
	server

	refuse func([]redis.Cmder)
}

func (r *refusing) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, all []redis.Cmder) error {
		all[0].SetErr(redis.Nil)
		r.refuse(all)
		return redis.Nil
	}
}

// In its last millisecond a key still exists, so its lease has not expired, although PTTL is 0. It
// is -1 if the key never expires, and -2 if there is none.
func TestAKeyLastsUntilRedisHasRemovedIt(t *testing.T) {
	for answer, want := range map[time.Duration]map[string]time.Duration{
		time.Minute: {"key": time.Minute},
		0:           {"key": lease.LeftUnknown},
		-1:          {"key": -1},
		-2:          {},
	} {
		client := redis.NewClient(&redis.Options{})
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(&lasting{left: answer})
		found, err := rediskv.New(client, "released").Get(t.Context(), []string{"key"})
		if err != nil {
			t.Fatal(err)
		}
		lefts := map[string]time.Duration{}
		for key, e := range found {
			lefts[key] = e.Left
		}
		if !maps.Equal(lefts, want) {
			t.Errorf("PTTL %d: %v, want %v", answer, lefts, want)
		}
	}
}
