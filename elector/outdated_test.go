// A node whose store was put back to an older copy.

package elector_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// copied is a copy of a store of the fleet.
func (f *fleet) copied(node int) *memberstate.MemStore {
	f.t.Helper()
	names := []string{""} // the node's own record
	for i := range f.groups {
		names = append(names, fmt.Sprint("g", i))
	}
	all := new(memberstate.MemStore)
	for _, name := range names {
		r, known, err := f.stores[node].Load(name)
		require.NoError(f.t, err)
		require.True(f.t, known, name)
		require.NoError(f.t, all.Save([]memberstate.Record{r}))
	}
	return all
}

func TestANodeWithAnOlderCopyOfItsStoreStopsForGood(t *testing.T) {
	var logged bytes.Buffer
	log := func(node int, c *elector.HostConfig) {
		if node == 0 {
			c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		}
	}
	withFleet(t, log, func(f *fleet) {
		yesterdays := f.copied(0)
		for range 3 {
			f.restart()
		}
		<-time.After(time.Hour)
		f.kill(0)
		f.stores[0] = yesterdays
		f.revive(0)
		var all []*elector.Elector
		for i := range f.groups {
			if el := f.hosts[0].Elector(fmt.Sprint("g", i)); el != nil { // it may have ended already
				all = append(all, el)
			}
		}
		<-time.After(f.timing.Detection())
		require.NotEmpty(t, all)
		for _, el := range all {
			require.ErrorIs(t, el.Err(), elector.ErrOutdated)
		}
		synctest.Wait() // the line is logged aside
		assert.Contains(t, logged.String(), `level=ERROR msg="this node stops for good, and its store must not be used again" error=`)

		for range 4 { // by then it would have counted as many starts as its peers know
			f.kill(0)
			f.hosts[0] = elector.MustHost(t, elector.HostConfig{Self: "n0", Store: f.stores[0], Transport: f.network.Join("n0")})
			el, err := f.hosts[0].Join(elector.GroupOf("g0", "n0", "n1", "n2"))
			require.NoError(t, err)
			require.ErrorIs(t, el.Start(), elector.ErrOutdated)
		}
		ledBy := f.ledBy()
		assert.Zero(t, ledBy[0])
		assert.Equal(t, f.groups, ledBy[1]+ledBy[2])
	})
}
