// How records, claims and leases print themselves.

package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestARecordPrintsItself(t *testing.T) {
	for want, r := range map[string]Record{
		`"": term 0, ran out 0s ago`:                                     {},
		`"jobs": term 7, holder "h1", 12 renewals, 3s left of 5s`:        {Name: "jobs", Term: 7, Holder: "h1", Renewals: 12, TTL: 5 * time.Second, Left: 3 * time.Second},
		`"jobs": term 7, holder "h1", 0 renewals, heir "h\n2", lasts 5s`: {Name: "jobs", Term: 7, Holder: "h1", Heir: "h\n2", TTL: 5 * time.Second, Left: LeftUnknown},
		`"jobs": term 7, holder "h1", 1 renewals, ran out 2s ago`:        {Name: "jobs", Term: 7, Holder: "h1", Renewals: 1, TTL: 5 * time.Second, Left: -2 * time.Second},
		`"jobs": term 8, heir "h2", 1s left of 5s`:                       {Name: "jobs", Term: 8, Heir: "h2", TTL: 5 * time.Second, Left: time.Second},
		`"jobs": term 8, holder "h1", 0 renewals, released`:              {Name: "jobs", Term: 8, Holder: "h1", TTL: 5 * time.Second, Left: time.Second, Released: true},
	} {
		assert.Equal(t, want, r.String())
	}
}

func TestAClaimPrintsItself(t *testing.T) {
	c := Claim{Name: "jobs", Holder: "h1", TTL: 5 * time.Second, Term: 7, Renewals: 12}
	assert.Equal(t, `"jobs": "h1" for 5s, over term 7 with 12 renewals`, c.String())
	c.Watched = true
	assert.Equal(t, `"jobs": "h1" for 5s, over term 7 with 12 renewals, watched`, c.String())
}

func TestAHeldLeasePrintsItself(t *testing.T) {
	assert.Equal(t, `["jobs" in term 7]`, fmt.Sprint([]Held{{"jobs", 7}}))
}

// A transaction that locks a table may lock very many leases.
func TestLockedLeasesPrintAFewOfTheirNames(t *testing.T) {
	assert.EqualError(t, &LockedError{Names: []string{"a"}}, `the records of 1 leases are locked by others, ["a"] among them`)
	assert.EqualError(t, &LockedError{Names: []string{"a", "b", "c", "d", "e"}}, `the records of 5 leases are locked by others, ["a" "b" "c"] among them`)
}
