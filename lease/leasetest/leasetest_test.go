package leasetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hustings/hustings/lease/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoreInMemoryKeepsTheContract(t *testing.T) {
	Run(t, sound(new(mem.Store)))
}

// sound returns the store in memory as a subject for every test: its statements are counted, and
// its connection can be blocked.
func sound(m *mem.Store) Subject {
	counted, n := counting(m)
	return Subject{Store: counted, Step: m.Step, Statements: n, Far: func() Far { return blocking(m) }}
}

// Each fault of a store is found by the test that looks for it. A test that draws its calls finds
// a fault in most of its runs, not in each of them: it has a few.
func TestFaultyStoresAreRejected(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 20
			for range runs {
				m := new(mem.Store)
				subject := sound(m)
				f.build(m, &subject)
				r := &recorder{TB: t}
				if r.run(f.found, subject); r.Failed() {
					return
				}
				if f.found != history {
					break
				}
			}
			t.Errorf("the test %q passes", f.found)
		})
	}
}
