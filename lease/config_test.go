package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// Every field that is wrong is named.
func TestConfigurationsAreChecked(t *testing.T) {
	for field, change := range map[string]func(*settings){
		"Name":               func(c *settings) { c.Name = "" },
		"Self":               func(c *settings) { c.Self = strings.Repeat("x", lease.MaxSelf+1) },
		"Store":              func(c *settings) { c.Store = nil },
		"Handlers":           func(c *settings) { c.Handlers = []elector.RoleHandler{nil} },
		"Timing.TTL":         func(c *settings) { c.Timing.TTL = 1000 * 24 * time.Hour },
		"Timing.Renew":       func(c *settings) { c.Timing.Renew = c.Timing.TTL/2 + 1 },
		"Timing.Poll":        func(c *settings) { c.Timing.Poll = 0 },
		"Timing.Timeout":     func(c *settings) { c.Timing.Timeout = -1 },
		"Timing.DriftMargin": func(c *settings) { c.Timing.DriftMargin = -1 },
	} {
		t.Run(field, func(t *testing.T) {
			config := settings{lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()}, lease.GroupConfig{Name: "g"}}
			_, err := lease.New(config.KeeperConfig, config.GroupConfig)
			require.NoError(t, err)
			change(&config)
			_, err = lease.New(config.KeeperConfig, config.GroupConfig)
			var bad *elector.ConfigError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, field, bad.Field)
			assert.ErrorContains(t, err, "lease: "+field+" ")
		})
	}
}

// The last value that is allowed is taken, and the next one is refused.
func TestTheLimitsOfAConfiguration(t *testing.T) {
	const longest = 365 * 24 * time.Hour
	lasts := func(of func(*lease.Timing) *time.Duration) func(*settings, int) {
		return func(c *settings, n int) { *of(&c.Timing) = time.Duration(n) }
	}
	for _, c := range []struct {
		field          string
		set            func(*settings, int)
		taken, refused int
	}{
		{"Name", func(c *settings, n int) { c.Name = strings.Repeat("x", n) }, lease.MaxName, lease.MaxName + 1},
		{"Self", func(c *settings, n int) { c.Self = strings.Repeat("x", n) }, lease.MaxSelf, lease.MaxSelf + 1},
		{"Timing.TTL", lasts(func(t *lease.Timing) *time.Duration { return &t.TTL }), int(longest), int(longest) + 1},
		{"Timing.Renew", lasts(func(t *lease.Timing) *time.Duration { return &t.Renew }), int(time.Millisecond), int(time.Millisecond) - 1},
		{"Timing.Renew", lasts(func(t *lease.Timing) *time.Duration { return &t.Renew }), int(4 * time.Second), int(4*time.Second) + 1},
		{"Timing.Poll", lasts(func(t *lease.Timing) *time.Duration { return &t.Poll }), int(time.Millisecond), int(time.Millisecond) - 1},
		{"Timing.Poll", lasts(func(t *lease.Timing) *time.Duration { return &t.Poll }), int(longest), int(longest) + 1},
		{"Timing.Timeout", lasts(func(t *lease.Timing) *time.Duration { return &t.Timeout }), int(time.Millisecond), int(time.Millisecond) - 1},
		{"Timing.Timeout", lasts(func(t *lease.Timing) *time.Duration { return &t.Timeout }), int(longest), int(longest) + 1},
		{"Vouch", func(c *settings, n int) { c.Vouch = time.Duration(n) }, int(longest), int(longest) + 1},
		{"Timing.DriftMargin", lasts(func(t *lease.Timing) *time.Duration { return &t.DriftMargin }), int(time.Millisecond), int(time.Millisecond) - 1},
		{"Timing.DriftMargin", lasts(func(t *lease.Timing) *time.Duration { return &t.DriftMargin }), int(6 * time.Second), int(10 * time.Second)},
	} {
		config := settings{
			lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.Timing{
				TTL: 10 * time.Second, Renew: 2 * time.Second, Poll: time.Second, Timeout: time.Second, DriftMargin: 2 * time.Second,
			}},
			lease.GroupConfig{Name: "g"},
		}
		c.set(&config, c.taken)
		_, err := lease.New(config.KeeperConfig, config.GroupConfig)
		require.NoError(t, err, "%s %d", c.field, c.taken)
		c.set(&config, c.refused)
		_, err = lease.New(config.KeeperConfig, config.GroupConfig)
		assert.ErrorContains(t, err, "lease: "+c.field+" ", "%d", c.refused)
	}
}

// Some databases cannot store a zero byte. A name that has several is complained about once.
func TestANameWithZeroBytesIsRefused(t *testing.T) {
	_, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()}, lease.GroupConfig{Name: "g\x00h\x00"})
	assert.EqualError(t, err, "lease: Name contains a zero byte, which some databases cannot store")
}

// A lease that cannot be kept does not join, and its name stays free.
func TestAKeeperRefusesALeaseThatIsConfiguredWrongly(t *testing.T) {
	k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(lease.GroupConfig{Name: "g", Handlers: []elector.RoleHandler{nil}})
	require.ErrorContains(t, err, "lease: Handlers ")
	assert.Nil(t, e)
	_, err = k.Join(lease.GroupConfig{Name: "g"})
	require.NoError(t, err)
	e, err = k.Join(lease.GroupConfig{Name: "g"})
	require.ErrorIs(t, err, elector.ErrGroupExists)
	assert.Nil(t, e)
	k, err = lease.NewKeeper(lease.KeeperConfig{Self: "n", Timing: lease.DefaultTiming()})
	require.ErrorContains(t, err, "lease: Store is nil")
	assert.Nil(t, k)
}

// Names that a database would truncate, confuse or refuse are refused here.
func TestNamesThatCannotBeKeptAreRefused(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("é", 128), "a\x00b", "\xff"} {
		_, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()}, lease.GroupConfig{Name: name})
		assert.Error(t, err, "%q", name)
	}
}

// The problems of both parts are reported together.
func TestAllProblemsOfAConfigurationAreReported(t *testing.T) {
	_, err := lease.New(lease.KeeperConfig{}, lease.GroupConfig{})
	for _, field := range []string{"Self", "Store", "Timing.TTL", "Name"} {
		assert.ErrorContains(t, err, "lease: "+field+" ")
	}
}
