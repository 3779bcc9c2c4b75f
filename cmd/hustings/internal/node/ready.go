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

// readiness says in words whether the node is ready.
func (m *member) readiness() (text string, ready bool) {
	if why := m.notReady(); why != "" {
		return "not ready: " + why, false
	}
	s := m.election.Status()
	return fmt.Sprintf("ready: %s leads term %d", s.Leader, s.Term), true
}

// eachChange calls a function now, and after every change of what readiness looks at, until the context ends. Calls may overlap.
func (m *member) eachChange(ctx context.Context, look func()) {
	var following sync.WaitGroup
	following.Go(func() {
		for range m.election.Watch(ctx) {
			look()
		}
	})
	if m.host != nil {
		following.Go(func() {
			for range m.host.WatchProgress(ctx) {
				look()
			}
		})
	}
	following.Wait()
}

// readyPage is 200 while the node is ready.
func (m *member) readyPage(w http.ResponseWriter, _ *http.Request) {
	text, ready := m.readiness()
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, text)
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
	m.eachChange(ctx, func() { v.look(m) })
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
