// Package effort says how much a test does. Whoever works on the code waits for its tests, so
// by default they try a part of what there is. The gate has them try all of it, by a variable
// of the environment: HUSTINGS_TEST_WHOLE. With -short, as under the race detector, a test may
// try still less.
package effort

import "os"

// Whole says whether everything is to be tried.
func Whole() bool { return os.Getenv("HUSTINGS_TEST_WHOLE") != "" }

// Of is how many are to be tried: all of them, or some.
func Of[N ~int | ~uint64](all, some N) N {
	if Whole() {
		return all
	}
	return some
}
