package node

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
)

// shown is an election whose state the pages show.
type shown struct {
	holder
	status elector.Status
}

func (s *shown) Status() elector.Status { return s.status }

// page returns the answer of a page.
func page(of http.HandlerFunc) (code int, body string) {
	answer := httptest.NewRecorder()
	of(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return answer.Code, answer.Body.String()
}

func TestAMemberIsReadyWhileItKnowsALeader(t *testing.T) {
	ordered := elector.Status{Leader: "n2", Term: 4, Revision: 1, Inability: protocol.NotAbleOrdered}
	for want, s := range map[string]elector.Status{
		"not ready: the member is not able to lead: disk\n": {Leader: "n1", Term: 3, Revision: 1, Inability: protocol.NotAbleDisk},
		"ready: n2 leads term 4\n":                          ordered,
		"not ready: the store is not open yet\n":            {Leader: "n1", Term: 3},
		"not ready: the node has stopped\n":                 {Leader: "n1", Term: 3, Revision: 1, Stopped: true},
		"not ready: no leader is known in term 3\n":         {Term: 3, Revision: 1},
		"ready: n1 leads term 3\n":                          {Leader: "n1", Term: 3, Revision: 1},
	} {
		m := &member{election: &shown{status: s}} // it contends for a lease, and does not drain
		assert.False(t, m.drained())
		code, body := page(m.readyPage)
		assert.Equal(t, want, body)
		assert.Equal(t, strings.HasPrefix(want, "ready"), code == http.StatusOK, want)
	}
}

// With leases only a holder of the lease of its term is shown as the leader, because another one
// could lead otherwise.
func TestALeaderIsShownWhileItHoldsItsLease(t *testing.T) {
	for _, c := range []struct {
		role         memberstate.Role
		leases, held bool
		term         memberstate.Term
		code         int
	}{
		{memberstate.Leader, true, true, 3, http.StatusOK},
		{memberstate.Leader, true, false, 3, http.StatusServiceUnavailable},
		{memberstate.Leader, true, true, 2, http.StatusServiceUnavailable},
		{memberstate.Leader, false, false, 0, http.StatusOK},
		{memberstate.Follower, false, false, 0, http.StatusServiceUnavailable},
		{memberstate.Follower, true, true, 3, http.StatusServiceUnavailable},
	} {
		s := &shown{status: elector.Status{Group: "g", Role: c.role, Term: 3, Leader: "n"}}
		s.held, s.term, s.until = c.held, c.term, time.Now().Add(time.Hour)
		m := &member{election: s, leases: c.leases}
		code, body := page(m.leaderPage)
		assert.Equal(t, c.code, code, "%+v", c)
		assert.Equal(t, "group=g term=3 leader=n\n", body)
	}
}

// The pages are served with a bounded number of connections, and their end is no failure.
func TestThePagesOfANodeAreBounded(t *testing.T) {
	free, err := FreeAddresses(1)
	require.NoError(t, err)
	var log strings.Builder
	m := &member{metrics: metrics.New(), log: slog.New(slog.NewTextHandler(&log, nil))}
	require.NoError(t, m.openWeb(free[0]))
	var crowd []net.Conn
	for range maxVisitors + 1 {
		c, err := net.Dial("tcp", free[0])
		require.NoError(t, err)
		crowd = append(crowd, c)
	}
	require.NoError(t, crowd[0].SetReadDeadline(time.Now().Add(patience/2)))
	_, err = crowd[0].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the oldest one is closed before its time is up")
	for _, c := range crowd {
		require.NoError(t, c.Close())
	}
	require.NoError(t, m.closeWeb())
	assert.Empty(t, log.String())
	require.NoError(t, (&member{}).closeWeb(), "there are no pages")
}
