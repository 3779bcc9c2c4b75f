package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

const sampleSource = `package p

const (
	first = iota
	second
)

const most = 3

var names = [...]string{first: "1"}

func (k kind) String() string {
	if k > 1 {
		return "many"
	}
	return "one"
}

func (m *machine) step(n int) bool {
	m.sum += n
	if !m.on {
		m.start()
	}
	switch {
	case n < m.low && n == m.last:
		return true
	}
	m.calls++
	m.next = max(n, m.next) - m.low
	total := m.sum
	return total >= m.low
}
`

func TestTheMutantsOfASource(t *testing.T) {
	made, err := mutantsOf("p/sample.go", []byte(sampleSource))
	require.NoError(t, err)
	var names []string
	for i := range made {
		names = append(names, made[i].Name)
	}
	assert.Equal(t, []string{
		"p/sample.go:8:14 const: most = 3 becomes most = 4",
		"p/sample.go:20:2 step: without m.sum += n",
		"p/sample.go:28:2 step: without m.calls++",
		"p/sample.go:29:2 step: without m.next = max(n, m.next) - m.low",
		"p/sample.go:28:2 step: m.calls++ comes after m.next = max(n, m.next) - m.low",
		"p/sample.go:20:8 step: m.sum += n becomes m.sum -= n",
		"p/sample.go:21:5 step: !m.on becomes m.on",
		"p/sample.go:22:3 step: without m.start()",
		"p/sample.go:25:7 step: n < m.low && n == m.last becomes !(n < m.low && n == m.last)",
		"p/sample.go:26:3 step: without return true of case n < m.low && n == m.last:",
		"p/sample.go:25:17 step: n < m.low && n == m.last becomes n < m.low || n == m.last",
		"p/sample.go:25:9 step: n < m.low becomes n <= m.low",
		"p/sample.go:25:22 step: n == m.last becomes n != m.last",
		"p/sample.go:26:10 step: return true becomes return false",
		"p/sample.go:28:9 step: m.calls++ becomes m.calls--",
		"p/sample.go:29:26 step: max(n, m.next) - m.low becomes max(n, m.next) + m.low",
		"p/sample.go:29:11 step: max(n, m.next) becomes min(n, m.next)",
		"p/sample.go:31:15 step: total >= m.low becomes total > m.low",
	}, names)
}

func TestAMutantDoesWhatItsNameSays(t *testing.T) {
	made, err := mutantsOf("p/sample.go", []byte(sampleSource))
	require.NoError(t, err)
	chosen, err := choose(made, "!m.on becomes m.on$", 0, "")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	broken, err := chosen[0].in([]byte(sampleSource))
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(sampleSource, "!m.on", "m.on", 1), string(broken))
}

func TestGeneratedMutantsAreTheSameEachTime(t *testing.T) {
	h := newTestHunter(t)
	once, err := generate(h.root)
	require.NoError(t, err)
	again, err := generate(h.root)
	require.NoError(t, err)
	assert.Equal(t, once, again)
	assert.Greater(t, len(once), 5000)
}

func TestEveryGeneratedMutantApplies(t *testing.T) {
	h := newTestHunter(t)
	all, err := generate(h.root)
	require.NoError(t, err)
	assertApply(t, h, some(all, effort.Of(len(all), 400), ""))
}

// A reason must be for a mutant that is still made.
func TestEveryEquivalentIsAMutant(t *testing.T) {
	h := newTestHunter(t)
	all, err := generate(h.root)
	require.NoError(t, err)
	found := map[string]bool{}
	for i := range all {
		found[key(&all[i])] = true
	}
	for k := range equivalents {
		assert.True(t, found[k], k)
	}
}

func TestASampleIsEven(t *testing.T) {
	from := []mutant{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e1"}, {Name: "f"}}
	for name, c := range map[string]struct {
		only   string
		sample int
		turn   string
		want   []mutant
	}{
		"all":                    {"", 0, "", from},
		"more than there are":    {"", 7, "a", from},
		"half of them":           {"", 3, "", []mutant{from[0], from[2], from[4]}},
		"some names":             {"[bd]", 0, "", []mutant{from[1], from[3]}},
		"a sample of some names": {"[a-d]", 2, "", []mutant{from[0], from[2]}},
		"another half":           {"", 3, "b", []mutant{from[1], from[3], from[5]}},
	} {
		chosen, err := choose(from, c.only, c.sample, c.turn)
		require.NoError(t, err)
		assert.Equal(t, c.want, chosen, name)
	}
	_, err := choose(from, "(", 0, "")
	assert.Error(t, err)
}
