// A Redis that is unfit to keep leases.

package database_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
)

// redisWith serves one connection, as a Redis with this policy that knows no other command than INFO.
func redisWith(t *testing.T, policy string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if !assert.NoError(t, err) {
			return
		}
		commands := bufio.NewReader(c)
		for words, err := command(commands); err == nil; words, err = command(commands) {
			answer := "-ERR unknown command\r\n"
			if strings.EqualFold(words[0], "info") {
				text := "maxmemory_policy:" + policy + "\r\n"
				answer = fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
			}
			_, err := io.WriteString(c, answer)
			assert.NoError(t, err)
		}
		assert.NoError(t, c.Close())
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
