// The error of a wrong configuration names every wrong field.

package elector_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func TestGoodConfigurationsAreAccepted(t *testing.T) {
	good := map[string]func(*config){
		"default":          func(*config) {},
		"DLedger's timing": func(c *config) { c.Timing = elector.DLedgerTiming() },
		"leases":           func(c *config) { c.Leases = true },
		"two heartbeats":   func(c *config) { c.Leases, c.Timing.Leak = true, 2 },
		"a short lease":    func(c *config) { c.Leases, c.Timing.DriftMargin = true, 2*c.Timing.Heartbeat-1 },
		"alone":            func(c *config) { c.Members = memberstate.Voters("n0") },
		"as an observer":   func(c *config) { c.Members[0].Observer = true },
		"ids with dashes":  func(c *config) { c.Self, c.Members[0].ID = "rack-1", "rack-1" },
		"64 members":       func(c *config) { c.Members = crowd(64) },
		"preferred":        func(c *config) { c.Preferred = []string{"n1"} },
		"heavy":            func(c *config) { c.Weight = 255 },
		"large":            func(c *config) { c.Capacity = 10_000 },
	}
	for name, change := range good {
		t.Run(name, func(t *testing.T) {
			c := goodConfig()
			change(&c)
			_, err := elector.New(c.HostConfig, c.GroupConfig)
			assert.NoError(t, err)
		})
	}
}

func TestEveryWrongFieldIsNamed(t *testing.T) {
	wrong := []struct {
		field   string
		problem string // part of the message
		change  func(*config)
	}{
		{"Group", "empty", func(c *config) { c.Group = "" }},
		{"Group", "256 bytes", func(c *config) { c.Group = strings.Repeat("g", 256) }},
		{"Group", "not valid UTF-8", func(c *config) { c.Group = "\xff" }},
		{"Self", "empty", func(c *config) { c.Self = "" }},
		{"Store", "nil", func(c *config) { c.Store = nil }},
		{"Transport", "nil", func(c *config) { c.Transport = nil }},
		{"Balance", "negative: -1ns", func(c *config) { c.Balance = -1 }},
		{"Balance", "is 24h0m0.000000001s, 24h0m0s is the most", func(c *config) { c.Balance = 24*time.Hour + 1 }},
		{"Vouch", "24h0m0s is the most", func(c *config) { c.Vouch = math.MaxInt64 }},
		{"Capacity", "is -1, want 1 to 10000, or 0 for the usual 100", func(c *config) { c.Capacity = -1 }},
		{"Capacity", "is 10001, want", func(c *config) { c.Capacity = 10_001 }},
		{"Weight", "is -1, want 1 to 255, or 0 for the usual 1", func(c *config) { c.Weight = -1 }},
		{"Weight", "is 256, want", func(c *config) { c.Weight = 256 }},
		{"LedgerEnd", "nil", func(c *config) { c.LedgerEnd = nil }},
		{"Handlers", "nil at 0", func(c *config) { c.Handlers = []elector.RoleHandler{nil} }},
		{"Members", "no voters", func(c *config) { c.Members = nil }},
		{"Members", "no voters", func(c *config) { c.Members = []memberstate.Member{{ID: "n0", Observer: true}} }},
		{"Members", "empty id", func(c *config) { c.Members[1].ID = "" }},
		{"Members", `"n0" is listed twice`, func(c *config) { c.Members[1].ID = "n0" }},
		{"Members", `do not include Self "n9"`, func(c *config) { c.Self = "n9" }},
		{"Members", "65 members", func(c *config) { c.Members = crowd(65) }},
		{"Preferred", `"n7"`, func(c *config) { c.Preferred = []string{"n7"} }},
		{"Preferred", `"n1"`, func(c *config) { c.Members[1].Observer, c.Preferred = true, []string{"n1"} }},
		{"Timing.Heartbeat", "0s", func(c *config) { c.Timing.Heartbeat = 0 }},
		{"Timing.Heartbeat", "-1s", func(c *config) { c.Timing.Heartbeat = -time.Second }},
		{"Timing.Heartbeat", "more than 24h", func(c *config) { c.Timing.Heartbeat = 1 << 62 }},
		{"Timing.Leak", "is 0", func(c *config) { c.Timing.Leak = 0 }},
		{"Timing.Leak", "is 101", func(c *config) { c.Timing.Leak = 101 }},
		{"Timing.Heartbeat", "is 999µs, must be 1ms", func(c *config) { c.Timing.Heartbeat = 999 * time.Microsecond }},
		{"Timing.MinVoteWait", "is 1ns, must be 1ms", func(c *config) { c.Timing.MinVoteWait = 1 }},
		{"Timing.RoundTimeout", "is 1ns, must be 1ms", func(c *config) { c.Timing.RoundTimeout = 1 }},
		{"Timing.MinVoteWait", "0s", func(c *config) { c.Timing.MinVoteWait = 0 }},
		{"Timing.MaxVoteWait", "more than Timing.MinVoteWait", func(c *config) { c.Timing.MaxVoteWait = c.Timing.MinVoteWait }},
		{"Timing.MaxVoteWait", "the most", func(c *config) { c.Timing.MaxVoteWait = 1 << 62 }},
		{"Timing.RoundTimeout", "0s", func(c *config) { c.Timing.RoundTimeout = 0 }},
		{"Timing.RoundTimeout", "is 24h0m0.000000001s, must be 1ms to 24h", func(c *config) { c.Timing.RoundTimeout = 24*time.Hour + 1 }},
		{"Timing.DriftMargin", "more than 0", func(c *config) { c.Leases, c.Timing.DriftMargin = true, 0 }},
		{"Timing.DriftMargin", "leaves a lease of 0s", func(c *config) { c.Leases, c.Timing.DriftMargin = true, c.Timing.Detection()+1 }},
		{"Timing.DriftMargin", "more than a heartbeat of 100ms", func(c *config) { c.Leases, c.Timing.DriftMargin = true, 2*c.Timing.Heartbeat }},
		{"Timing.DriftMargin", "leaves a lease of 80ms", func(c *config) { c.Leases, c.Timing.Leak, c.Timing.DriftMargin = true, 2, 120*time.Millisecond }},
		{"Timing.Leak", "would come too late", func(c *config) { c.Timing.Leak = 1 }},
		{"Timing.Leak", "would come too late", func(c *config) { c.Leases, c.Timing.Leak = true, 1 }},
	}
	for _, w := range wrong {
		t.Run(w.field+" "+w.problem, func(t *testing.T) {
			c := goodConfig()
			w.change(&c)
			_, err := elector.New(c.HostConfig, c.GroupConfig)
			assert.ErrorContains(t, err, w.problem)
			assert.Contains(t, namedFields(err), w.field)
		})
	}
}

// Fault 18: DLedger checks no configuration value. Equal bounds of the vote interval make
// its timer throw, and its loop spin.
func TestFault18EqualBoundsAreRefused(t *testing.T) {
	c := goodConfig()
	c.Timing.MinVoteWait = c.Timing.MaxVoteWait
	_, err := elector.New(c.HostConfig, c.GroupConfig)
	assert.Equal(t, []string{"Timing.MaxVoteWait"}, namedFields(err))
}

// A margin that would be too large for leases is accepted without them.
func TestTheMarginIsCheckedForLeasesOnly(t *testing.T) {
	c := goodConfig()
	c.Timing.DriftMargin = 2 * c.Timing.Heartbeat
	_, err := elector.New(c.HostConfig, c.GroupConfig)
	assert.NoError(t, err)
}

// Fault 28: DLedger's ids cannot contain '-'.
func TestFault28AnIDMayContainAnything(t *testing.T) {
	c := goodConfig()
	c.Self = "rack-1/näme:with \x00 and -"
	c.Members = memberstate.Voters(c.Self, "-", "--")
	_, err := elector.New(c.HostConfig, c.GroupConfig)
	assert.NoError(t, err)
}

func TestAllWrongFieldsAreNamedAtOnce(t *testing.T) {
	_, err := elector.New(elector.HostConfig{}, elector.GroupConfig{})
	named := namedFields(err)
	for _, field := range []string{"Self", "Store", "Transport", "Group", "Members", "LedgerEnd", "Timing.Heartbeat"} {
		assert.Contains(t, named, field)
	}
}

func TestAHostHasAGroupOnce(t *testing.T) {
	c := goodConfig()
	host := elector.MustHost(t, c.HostConfig)
	elector.MustJoin(t, host, c.GroupConfig)
	_, err := host.Join(c.GroupConfig)
	require.ErrorIs(t, err, elector.ErrGroupExists)
}

func TestJoinNamesTheWrongFieldsOfAGroup(t *testing.T) {
	c := goodConfig()
	host := elector.MustHost(t, c.HostConfig)
	c.LedgerEnd, c.Members = nil, memberstate.Voters("n1")
	_, err := host.Join(c.GroupConfig)
	assert.ElementsMatch(t, []string{"LedgerEnd", "Members"}, namedFields(err))
	assert.Empty(t, host.Electors())
}

// namedFields are the fields that an error names.
func namedFields(err error) (fields []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			fields = append(fields, namedFields(part)...)
		}
	} else if bad, ok := errors.AsType[*elector.ConfigError](err); ok {
		fields = append(fields, bad.Field)
	}
	return fields
}

// crowd is a list of n members, n0 included.
func crowd(n int) []memberstate.Member {
	members := make([]memberstate.Member, n)
	for i := range members {
		members[i].ID = fmt.Sprintf("n%d", i)
	}
	return members
}
