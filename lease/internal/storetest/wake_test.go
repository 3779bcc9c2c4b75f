package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease/pgxwake"
)

// Listeners are woken by every waker.
func TestListenersAreWoken(t *testing.T) {
	for name, open := range map[string]func(*testing.T) lease.Waker{
		"PostgreSQL": func(t *testing.T) lease.Waker {
			t.Helper()
			config, err := pgx.ParseConfig(given("HUSTINGS_TEST_POSTGRES")(t))
			require.NoError(t, err)
			waker, err := pgxwake.New(config, "")
			require.NoError(t, err)
			return waker
		},
		"Redis": func(t *testing.T) lease.Waker { t.Helper(); return openRedis(t).(lease.Waker) },
		"etcd":  func(t *testing.T) lease.Waker { t.Helper(); return openEtcd(t).(lease.Waker) },
	} {
		t.Run(name, func(t *testing.T) {
			waker := open(t)
			ctx, cancel := context.WithCancel(t.Context())
			heard, ended := make(chan string, 1000), make(chan error, 1)
			go func() { ended <- waker.Listen(ctx, func(name string) { heard <- name }) }()
			again := time.NewTicker(10 * time.Millisecond)
			defer again.Stop()
			for name := ""; name == ""; {
				require.NoError(t, waker.Wake(ctx, "g/ü"))
				select {
				case name = <-heard:
					assert.Equal(t, "g/ü", name)
				case <-again.C:
				}
			}
			cancel()
			assert.ErrorIs(t, <-ended, context.Canceled)
		})
	}
}
