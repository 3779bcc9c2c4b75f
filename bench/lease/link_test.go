package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask makes a call over a link, and returns how long the answer took.
func ask(ctx context.Context, l *link, done *int) (time.Duration, error) {
	from := time.Now()
	_, err := renew(ctx, l, 2, func() (int, error) {
		*done++
		return *done, nil
	})
	return time.Since(from), err
}

func TestALinkCounts(t *testing.T) {
	l, done := newLink(false), 0
	_, err := ask(t.Context(), l, &done)
	require.NoError(t, err)
	_, err = read(t.Context(), l, func() (int, error) { return 0, nil })
	require.NoError(t, err)
	before := l.asked()
	assert.Equal(t, load{reads: 1, writes: 1, renewed: 2}, before)
	_, err = write(t.Context(), l, func() (int, error) { return 0, nil })
	require.NoError(t, err)
	assert.Equal(t, load{writes: 1}, l.asked().since(before))
}

func TestALateAnswerIsTheLastAndItsRenewalIsExecutedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, done := newLink(false), 0
		l.late(time.Second)
		go func() {
			synctest.Wait()
			assert.Equal(t, 1, done, "it is executed before it is answered")
		}()
		took, err := ask(t.Context(), l, &done)
		require.NoError(t, err)
		assert.Equal(t, time.Second, took)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		took, err = ask(ctx, l, &done)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, took)
		assert.Equal(t, 1, done, "nothing gets through")
	})
}

func TestADeafDriverDoesNotHeedItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, done := newLink(true), 0
		l.stall()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { // an hour later
			_ = sleep(t.Context(), time.Hour)
			_ = l.close()
		}()
		took, err := ask(ctx, l, &done)
		require.ErrorIs(t, err, errCut)
		assert.Equal(t, time.Hour, took)
	})
}
