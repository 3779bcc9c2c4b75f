// Package history is for tests: it has what clients saw, and says whether one copy of the data could have answered so.
package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hustings/hustings/examples/ledger/client"
)

// Asked is one question of a client, about one key.
type Asked struct {
	Does       string // put, get, swap, delete
	Key        string
	Old, Value string
}

// Seen is the answer to it.
type Seen struct {
	Unknown bool // it may have happened, or not
	Found   bool
	Value   string
}

// History is what happened, in the order in which it did.
type History struct {
	clock atomic.Int64
	mu    sync.Mutex
	all   []porcupine.Operation
}

// Begin is the moment before a question.
func (h *History) Begin() int64 { return h.clock.Add(1) }

// End keeps a question and its answer. What may yet happen has no end.
func (h *History) End(number int, began int64, a Asked, s Seen) {
	ended := h.clock.Add(1)
	if s.Unknown {
		if a.Does == "get" {
			return
		}
		ended = 1 << 60
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: number, Input: a, Call: began, Output: s, Return: ended})
}

// register is a key as its clients see it: a value, or none.
type register struct {
	there bool
	value string
}

var model = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string][]porcupine.Operation{}
		for _, o := range all {
			key := o.Input.(Asked).Key
			keys[key] = append(keys[key], o)
		}
		parts := make([][]porcupine.Operation, 0, len(keys))
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		now, a, s := state.(register), input.(Asked), output.(Seen)
		switch a.Does {
		case "get":
			return now.there == s.Found && now.value == s.Value, now
		case "put":
			return true, register{true, a.Value}
		case "delete":
			return true, register{}
		}
		same := now.there == (a.Old != "") && now.value == a.Old
		switch {
		case same && (s.Unknown || s.Found):
			return true, register{true, a.Value}
		case same:
			return false, now
		}
		return s.Unknown || !s.Found, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// Check says why no copy of the data could have answered so; empty if one could.
func (h *History) Check() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(model, h.all, time.Minute) {
	case porcupine.Illegal:
		return "the answers are not those of one copy of the data"
	case porcupine.Unknown:
		return "there was no time to check the answers"
	default:
		return ""
	}
}

// Len is how many questions there are.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// LastPut is a value that a key was given lately.
func (h *History) LastPut(key string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range slices.Backward(h.all) {
		if a := o.Input.(Asked); a.Key == key && a.Does == "put" {
			return a.Value
		}
	}
	return ""
}

// Kinds are what clients may ask; some more often than others.
var Kinds = []string{"get", "get", "put", "put", "swap", "delete"}

// Ask asks a question and keeps what comes. An error is one that a client must not get.
func (h *History) Ask(ctx context.Context, c *client.Client, number int, a Asked, quorum bool) error {
	key, s := []byte(a.Key), Seen{}
	var err error
	began := h.Begin()
	switch a.Does {
	case "get":
		var value []byte
		value, s.Found, err = c.Get(ctx, key, quorum)
		s.Value = string(value)
	case "put":
		err = c.Put(ctx, key, []byte(a.Value))
	case "delete":
		err = c.Delete(ctx, key)
	case "swap":
		var old []byte
		if a.Old != "" {
			old = []byte(a.Old)
		}
		s.Found, err = c.Swap(ctx, key, old, []byte(a.Value))
	}
	if errors.Is(err, client.ErrNothing) {
		return nil // so nobody may ever see that it was carried out
	}
	s.Unknown = err != nil
	h.End(number, began, a, s)
	if errors.Is(err, client.ErrUnknown) {
		return nil
	}
	return err
}
