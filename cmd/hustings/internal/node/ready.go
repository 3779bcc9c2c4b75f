// Whether a node is ready, for those who start and stop nodes: its page, and the standard health service of gRPC.

package node

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// notReady says why the node is not ready; empty if it is: it takes its share of leading, is well, and knows a leader. One that was
// ordered not to lead is ready all the same, because that may be for good.
func (m *member) notReady() string {
	s := m.election.Status()
	switch {
	case s.Revision == 0: // the member takes part once its store is open
		return "the store is not open yet"
	case s.Stopped:
		return "the node has stopped"
	case m.host != nil && m.host.Progress().Standing.State != rpc.Serving:
		return fmt.Sprintf("the node is %v", m.host.Progress().Standing.State)
	case s.Inability != protocol.Able && s.Inability != protocol.NotAbleOrdered:
		return fmt.Sprintf("the member is not able to lead: %v", s.Inability)
	case s.Leader == "":
		return fmt.Sprintf("no leader is known in term %d", s.Term)
	}
	return ""
}

// readyPage is 200 while the node is ready.
func (m *member) readyPage(w http.ResponseWriter, _ *http.Request) {
	if why := m.notReady(); why != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not ready: %s\n", why)
		return
	}
	s := m.election.Status()
	_, _ = fmt.Fprintf(w, "ready: %s leads term %d\n", s.Leader, s.Term)
}

// drainedPage is 200 while the node drains and leads nothing, so that its process can be ended without a gap in service.
func (m *member) drainedPage(w http.ResponseWriter, _ *http.Request) {
	if !m.drained() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, "not drained")
		return
	}
	_, _ = fmt.Fprintln(w, "drained")
}

// healthService is gRPC's health service. It says what the page says.
type healthService struct {
	*health.Server
	mu sync.Mutex // so that what was looked at last is said last
}

// newHealthService is the service of a node that is not ready yet.
func newHealthService() *healthService {
	v := &healthService{Server: health.NewServer()}
	v.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return v
}

// follow says whether the member is ready, now and after every change, until the context ends.
func (v *healthService) follow(ctx context.Context, m *member) {
	var following sync.WaitGroup
	following.Go(func() {
		for range m.election.Watch(ctx) {
			v.look(m)
		}
	})
	following.Go(func() {
		for range m.host.WatchProgress(ctx) {
			v.look(m)
		}
	})
	following.Wait()
}

func (v *healthService) look(m *member) {
	v.mu.Lock()
	defer v.mu.Unlock()
	says := grpc_health_v1.HealthCheckResponse_SERVING
	if m.notReady() != "" {
		says = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	v.SetServingStatus("", says)
}
