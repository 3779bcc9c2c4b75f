package node

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener in memory, because a test in virtual time cannot use sockets.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return new(net.TCPAddr) }

// visit returns the client's end of a new connection.
func (p pipes) visit() net.Conn {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours
}

// withPages plays a test against pages in virtual time.
func withPages(t *testing.T, play func(t *testing.T, visit func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes)
		server := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(newRoom(l)) }()
		play(t, l.visit)
		require.NoError(t, server.Close())
		assert.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
}

// A client has made a connection in advance, and another one has been served. The node does not wait for what they may say yet.
func TestPagesEndAlthoughClientsAreConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes)
		w := startWeb(l, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
		silent, served := l.visit(), l.visit()
		_, err := io.WriteString(served, "GET / HTTP/1.1\r\nHost: n\r\n\r\n")
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(served), nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		synctest.Wait()
		began := time.Now()
		require.NoError(t, w.close())
		assert.Less(t, time.Since(began), time.Second, "in virtual time")
		_, err = silent.Read(make([]byte, 1))
		assert.Error(t, err)
	})
}

// A request that is never done does not make the node fail.
func TestPagesEndAlthoughARequestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes)
		w := startWeb(l, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }), slog.New(slog.DiscardHandler))
		hangs := l.visit()
		_, err := io.WriteString(hangs, "GET / HTTP/1.1\r\nHost: n\r\n\r\n")
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, w.close())
		assert.Equal(t, patience, time.Since(began), "in virtual time")
	})
}

// lasts returns the time until the server disconnects a client that has sent some text.
func lasts(t *testing.T, c net.Conn, say string) time.Duration {
	t.Helper()
	began := time.Now()
	if say != "" {
		_, err := io.WriteString(c, say)
		require.NoError(t, err)
	}
	_, _ = io.Copy(io.Discard, c)
	return time.Since(began)
}

const whole = "GET / HTTP/1.1\r\nHost: n0\r\n\r\n"

func TestASlowWebClientIsDisconnected(t *testing.T) {
	withPages(t, func(t *testing.T, visit func() net.Conn) {
		t.Helper()
		assert.Equal(t, patience, lasts(t, visit(), ""), "in virtual time")
		assert.Equal(t, patience, lasts(t, visit(), "GET / HTTP/1.1\r\nHost:"))
		assert.Equal(t, idleTime, lasts(t, visit(), whole))
	})
}

// Nor is one waited for that does not read its answer.
func TestAWebClientThatDoesNotReadIsDisconnected(t *testing.T) {
	withPages(t, func(t *testing.T, visit func() net.Conn) {
		t.Helper()
		answered := func(wait time.Duration) bool {
			c := visit()
			_, err := io.WriteString(c, whole)
			require.NoError(t, err)
			<-time.After(wait)
			synctest.Wait()
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, c.Close())
			return err == nil
		}
		assert.True(t, answered(2*patience-1))
		assert.False(t, answered(2*patience))
	})
}

func TestTheHeaderOfARequestIsBounded(t *testing.T) {
	withPages(t, func(t *testing.T, visit func() net.Conn) {
		t.Helper()
		c := visit()
		go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: n0\r\nX: "+strings.Repeat("x", 2*maxHeader)) }()
		answer, _ := io.ReadAll(c)
		assert.Contains(t, string(answer), "431")
	})
}

// Many idle connections are bounded, and keep no client out.
func TestConnectionsOfWebClientsAreBounded(t *testing.T) {
	withPages(t, func(t *testing.T, visit func() net.Conn) {
		t.Helper()
		var ended int
		var crowd []net.Conn
		done := make(chan struct{}, 10*maxVisitors)
		for i := range 10 * maxVisitors {
			c := visit()
			crowd = append(crowd, c)
			go func() {
				_, _ = c.Read(make([]byte, 1))
				done <- struct{}{}
			}()
			synctest.Wait()
			ended += len(done)
			for range len(done) {
				<-done
			}
			require.Equal(t, min(i+1, maxVisitors), len(crowd)-ended)
		}
		c := visit()
		_, err := io.WriteString(c, whole)
		require.NoError(t, err)
		answer := make([]byte, 15)
		_, err = io.ReadFull(c, answer)
		require.NoError(t, err)
		assert.Equal(t, "HTTP/1.1 200 OK", string(answer))
		_ = c.Close()
		for _, c := range crowd {
			_ = c.Close()
		}
		synctest.Wait()
	})
}

// Metrics are collected for a few clients at a time. The others are told to come again.
func TestRequestsForMetricsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collected := make(chan struct{})
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 { <-collected; return 1 }))
		page := metricsPage(registry)
		var answers [maxScrapes + 2]*httptest.ResponseRecorder
		for i := range answers {
			answers[i] = httptest.NewRecorder()
			go page.ServeHTTP(answers[i], httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
			synctest.Wait()
		}
		close(collected)
		synctest.Wait()
		for i, answer := range answers {
			want := http.StatusOK
			if i >= maxScrapes {
				want = http.StatusServiceUnavailable
			}
			assert.Equal(t, want, answer.Code, i)
		}
	})
}
