// Package rpctest is the acceptance test for any [rpc.Transport]. Call [Run] from a test
// of the transport:
//
//	func TestTransport(t *testing.T) {
//		rpctest.Run(t, func(t *testing.T, node string) rpc.Transport { ... })
//	}
//
// A transport may lose messages, so no test demands that a single message arrives. It
// sends the message until one arrives. The tests of beats are skipped unless the transport
// is an [rpc.BeatTransport].
package rpctest

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// Endpoints makes the endpoint of a node. Each test needs a network of its own; it asks for
// the nodes "a", "b" and "c", once each. Endpoints registers its cleanup with t.
type Endpoints func(t *testing.T, node string) rpc.Transport

// patience bounds every wait. Only a failing test waits that long.
const patience = 30 * time.Second

// Run checks that a transport keeps the contract.
func Run(t *testing.T, endpoints Endpoints) {
	t.Helper()
	tests := map[string]func(*stand){
		"every field arrives":                     (*stand).everyFieldArrives,
		"the sender uses its batch again":         (*stand).senderUsesItsBatchAgain,
		"only the addressee hears":                (*stand).onlyTheAddresseeHears,
		"a large batch arrives":                   (*stand).largeBatchArrives,
		"an empty batch is nothing":               (*stand).emptyBatchIsNothing,
		"sending to an unknown node does nothing": (*stand).sendingToNobodyDoesNothing,
		"a stuck handler delays no other node":    (*stand).stuckHandlerDelaysNoOther,
		"after stop no call comes":                (*stand).afterStopNoCallComes,
		"stop waits for the call under way":       (*stand).stopWaitsForTheCallUnderWay,
		"one handler at a time":                   (*stand).oneHandlerAtATime,
		"sends may be concurrent":                 (*stand).sendsMayBeConcurrent,
		"messages before Serve do no harm":        (*stand).beforeServing,
	}
	maps.Copy(tests, beatTests())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &stand{t: t, nodes: map[string]rpc.Transport{}}
			for _, node := range []string{"a", "b", "c"} {
				s.nodes[node] = endpoints(t, node)
			}
			test(s)
		})
	}
}

// stand is one test's network.
type stand struct {
	t     *testing.T
	nodes map[string]rpc.Transport
}

func (s *stand) node(name string) rpc.Transport { return s.nodes[name] }

// ear is a handler that keeps its messages, and can be made to block.
type ear struct {
	heard chan rpc.Message
	block chan struct{} // nil: never
}

func newEar() *ear { return &ear{heard: make(chan rpc.Message, 10000)} }

func (e *ear) Receive(batch []rpc.Message) {
	if e.block != nil {
		<-e.block
	}
	for _, m := range batch {
		select {
		case e.heard <- m:
		default: // enough
		}
	}
}

func (e *ear) PeerLost(string) {}

// serve delivers what arrives at a node to h until the test ends.
func (s *stand) serve(node string, h rpc.Handler) (stop func()) {
	s.t.Helper()
	stop, err := s.node(node).Serve(h)
	require.NoError(s.t, err)
	s.t.Cleanup(stop)
	return stop
}

// message is a small message from one node to another.
func message(from, to string, round uint32) rpc.Message {
	return rpc.Message{Group: "g", From: from, To: to, Voters: 1, Body: rpc.Body{Kind: rpc.VoteRequest, Round: round, Term: 1}}
}

// sendUntil lets a send a batch again and again until a message is heard, and returns that message.
func (s *stand) sendUntil(to string, e *ear, batch ...rpc.Message) rpc.Message {
	s.t.Helper()
	return until(s, e.heard, func() { s.node("a").Send(to, batch) })
}

// until sends again and again until something is heard, and returns that.
func until[T any](s *stand, heard <-chan T, send func()) T {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		send()
		select {
		case it := <-heard:
			return it
		case <-again.C:
		case <-deadline.C:
			s.t.Fatalf("nothing arrived within %v", patience)
		}
	}
}

// within fails the test if do blocks.
func (s *stand) within(what string, do func()) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-done:
	case <-deadline.C:
		s.t.Fatalf("%s did not return within %v", what, patience)
	}
}

func (s *stand) everyFieldArrives() {
	e := newEar()
	s.serve("b", e)
	full := fullMessage(s.t)
	full.From, full.To = "a", "b"
	assert.Equal(s.t, full, s.sendUntil("b", e, full))
}

func (s *stand) onlyTheAddresseeHears() {
	b, c := newEar(), newEar()
	s.serve("b", b)
	s.serve("c", c)
	s.sendUntil("b", b, message("a", "b", 1))
	s.sendUntil("c", c, message("a", "c", 2))
	for range len(c.heard) {
		assert.EqualValues(s.t, 2, (<-c.heard).Round)
	}
}

func (s *stand) largeBatchArrives() {
	e := newEar()
	s.serve("b", e)
	const size = 1000
	batch := make([]rpc.Message, size)
	for i := range batch {
		batch[i] = message("a", "b", uint32(i))
	}
	missing := size
	seen := make([]bool, size)
	for missing > 0 {
		m := s.sendUntil("b", e, batch...)
		for heard := true; heard; {
			if !seen[m.Round] {
				seen[m.Round] = true
				missing--
			}
			select {
			case m = <-e.heard:
			default:
				heard = false
			}
		}
	}
	assert.NotContains(s.t, seen, false)
}

func (s *stand) emptyBatchIsNothing() {
	e := newEar()
	s.serve("b", e)
	s.within("Send", func() { s.node("a").Send("b", nil) })
	assert.EqualValues(s.t, 1, s.sendUntil("b", e, message("a", "b", 1)).Round)
}

func (s *stand) sendingToNobodyDoesNothing() {
	s.within("Send", func() { s.node("a").Send("nobody", []rpc.Message{message("a", "nobody", 1)}) })
	e := newEar()
	s.serve("b", e)
	assert.EqualValues(s.t, 1, s.sendUntil("b", e, message("a", "b", 1)).Round)
}

func (s *stand) beforeServing() {
	s.within("Send", func() {
		for range 1000 {
			s.node("a").Send("b", []rpc.Message{message("a", "b", 1)})
		}
	})
	e := newEar()
	s.serve("b", e)
	assert.EqualValues(s.t, 1, s.sendUntil("b", e, message("a", "b", 1)).Round)
}

func (s *stand) stuckHandlerDelaysNoOther() {
	stuck, c := newEar(), newEar()
	stuck.block = make(chan struct{})
	s.serve("b", stuck)
	s.t.Cleanup(func() { close(stuck.block) }) // before the handler is stopped
	s.serve("c", c)
	s.within("Send to a stuck node", func() {
		for range 100_000 {
			s.node("a").Send("b", []rpc.Message{message("a", "b", 1)})
		}
	})
	assert.EqualValues(s.t, 2, s.sendUntil("c", c, message("a", "c", 2)).Round)
}

func (s *stand) afterStopNoCallComes() {
	e := newEar()
	stop := s.serve("b", e)
	s.sendUntil("b", e, message("a", "b", 1))
	s.within("stop", stop)
	for range len(e.heard) {
		<-e.heard
	}
	s.node("a").Send("b", []rpc.Message{message("a", "b", 2)})
	s.within("a second stop", stop)
	again := newEar()
	s.serve("b", again)
	s.within("a late stop", stop) // the next handler is none of its business
	s.sendUntil("b", again, message("a", "b", 3))
	assert.Empty(s.t, e.heard)
}

func (s *stand) stopWaitsForTheCallUnderWay() {
	s.stopWaitsFor(func() { s.node("a").Send("b", []rpc.Message{message("a", "b", 1)}) })
}

// stopWaitsFor lets a handler be called by send, and stops it meanwhile.
func (s *stand) stopWaitsFor(send func()) {
	s.t.Helper()
	e := &blockingEar{entered: make(chan struct{}), leave: make(chan struct{})}
	stop := s.serve("b", e)
	until(s, e.entered, send)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	soon := time.NewTimer(10 * time.Millisecond)
	defer soon.Stop()
	select {
	case <-stopped:
		s.t.Error("stop returned while a call was under way")
	case <-soon.C:
	}
	close(e.leave)
	s.within("stop", func() { <-stopped })
}

// blockingEar closes entered when it is called, and returns once leave is closed.
type blockingEar struct {
	once           sync.Once
	entered, leave chan struct{}
}

func (e *blockingEar) Receive([]rpc.Message) { e.ReceiveBeat(nil) }

func (e *blockingEar) ReceiveBeat(*rpc.Beat) {
	e.once.Do(func() { close(e.entered) })
	<-e.leave
}

func (e *blockingEar) PeerLost(string) {}

func (s *stand) oneHandlerAtATime() {
	first := newEar()
	stop := s.serve("b", first)
	_, err := s.node("b").Serve(newEar())
	require.Error(s.t, err)
	s.sendUntil("b", first, message("a", "b", 1))
	stop()
	second := newEar()
	s.serve("b", second)
	s.sendUntil("b", second, message("a", "b", 2))
}

func (s *stand) sendsMayBeConcurrent() {
	e := newEar()
	s.serve("b", e)
	var senders sync.WaitGroup
	for i := range 10 {
		senders.Go(func() {
			for range 100 {
				s.node("a").Send("b", []rpc.Message{message("a", "b", uint32(i))})
				s.node("c").Send("b", []rpc.Message{message("c", "b", uint32(i))})
			}
		})
	}
	s.within("Send", senders.Wait)
	assert.Contains(s.t, []string{"a", "c"}, s.sendUntil("b", e, message("a", "b", 1)).From)
}

// fullMessage has a value in every field, even in fields that are added later.
func fullMessage(t *testing.T) rpc.Message {
	t.Helper()
	var m rpc.Message
	fill(t, &m, 0)
	m.Kind, m.Result, m.Mark = rpc.VoteResponse, rpc.RejectAlreadyVoted, rpc.Won
	require.True(t, m.Result.Answers(m.Kind), fmt.Sprint(m))
	return m
}
