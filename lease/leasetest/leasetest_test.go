package leasetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hustings/hustings/lease/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMem(t *testing.T) {
	Run(t, sound(new(mem.Store)))
}

// sound is the store in memory as a subject of every test: its statements are counted,
// and the way there can be blocked.
func sound(m *mem.Store) Subject {
	counted, n := counting(m)
	return Subject{Store: counted, Step: m.Step, Statements: n, Far: func() Far { return blocking(m) }}
}

// Each fault of a store is found by the test that looks for it.
func TestFaultyStoresAreRejected(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := new(mem.Store)
			subject := sound(m)
			f.build(m, &subject)
			r := &recorder{TB: t}
			r.run(f.found, subject)
			if !r.Failed() {
				t.Errorf("the test %q passes", f.found)
			}
		})
	}
}
