// The clock of servers that were started so that it can be set.

package storetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serversClock is that of PostgreSQL and MariaDB. It is right again when the test ends.
type serversClock struct {
	t     *testing.T
	file  string
	ahead time.Duration
}

// clockIsGiven says whether there is one. It must be where nothing is to be left out.
func clockIsGiven() bool {
	return os.Getenv("HUSTINGS_TEST_CLOCK") != "" || os.Getenv("HUSTINGS_TEST_ALL") != ""
}

func newServersClock(t *testing.T) *serversClock {
	t.Helper()
	c := &serversClock{t: t, file: given("HUSTINGS_TEST_CLOCK")(t)}
	t.Cleanup(func() { c.step(-c.ahead) })
	return c
}

// step has it jump.
func (c *serversClock) step(by time.Duration) {
	c.ahead += by
	next := c.file + ".next" // they must not read half of it
	require.NoError(c.t, os.WriteFile(next, []byte(fmt.Sprintf("%+.6f\n", c.ahead.Seconds())), 0o644))
	require.NoError(c.t, os.Rename(next, c.file))
}

// set sets it.
func (c *serversClock) set(to time.Time) { c.step(time.Until(to) - c.ahead) }
