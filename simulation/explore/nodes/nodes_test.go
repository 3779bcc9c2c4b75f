package nodes

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hustings/hustings/simulation/explore"
	"github.com/stretchr/testify/require"
)

func TestTry(t *testing.T) {
	n := func(name string) int { i, _ := strconv.Atoi(os.Getenv(name)); return i }
	b := Bounds{Members: n("M"), Groups: n("G"), Terms: n("T"), Moments: n("K"), Ends: n("N"), Waits: n("W"), SlowDisks: n("Y"), LeaderRestarts: n("L"), FollowerRestarts: n("F"), Elected: n("E") > 0}
	began := time.Now()
	i := 0
	x := newSearch(Options{Bounds: b, MaxStates: uint64(n("S")), Progress: func(r explore.Result) {
		if i++; i%20 == 0 {
			t.Logf("%+v", r)
		}
	}})
	x.byDepth = n("B") > 0
	r := x.run(t.Context())
	var err error
	require.NoError(t, err)
	t.Logf("%+v: %+v %v worlds %d", b, r, time.Since(began), len(x.known))
	if r.Violation != nil {
		for _, s := range r.Violation.Path {
			t.Log(s)
		}
		t.Fatal(r.Violation)
	}
}
