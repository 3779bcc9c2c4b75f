// Package effort says how many cases a test tries. By default tests try a part of their cases,
// because developers wait for them. With HUSTINGS_TEST_WHOLE in the environment, as in the gate,
// they try all. With -short, as under the race detector, a test may try still fewer.
package effort

import (
	"os"
	"testing"
)

// Whole reports whether tests try all cases.
func Whole() bool { return os.Getenv("HUSTINGS_TEST_WHOLE") != "" }

// Of returns the number of cases to try: all, or some.
func Of[N ~int | ~uint64](all, some N) N {
	if Whole() {
		return all
	}
	return some
}

// Alone skips a test with -short, as under the race detector, because a single goroutine does its work, so
// there is nothing that could race; or because its goroutines are those of another, shorter test.
func Alone(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it has no goroutines of its own that could race")
	}
}

// Long skips a test that takes long, unless tests try all cases. Under the race detector it runs, because its
// goroutines may be those of no other test; if it has none, see Alone.
func Long(t testing.TB) {
	t.Helper()
	if !Whole() && !raced {
		t.Skip("it takes long: make test-all runs it")
	}
}
