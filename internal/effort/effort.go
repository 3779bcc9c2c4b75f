// Package effort says how much a test does. Whoever works on the code waits for its tests, so
// by default they try a part of what there is. The gate has them try all of it, by a variable
// of the environment: HUSTINGS_TEST_ALL. With -short, as under the race detector, a test may
// try still less.
package effort

import "os"

// All says whether everything is to be tried.
func All() bool { return os.Getenv("HUSTINGS_TEST_ALL") != "" }

// Of is how many are to be tried: all of them, or some.
func Of[N ~int | ~uint64](all, some N) N {
	if All() {
		return all
	}
	return some
}
