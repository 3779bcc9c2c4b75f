// A node's web pages, for load balancers and for Prometheus.

package node

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hustings/hustings/memberstate"
)

type web struct {
	server *http.Server
	ended  chan struct{}
}

const (
	// patience is how long a web client may take for anything, idleTime how long it may
	// be idle.
	patience = 5 * time.Second
	idleTime = 30 * time.Second
	// maxVisitors bounds the connections of web clients, because each takes a file
	// descriptor and the store needs some.
	maxVisitors = 64
	// maxHeader bounds the header of a request, maxScrapes the concurrent requests for
	// metrics.
	maxHeader  = 8 << 10
	maxScrapes = 4
)

func serveWeb(address string, m *member) (*web, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", metricsPage(registry))
	pages.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	pages.HandleFunc("GET /readyz", m.readyPage)
	pages.HandleFunc("GET /leader", m.leaderPage)
	if m.host != nil {
		pages.HandleFunc("GET /drained", m.drainedPage)
	}
	return startWeb(l, pages, m.log), nil
}

func startWeb(l net.Listener, pages http.Handler, to *slog.Logger) *web {
	w, visited := &web{server: newServer(pages), ended: make(chan struct{})}, newRoom(l)
	w.server.RegisterOnShutdown(visited.dismissSilent)
	go func() {
		defer close(w.ended)
		if err := w.server.Serve(visited); !errors.Is(err, http.ErrServerClosed) {
			to.Error("the HTTP server has failed; its pages are no longer served", "error", err)
		}
	}()
	return w
}

func metricsPage(from prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

func newServer(pages http.Handler) *http.Server {
	return &http.Server{
		Handler: pages, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: 2 * patience, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0), // because clients could fill the log
	}
}

// room is a listener that closes the oldest connection when there are too many, so that idle
// connections keep no client out.
type room struct {
	net.Listener
	mu       sync.Mutex
	visitors *list.List // of *visitor, the oldest first
}

type visitor struct {
	net.Conn
	leave  func()
	spoken atomic.Bool // it has begun a request
}

func newRoom(l net.Listener) *room { return &room{Listener: l, visitors: list.New()} }

func (r *room) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	v := &visitor{Conn: conn}
	r.mu.Lock()
	place := r.visitors.PushBack(v)
	v.leave = sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.visitors.Remove(place)
	})
	var oldest *visitor
	if r.visitors.Len() > maxVisitors {
		oldest = r.visitors.Front().Value.(*visitor)
	}
	r.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return v, nil
}

// dismissSilent closes the connections over which nothing has ever come, such as those that HTTP clients make in advance. The
// server would wait for them for five seconds.
func (r *room) dismissSilent() {
	var silent []*visitor
	r.mu.Lock()
	for at := r.visitors.Front(); at != nil; at = at.Next() {
		if v := at.Value.(*visitor); !v.spoken.Load() {
			silent = append(silent, v)
		}
	}
	r.mu.Unlock()
	for _, v := range silent {
		_ = v.Close()
	}
}

func (v *visitor) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	if n > 0 {
		v.spoken.Store(true)
	}
	return n, err
}

func (v *visitor) Close() error {
	v.leave()
	return v.Conn.Close()
}

// leaderPage is 200 on the leader and 503 elsewhere, so that a load balancer that uses it as
// its health check sends all requests to the leader. With leases it is 200 only while no
// other node can lead.
func (m *member) leaderPage(w http.ResponseWriter, _ *http.Request) {
	s := m.election.Status()
	leads := s.Role == memberstate.Leader
	if m.leases {
		term, _, held := m.election.Lease()
		leads = leads && held && term == s.Term
	}
	if !leads {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintf(w, "group=%s term=%d leader=%s\n", s.Group, s.Term, s.Leader)
}

// close ends the pages. Visitors who take too long are cut off: that is no failure of the node.
func (w *web) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = w.server.Close()
	}
	<-w.ended
	return err
}
