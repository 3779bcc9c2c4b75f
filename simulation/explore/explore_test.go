package explore

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"
)

func n(name string, d int) int {
	if v, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return v
	}
	return d
}
func TestZZ(t *testing.T) {
	b := Bounds{Members: n("M", 3), Terms: n("T", 1), Beats: n("H", 1), Entries: n("E", 0), NoPreVote: n("PV", 1) == 0, NoCrash: n("CR", 0) == 0, NoTransfer: n("CMD", 0) == 0, NoHints: n("HI", 0) == 0}
	began := time.Now()
	r, err := Explore(context.Background(), Options{Bounds: b, MaxStates: uint64(n("MAX", 3000000))})
	t.Logf("%v %+v -> %+v in %v", err, b, r, time.Since(began))
	if r.Violation != nil {
		for _, l := range r.Violation.Path {
			t.Log(l)
		}
	}
}
