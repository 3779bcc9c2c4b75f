package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each kind of mistake, in a function of its own, with its description and its result.
func TestMistakesOfLargerKinds(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   map[string]string // by description: the mutated source
	}{
		"a lock left out": {
			"func (q *queue) add(m int) {\n\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n\tq.n = m\n}",
			map[string]string{"without the lock q.mu": "func (q *queue) add(m int) {\n\t\n\t\n\tq.n = m\n}"},
		},
		"a lock that is released on two paths": {
			"func (q *queue) add(m int) {\n\tq.mu.RLock()\n\tif m == 0 {\n\t\tq.mu.RUnlock()\n\t\treturn\n\t}\n\tq.mu.RUnlock()\n}",
			map[string]string{"without the lock q.mu": "func (q *queue) add(m int) {\n\t\n\tif m == 0 {\n\t\t\n\t\treturn\n\t}\n\t\n}"},
		},
		"neighbours exchanged": {
			"func f() {\n\ta()\n\tb = 1\n\tc = 2\n}",
			map[string]string{"a() comes after b = 1": "func f() {\n\tb = 1\n\ta()\n\tc = 2\n}"},
		},
		"a check at the wrong place": {
			"func f() int {\n\tif a {\n\t\treturn 1\n\t}\n\tif b {\n\t\treturn 2\n\t}\n\tc()\n\treturn 3\n}",
			map[string]string{
				"if a comes after if b": "func f() int {\n\tif b {\n\t\treturn 2\n\t}\n\tif a {\n\t\treturn 1\n\t}\n\tc()\n\treturn 3\n}",
				"if b comes after c()":  "func f() int {\n\tif a {\n\t\treturn 1\n\t}\n\tc()\n\tif b {\n\t\treturn 2\n\t}\n\treturn 3\n}",
			},
		},
		"a context that never ends": {
			"func f() {\n\tx := g(ctx, 1)\n}",
			map[string]string{"g(ctx, 1) does not end with ctx": "func f() {\n\tx := g(context.WithoutCancel(ctx), 1)\n}"},
		},
		"a context that is never ended": {
			"func f() {\n\tdefer cancel()\n}",
			map[string]string{"without defer cancel()": "func f() {\n\t\n}"},
		},
		"a queue that is never emptied": {
			"func f() {\n\tq.all = q.all[:n]\n}",
			map[string]string{"without q.all = q.all[:n]": "func f() {\n\t\n}"},
		},
		"a wait that waits for nothing": {
			"func f() {\n\t<-done\n\tw.Wait()\n}",
			map[string]string{
				"without <-done":              "func f() {\n\t\n\tw.Wait()\n}",
				"without w.Wait()":            "func f() {\n\t<-done\n\t\n}",
				"<-done comes after w.Wait()": "func f() {\n\tw.Wait()\n\t<-done\n}",
			},
		},
		"a case missing in a select": {
			"func f() {\n\tselect {\n\tcase <-done:\n\tcase x := <-in:\n\t}\n}",
			map[string]string{
				"without case <-done: of select":    "func f() {\n\tselect {\n\t\n\tcase x := <-in:\n\t}\n}",
				"without case x := <-in: of select": "func f() {\n\tselect {\n\tcase <-done:\n\t\n\t}\n}",
			},
		},
		"a goroutine called in place": {
			"func f() {\n\tgo g(a)\n}",
			map[string]string{"go g(a) is called in place": "func f() {\n\tg(a)\n}", "without go g(a)": "func f() {\n\t\n}"},
		},
		"a method Go, too": {
			"func f() {\n\tw.Go(func() { g() })\n}",
			map[string]string{
				"w.Go(func() { g() }) is called in place": "func f() {\n\tfunc() { g() }()\n}",
				"without w.Go(func() { g() })":            "func f() {\n\t\n}", "without g()": "func f() {\n\tw.Go(func() {  })\n}",
			},
		},
		"an error swallowed": {
			"func f() (int, error) {\n\tif a {\n\t\treturn n, err\n\t}\n\treturn g()\n}",
			map[string]string{
				"return n, err becomes return n, nil": "func f() (int, error) {\n\tif a {\n\t\treturn n, nil\n\t}\n\treturn g()\n}",
				"a becomes !(a)":                      "func f() (int, error) {\n\tif !(a) {\n\t\treturn n, err\n\t}\n\treturn g()\n}",
				"without return n, err of if a":       "func f() (int, error) {\n\tif a {\n\t\t\n\t}\n\treturn g()\n}",
			},
		},
		"no error where a literal returns none": {
			"func f() error {\n\tg(func() int { return n })\n\treturn nil\n}",
			map[string]string{"without g(func() int { return n })": "func f() error {\n\t\n\treturn nil\n}", "without return n of func() int { return n }": "func f() error {\n\tg(func() int {  })\n\treturn nil\n}"},
		},
		"one of two that are set together": {
			"func f() {\n\ta, b = x, nil\n}",
			map[string]string{
				"without a, b = x, nil":         "func f() {\n\t\n}",
				"a, b = x, nil becomes b = nil": "func f() {\n\tb = nil\n}",
				"a, b = x, nil becomes a = x":   "func f() {\n\ta = x\n}",
			},
		},
		"a field that is not set": {
			"func f() {\n\tx := &point{x: a, y: nil, z: b}\n}",
			map[string]string{
				"without the field x: a of point": "func f() {\n\tx := &point{y: nil, z: b}\n}",
				"without the field z: b of point": "func f() {\n\tx := &point{x: a, y: nil, }\n}",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := mutantsOfFunction(t, c.source)
			for says, text := range c.want {
				assert.Equal(t, text, got[says], says)
			}
		})
	}
}

// Log lines and capacities are not promised.
func TestUnpromisedDetailsAreNotMutated(t *testing.T) {
	for _, source := range []string{
		"func f() {\n\tl.Warn(\"many\", n+1)\n}",
		"func (e *wrong) Error() string {\n\treturn a + b\n}",
		"func f() {\n\tx := make(chan int, 1)\n}",
		"func f() {\n\tx := 4096\n}",
	} {
		assert.Empty(t, mutantsOfFunction(t, source), source)
	}
	got := mutantsOfFunction(t, "func f() {\n\tx := make([]int, 0, 3)\n\ty := 5 * time.Second\n}")
	assert.Equal(t, []string{"5 * time.Second becomes 5 / time.Second", "make([]int, 0, 3) becomes make([]int, 1, 3)"}, slices.Sorted(maps.Keys(got)))
}

// mutantsOfFunction are the mutants of a function, by their descriptions.
func mutantsOfFunction(t *testing.T, source string) map[string]string {
	t.Helper()
	const head = "package p\n\n"
	made, err := mutantsOf("p/p.go", []byte(head+source+"\n"))
	require.NoError(t, err)
	got := map[string]string{}
	for i := range made {
		broken, err := made[i].in([]byte(head + source + "\n"))
		require.NoError(t, err)
		_, says, _ := strings.Cut(key(&made[i]), ": ")
		got[says] = strings.TrimSuffix(strings.TrimPrefix(string(broken), head), "\n")
	}
	return got
}
