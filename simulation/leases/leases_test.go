package leases_test

import (
	"testing"

	"github.com/hustings/hustings/simulation/leases"
)

func TestX(t *testing.T) {
	fails := 0
	for seed := range uint64(2000) {
		r, err := leases.Run(leases.Options{Seed: seed, Candidates: 2 + int(seed%4), Strict: seed%2 == 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != nil {
			t.Log(seed, r.Violation, r.Virtual)
			if fails++; fails > 15 {
				t.Fatal()
			}
		}
	}
}
