package leasetest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMem(t *testing.T) {
	store := new(mem.Store)
	Run(t, Subject{Store: store, Step: store.Step})
}

// careless says yes to one claim in five that failed.
type careless struct {
	lease.Store
	n atomic.Int32
}

func (s *careless) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	won, err := s.Store.Acquire(ctx, c)
	return won || err == nil && s.n.Add(1)%5 == 0, err
}

// forgetful does not renew.
type forgetful struct{ lease.Store }

func (s *forgetful) Renew(_ context.Context, _ string, held []lease.Held) ([]string, error) {
	var kept []string
	for _, h := range held {
		kept = append(kept, h.Name)
	}
	return kept, nil
}

func TestAHistoryThatCannotBeIsNoticed(t *testing.T) {
	for name, store := range map[string]lease.Store{"careless": &careless{Store: new(mem.Store)}, "forgetful": &forgetful{new(mem.Store)}} {
		t.Run(name, func(t *testing.T) {
			history := record(t.Context(), store, "g", 1)
			assert.False(t, porcupine.CheckOperations(model, history))
		})
	}
}
