// What clients saw, and whether one copy of the data could have answered so.

package simulated_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// asked is one question of a client, about one key.
type asked struct {
	does       string // put, get, swap, delete
	key        string
	old, value string
}

// seen is the answer to it.
type seen struct {
	unknown bool // it may have happened, or not
	found   bool
	value   string
}

// history is what happened, in the order in which it did.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	all   []porcupine.Operation
}

// begin is the moment before a question.
func (h *history) begin() int64 { return h.clock.Add(1) }

// end keeps a question and its answer. What may yet happen has no end.
func (h *history) end(client int, began int64, a asked, s seen) {
	ended := h.clock.Add(1)
	if s.unknown {
		if a.does == "get" {
			return
		}
		ended = 1 << 60
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: a, Call: began, Output: s, Return: ended})
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
			key := o.Input.(asked).key
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
		now, a, s := state.(register), input.(asked), output.(seen)
		switch a.does {
		case "get":
			return now.there == s.found && now.value == s.value, now
		case "put":
			return true, register{true, a.value}
		case "delete":
			return true, register{}
		}
		same := now.there == (a.old != "") && now.value == a.old
		switch {
		case same && (s.unknown || s.found):
			return true, register{true, a.value}
		case same:
			return false, now
		}
		return s.unknown || !s.found, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// check says why no copy of the data could have answered so; empty if one could.
func (h *history) check() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(model, h.all, time.Minute) {
	case porcupine.Illegal:
		return "the answers are not those of one copy of the data"
	case porcupine.Unknown:
		return "there was no time to check the answers"
	}
	return ""
}
