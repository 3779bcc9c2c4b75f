// A node's web pages, for load balancers and for Prometheus.

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// patience is how long a web client may take for anything.
const patience = 5 * time.Second

func serveWeb(address string, m *member) (*web, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	pages.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	pages.HandleFunc("GET /leader", m.leaderPage)
	w := &web{
		server: &http.Server{Handler: pages, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: 2 * patience},
		ended:  make(chan struct{}),
	}
	go func() {
		defer close(w.ended)
		if err := w.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			m.log.Error("the web pages are gone", "error", err)
		}
	}()
	return w, nil
}

// leaderPage is 200 on the leader and 503 elsewhere, so that a load balancer that
// takes it for a health check sends everyone to the leader. With leases it is 200
// only while no other node can be the leader.
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

func (w *web) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := w.server.Shutdown(ctx)
	<-w.ended
	return err
}
