package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnOverlapIsOfTwoCandidates(t *testing.T) {
	begin := time.Now()
	from := func(candidate, began, ended int) office {
		return office{candidate, begin.Add(time.Duration(began)), begin.Add(time.Duration(ended))}
	}
	for name, c := range map[string]struct {
		offices []office
		longest time.Duration
	}{
		"nobody leads":                        {nil, 0},
		"one after the other":                 {[]office{from(first, 0, 5), from(second, 5, 9)}, 0},
		"with a gap":                          {[]office{from(first, 0, 5), from(second, 7, 9)}, 0},
		"the first is late to leave":          {[]office{from(first, 0, 8), from(second, 5, 9)}, 3},
		"the order of the list is no matter":  {[]office{from(second, 5, 9), from(first, 0, 8)}, 3},
		"within the other's":                  {[]office{from(first, 0, 8), from(second, 5, 6)}, 1},
		"the longest counts":                  {[]office{from(first, 0, 8), from(second, 7, 8), from(second, 1, 5)}, 4},
		"one candidate's may lap over itself": {[]office{from(first, 0, 8), from(first, 5, 9)}, 0},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.longest, overlap(c.offices)) })
	}
}

func TestAnOfficeLastsAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecord()
		ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
		defer leave()
		go r.lead(ctx, second)
		all, err := r.await(t.Context(), leads(second))
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.NoError(t, sleep(t.Context(), time.Second))
		assert.Equal(t, time.Second, r.all()[0].ended.Sub(all[0].began), "until now")
		all, err = r.await(t.Context(), resigned(second))
		require.NoError(t, err)
		assert.Equal(t, 3*time.Second, all[0].ended.Sub(all[0].began))
	})
}

func TestAnEndedWaitReturnsItsReason(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errPatience)
	_, err := newRecord().await(over, leads(first))
	require.ErrorIs(t, err, errPatience)
}
