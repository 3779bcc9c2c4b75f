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
