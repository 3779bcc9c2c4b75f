// A Redis that is unfit to keep leases.

package database_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/lease"
)

// redisWith serves a Redis with this policy that knows no other command than INFO.
func redisWith(t *testing.T, policy string) (url string) {
	t.Helper()
	return redisThat(t, func(name string) string {
		if name != "info" {
			return "-ERR unknown command\r\n"
		}
		text := "maxmemory_policy:" + policy + "\r\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	})
}

// redisThat serves one connection after the other, as a Redis that answers a command like this. Without an answer it hangs up.
func redisThat(t *testing.T, answers func(name string) string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			commands := bufio.NewReader(c)
			for words, err := command(commands); err == nil; words, err = command(commands) {
				answer := answers(strings.ToLower(words[0]))
				if answer == "" {
					break
				}
				_, err := io.WriteString(c, answer)
				assert.NoError(t, err)
			}
			assert.NoError(t, c.Close())
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		<-ended
	})
	return "redis://" + l.Addr().String()
}

// command reads one command of a client.
func command(from *bufio.Reader) (words []string, err error) {
	var count int
	if _, err := fmt.Fscanf(from, "*%d\r\n", &count); err != nil {
		return nil, err
	}
	for range count {
		var length int
		if _, err := fmt.Fscanf(from, "$%d\r\n", &length); err != nil {
			return nil, err
		}
		text := make([]byte, length+len("\r\n"))
		if _, err := io.ReadFull(from, text); err != nil {
			return nil, err
		}
		words = append(words, string(text[:length]))
	}
	return words, nil
}

// A node ends with the reason instead of trying again: nothing but its operator can change that.
func TestARedisThatDropsLeasesIsUnfit(t *testing.T) {
	for policy, unfit := range map[string]bool{"allkeys-lru": true, "noeviction": false} {
		t.Run(policy, func(t *testing.T) {
			db, err := database.Open(redisWith(t, policy), database.ForCandidates)
			require.NoError(t, err)
			err = db.Prepare(t.Context())
			assert.NoError(t, db.Close())
			if !unfit {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, new(database.UnfitError))
			assert.ErrorContains(t, err, policy)
		})
	}
}

// A claim that is repeated after it was won would be lost to itself.
func TestACommandWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	var lost atomic.Int32
	url := redisThat(t, func(name string) string {
		if name == "hello" || name == "client" {
			return "-ERR unknown command\r\n"
		}
		lost.Add(1)
		return ""
	})
	db, err := database.Open(url, database.ForCandidates)
	require.NoError(t, err)
	_, err = db.Store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: time.Minute})
	require.Error(t, err, "whether it was won is not known")
	assert.NoError(t, db.Close())
	assert.EqualValues(t, 1, lost.Load())
}
