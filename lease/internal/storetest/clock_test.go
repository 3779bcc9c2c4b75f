// The clock of servers that were started with a settable clock.

package storetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serversClock is the clock of PostgreSQL and MariaDB. It is set right when the test ends.
type serversClock struct {
	t     *testing.T
	file  string
	ahead time.Duration
}

// clockIsGiven reports whether there is one. The test fails if no test may be left out.
func clockIsGiven() bool {
	return os.Getenv("HUSTINGS_TEST_CLOCK") != "" || os.Getenv("HUSTINGS_TEST_ALL") != ""
}

func newServersClock(t *testing.T) *serversClock {
	t.Helper()
	c := &serversClock{t: t, file: given("HUSTINGS_TEST_CLOCK")(t)}
	t.Cleanup(func() { c.step(-c.ahead) })
	return c
}

// step makes it jump.
func (c *serversClock) step(by time.Duration) {
	c.ahead += by
	next := c.file + ".next" // they must not read half of it
	require.NoError(c.t, os.WriteFile(next, []byte(fmt.Sprintf("%+.6f\n", c.ahead.Seconds())), 0o644))
	require.NoError(c.t, os.Rename(next, c.file))
}

// set sets it.
func (c *serversClock) set(to time.Time) { c.step(time.Until(to) - c.ahead) }
