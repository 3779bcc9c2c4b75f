// The bounds that the handbook promises to operators are those of the code.

package grpcrpc

import (
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// promise is a sentence of docs/operation.md, with # for each number, and the code's numbers.
type promise struct {
	sentence string
	kept     []int
}

func promises(t *Transport) []promise {
	seconds := func(d time.Duration) int { return int(d / time.Second) }
	return []promise{
		{
			"| # without a permitted call or a Hello, for # s each; # of operators (without TLS: of all that are no peers); # of peers whose exchange has ended |",
			[]int{maxStrangers, seconds(t.guard.late), maxCallers, maxDismissed},
		},
		{"| calls of a connection at once | #; none beside", []int{maxStreams}},
		{"| headers of a call | # KiB |", []int{maxCallHeader >> 10}},
		{"| bytes before the Hello | # KiB, and the Hello itself # KiB |", []int{strangerBytes >> 10, maxHello >> 10}},
		{
			"| bytes between two packets of a peer | # KiB; a packet has # KiB and # messages, or a beat about # groups |",
			[]int{peerBytes >> 10, maxPacket >> 10, maxBatch, rpc.MaxLeavings},
		},
		{
			"| bytes of a connection's incomplete requests | # KiB, and # KiB for each of # calls until its answer is sent |",
			[]int{(maxHeld - maxStreams*callCost) >> 10, callCost >> 10, maxStreams},
		},
		{
			"| bytes of pings, resets and the like, until the node sends again | # KiB; a reset counts # KiB |",
			[]int{maxUnsent >> 10, callCost >> 10},
		},
		{"| malformed messages and beats of a peer | # in a # |", []int{maxMalformed, seconds(time.Minute)}},
		{"| messages that wait for one peer | # |", []int{maxQueued}},
		{"| silence on a connection | # s, and # s for the answer to a ping |", []int{seconds(aliveEvery), seconds(aliveWithin)}},
		{"| time without a call, except for peers | # s |", []int{seconds(idleTime)}},
		{"Each reason of `refused` is logged at most once a #;", []int{seconds(tellEvery)}},
		{"`two processes claim to be n0` once a #,", []int{seconds(tellTwoEvery)}},
		{"Every #, and when a new connection finds the files changed,", []int{seconds(verifyEvery)}},
	}
}

func TestTheHandbookPromisesTheBoundsOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	handbook := strings.Join(strings.Fields(string(text)), " ")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := New(Config{Self: "b", Listener: listener, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer tr.Close()
	for _, p := range promises(tr) {
		sentence := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(p.sentence), "#", `([\d,]*\d|second|minute)`))
		found := sentence.FindAllStringSubmatch(handbook, -1)
		if assert.Len(t, found, 1, "sentences like %q", p.sentence) {
			assert.Equal(t, numbers(t, found[0][1:]), p.kept, p.sentence)
		}
	}
}

// numbers reads the numbers of a sentence. A unit of time alone is its length in seconds.
func numbers(t *testing.T, words []string) (all []int) {
	t.Helper()
	digits := strings.NewReplacer(",", "", "second", "1", "minute", "60")
	for _, word := range words {
		n, err := strconv.Atoi(digits.Replace(word))
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}
