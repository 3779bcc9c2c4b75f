package operator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
)

// A watch ends with its context, without an error.
func TestWatchingEndsWithItsContext(t *testing.T) {
	s := newSite(t)
	s.leader(0)
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan int)
	go func() {
		seen := 0
		for _, err := range s.dial("n1").Watch(ctx, "orders") {
			assert.NoError(t, err)
			seen++
			cancel()
		}
		ended <- seen
	}()
	select {
	case seen := <-ended:
		assert.Positive(t, seen)
	case <-s.ctx.Done():
		require.FailNow(t, "it goes on")
	}
}

// A watch ends when the member has stopped, without an error.
func TestWatchingEndsWithTheMember(t *testing.T) {
	s := newSite(t)
	s.leader(0)
	last := elector.Status{}
	for now, err := range s.dial("n1").Watch(s.ctx, "orders") {
		require.NoError(t, err)
		if last == (elector.Status{}) {
			go func() { assert.NoError(t, s.members["n1"].Stop(s.ctx)) }()
		}
		last = now
	}
	assert.True(t, last.Stopped)
	assert.NoError(t, s.ctx.Err())
}

// Each call is about the named group, not about the only one.
func TestACallIsAboutTheGroupThatWasNamed(t *testing.T) {
	s := newSite(t)
	c := s.dial(s.leader(0).Leader)
	for name, call := range map[string]func() error{
		"status":   func() error { _, err := c.Status(s.ctx, "nothing"); return err },
		"members":  func() error { _, err := c.Members(s.ctx, "nothing"); return err },
		"transfer": func() error { _, err := c.Transfer(s.ctx, "nothing", ""); return err },
		"resign":   func() error { return c.Resign(s.ctx, "nothing") },
		"settings": func() error { _, err := c.Settings(s.ctx, "nothing", operator.Changes{}); return err },
		"watch": func() error {
			for _, err := range c.Watch(s.ctx, "nothing") {
				return err
			}
			return nil
		},
	} {
		assert.ErrorContains(t, call(), `no group "nothing"`, name)
	}
}
