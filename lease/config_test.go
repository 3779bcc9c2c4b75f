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
	for field, change := range map[string]func(*lease.Config){
		"Name":               func(c *lease.Config) { c.Name = "" },
		"Self":               func(c *lease.Config) { c.Self = strings.Repeat("x", lease.MaxSelf+1) },
		"Store":              func(c *lease.Config) { c.Store = nil },
		"Handlers":           func(c *lease.Config) { c.Handlers = []elector.RoleHandler{nil} },
		"Timing.TTL":         func(c *lease.Config) { c.Timing.TTL = 1000 * 24 * time.Hour },
		"Timing.Renew":       func(c *lease.Config) { c.Timing.Renew = c.Timing.TTL/2 + 1 },
		"Timing.Poll":        func(c *lease.Config) { c.Timing.Poll = 0 },
		"Timing.Timeout":     func(c *lease.Config) { c.Timing.Timeout = -1 },
		"Timing.DriftMargin": func(c *lease.Config) { c.Timing.DriftMargin = -1 },
	} {
		t.Run(field, func(t *testing.T) {
			config := lease.Config{Name: "g", Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()}
			_, err := lease.New(config)
			require.NoError(t, err)
			change(&config)
			_, err = lease.New(config)
			var bad *elector.ConfigError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, field, bad.Field)
			assert.ErrorContains(t, err, "lease: "+field+" ")
		})
	}
}

// What a database would cut off, mistake or refuse is refused here.
func TestNamesThatCannotBeKeptAreRefused(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("é", 128), "a\x00b", "\xff"} {
		_, err := lease.New(lease.Config{Name: name, Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()})
		assert.Error(t, err, "%q", name)
	}
}

// A keeper's own settings cannot be set again for one lease.
func TestAKeepersSettingsAreForAllItsLeases(t *testing.T) {
	k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: lease.DefaultTiming()})
	require.NoError(t, err)
	_, err = k.Join(lease.Config{Name: "g", Strict: true})
	assert.Error(t, err)
	_, err = k.Join(lease.Config{Name: "g"})
	assert.NoError(t, err)
}
