package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/invariant"
)

// A search that is stopped again and again finds the same as one that is not, and leaves no file behind.
func TestASearchGoesOnWhereItWasStopped(t *testing.T) {
	effort.Alone(t)
	t.Run("two members", func(t *testing.T) {
		goesOn(t, Bounds{Members: 2, Terms: 2, Beats: 1, Entries: 1}, 1)
	})
	t.Run("all but ability", func(t *testing.T) {
		effort.Long(t)
		goesOn(t, Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1, NoHints: true}, 2)
	})
	t.Run("ability", func(t *testing.T) {
		effort.Long(t)
		goesOn(t, Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1, NoPreVote: true, NoTransfer: true, NoHints: true, Ability: true}, 2)
	})
}

// goesOn stops a search more often than least.
func goesOn(t *testing.T, bounds Bounds, least int) {
	t.Helper()
	whole, err := Explore(t.Context(), Options{Bounds: bounds})
	require.NoError(t, err)
	require.True(t, whole.Complete)

	o := Options{Bounds: bounds, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	stops := 0
	for o.MaxStates = 100; ; o.MaxStates *= 2 {
		r, err := Explore(t.Context(), o)
		require.NoError(t, err)
		if r.Complete {
			assert.Greater(t, r.Before.States, uint64(200))
			assert.Less(t, r.Before.Transitions, r.Transitions)
			r.Memory, whole.Memory, r.Before = 0, 0, Counts{}
			assert.Equal(t, whole, r)
			break
		}
		assert.FileExists(t, o.Checkpoint)
		stops++
	}
	assert.Greater(t, stops, least)
	assert.NoFileExists(t, o.Checkpoint)
}

// A search with more messages than there is room for takes some for others. It must not write that over the
// old checkpoint, because a search resumed from it could end as complete and not be.
func TestASearchThatMistakesMessagesKeepsItsOldCheckpoint(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	o := Options{Bounds: Bounds{Members: 2, Terms: 2, Beats: 1, Entries: 1}, MaxStates: 500, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	_, err := Explore(t.Context(), o)
	require.NoError(t, err)
	good, err := os.ReadFile(o.Checkpoint)
	require.NoError(t, err)

	o.MaxStates = 0
	x := newSearch(o)
	require.NoError(t, x.start())
	for i := ledger(1); len(x.registry.messages.list) < mostMessages; i++ {
		x.model.message(message{engine: true, ledger: i})
	}
	r, err := x.run(t.Context())
	require.NoError(t, err)
	assert.Contains(t, r.Stopped, "different messages")
	assert.False(t, r.Complete)
	x.discovered = make([]discovery, 1)
	assert.Empty(t, x.store(), "what it finds is not kept any more")
	text, err := os.ReadFile(o.Checkpoint)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(good, text), "the checkpoint is the one from before")
}

// If a checkpoint cannot be written the search ends, and the last one is left to resume from.
func TestASaveThatFailsKeepsTheOldCheckpoint(t *testing.T) {
	effort.Alone(t)
	o := Options{Bounds: Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1}, MaxStates: 500, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	_, err := Explore(t.Context(), o)
	require.NoError(t, err)
	good, err := os.ReadFile(o.Checkpoint)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(o.Checkpoint+".partial", 0o700))

	for name, at := range map[string]struct {
		saved time.Time
		most  uint64
	}{
		"now and then":       {time.Time{}, 0},
		"when it is stopped": {time.Now(), 600},
	} {
		o.MaxStates = at.most
		x := newSearch(o)
		require.NoError(t, x.start())
		x.saved = at.saved
		r, err := x.run(t.Context())
		require.ErrorContains(t, err, "checkpoint.partial", name)
		assert.False(t, r.Complete, name)
		text, err := os.ReadFile(o.Checkpoint)
		require.NoError(t, err, name)
		assert.True(t, bytes.Equal(good, text), name)
	}
}

// A checkpoint may be written when new states have been kept and not yet checked. They are checked when the
// search is resumed, because they are not found again.
func TestUncheckedStatesAreCheckedAfterAResume(t *testing.T) {
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	x := beginning(o, 1, 2, 3)
	require.True(t, x.exchange(t.Context()))
	x.expand(&x.batch[0])
	require.NotEmpty(t, x.store())
	require.NoError(t, x.save())

	again := newSearch(x.options)
	again.model.rules = x.model.rules
	require.NoError(t, again.start())
	r, err := again.run(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	assert.Equal(t, invariant.WonByQuorum, r.Violation.Invariant)
	assert.EqualValues(t, x.states.count, r.States, "nothing else was looked at before")
	assert.NoFileExists(t, o.Checkpoint)
}

// A violation that plain machines did not reach is still one after a resume.
func TestAViolationInDoubtIsNotForgotten(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	x := beginning(o)
	x.unconfirmed, x.result.Violation = 1, doubtful(t)
	require.Nil(t, x.result.Violation.Script)
	require.NoError(t, x.save())

	r, err := Explore(t.Context(), x.options)
	require.NoError(t, err)
	assert.Zero(t, r.Frontier)
	assert.False(t, r.Complete)
	assert.Equal(t, x.result.Violation, r.Violation)
}

func TestACheckpointThatDoesNotFitIsRefused(t *testing.T) {
	o := Options{Bounds: Bounds{Members: 3, Terms: 1, Beats: 1}, MaxStates: 500, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	_, err := Explore(t.Context(), o)
	require.NoError(t, err)

	other := o
	other.Terms = 2
	_, err = Explore(t.Context(), other)
	require.ErrorContains(t, err, "its bounds are {Members:3 Terms:1")

	text, err := os.ReadFile(o.Checkpoint)
	require.NoError(t, err)
	for _, damaged := range [][]byte{text[:len(text)-1], []byte("hello"), append([]byte("x"), text[1:]...)} {
		require.NoError(t, os.WriteFile(o.Checkpoint, damaged, 0o600))
		_, err = Explore(t.Context(), o)
		require.ErrorContains(t, err, "it is damaged")
		require.ErrorContains(t, err, o.Checkpoint)
	}

	var head bytes.Buffer
	require.NoError(t, gob.NewEncoder(&head).Encode(checkpointHead{Bounds: o.Bounds}))
	sum := sha256.Sum256(head.Bytes())
	require.NoError(t, os.WriteFile(o.Checkpoint, append(head.Bytes(), sum[:]...), 0o600))
	_, err = Explore(t.Context(), o)
	require.ErrorContains(t, err, o.Checkpoint+": another build wrote it")
	require.ErrorContains(t, err, "remove the file to start again")
}
