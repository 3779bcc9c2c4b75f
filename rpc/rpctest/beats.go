// The tests of a transport that carries beats.

package rpctest

import (
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// beatTests are the tests of beats. They are skipped if the transport carries none.
func beatTests() map[string]func(*stand) {
	tests := map[string]func(*stand){
		"every field of a beat arrives":                   (*stand).everyFieldOfABeatArrives,
		"the largest beat arrives":                        (*stand).largestBeatArrives,
		"the sender uses its beat again":                  (*stand).senderUsesItsBeatAgain,
		"the handler may keep a beat":                     (*stand).handlerMayKeepABeat,
		"only the addressee hears a beat":                 (*stand).onlyTheAddresseeHearsABeat,
		"sending a beat to an unknown node does nothing":  (*stand).sendingABeatToNobodyDoesNothing,
		"beats before Serve do no harm":                   (*stand).beatsBeforeServing,
		"beats for a stuck handler delay no other node":   (*stand).stuckHandlerOfBeatsDelaysNoOther,
		"after stop no beat comes":                        (*stand).afterStopNoBeatComes,
		"stop waits for the beat under way":               (*stand).stopWaitsForTheBeatUnderWay,
		"a handler that takes no beats receives messages": (*stand).handlerWithoutBeatsReceivesMessages,
		"beats and messages may be sent concurrently":     (*stand).beatsMayBeSentConcurrently,
	}
	for name, test := range tests {
		tests[name] = func(s *stand) {
			if _, ok := s.node("a").(rpc.BeatTransport); !ok {
				s.t.Skip("the transport carries no beats")
			}
			test(s)
		}
	}
	return tests
}

// beatEar is an ear that keeps its beats, too.
type beatEar struct {
	*ear
	beats chan *rpc.Beat
}

func newBeatEar() beatEar { return beatEar{newEar(), make(chan *rpc.Beat, 10000)} }

func (e beatEar) ReceiveBeat(b *rpc.Beat) {
	if e.block != nil {
		<-e.block
	}
	select {
	case e.beats <- b:
	default: // enough
	}
}

// beat is a small beat of a.
func beat(to string, number uint64) *rpc.Beat {
	return &rpc.Beat{
		From: "a", To: to, Session: rpc.Session{Incarnation: 1}, Number: number,
		Leavings: []rpc.Leaving{{Group: "g", Term: 1, Number: uint32(number)}},
	}
}

// sendBeat lets a send a beat.
func (s *stand) sendBeat(to string, b *rpc.Beat) { s.node("a").(rpc.BeatTransport).SendBeat(to, b) }

// beatUntil lets a send a beat again and again until one is heard, and returns that one.
func (s *stand) beatUntil(to string, e beatEar, b *rpc.Beat) *rpc.Beat {
	s.t.Helper()
	return until(s, e.beats, func() { s.sendBeat(to, b) })
}

func (s *stand) everyFieldOfABeatArrives() {
	e := newBeatEar()
	s.serve("b", e)
	full := new(rpc.Beat)
	fill(s.t, full, 0)
	full.From, full.To, full.Standing.State = "a", "b", rpc.Drained
	assert.Equal(s.t, full, s.beatUntil("b", e, full))
}

func (s *stand) largestBeatArrives() {
	e := newBeatEar()
	s.serve("b", e)
	largest := beat("b", ^uint64(0))
	largest.Leavings = make([]rpc.Leaving, rpc.MaxLeavings)
	for i := range largest.Leavings {
		largest.Leavings[i] = rpc.Leaving{
			Group: strings.Repeat("g", rpc.MaxGroupLength), Term: ^memberstate.Term(0), Number: ^uint32(0), Released: true,
		}
	}
	assert.Equal(s.t, largest, s.beatUntil("b", e, largest))
}

func (s *stand) onlyTheAddresseeHearsABeat() {
	b, c := newBeatEar(), newBeatEar()
	s.serve("b", b)
	s.serve("c", c)
	s.beatUntil("b", b, beat("b", 1))
	s.beatUntil("c", c, beat("c", 2))
	for range len(c.beats) {
		assert.EqualValues(s.t, 2, (<-c.beats).Number)
	}
}

func (s *stand) sendingABeatToNobodyDoesNothing() {
	s.within("SendBeat", func() { s.sendBeat("nobody", beat("nobody", 1)) })
	e := newBeatEar()
	s.serve("b", e)
	assert.EqualValues(s.t, 2, s.beatUntil("b", e, beat("b", 2)).Number)
}

func (s *stand) beatsBeforeServing() {
	s.within("SendBeat", func() {
		for range 1000 {
			s.sendBeat("b", beat("b", 1))
		}
	})
	e := newBeatEar()
	s.serve("b", e)
	assert.EqualValues(s.t, 1, s.beatUntil("b", e, beat("b", 1)).Number)
}

func (s *stand) stuckHandlerOfBeatsDelaysNoOther() {
	stuck, c := newBeatEar(), newBeatEar()
	stuck.block = make(chan struct{})
	s.serve("b", stuck)
	s.t.Cleanup(func() { close(stuck.block) }) // before the handler is stopped
	s.serve("c", c)
	s.within("SendBeat to a stuck node", func() {
		for range 100_000 {
			s.sendBeat("b", beat("b", 1))
		}
	})
	assert.EqualValues(s.t, 2, s.beatUntil("c", c, beat("c", 2)).Number)
}

func (s *stand) afterStopNoBeatComes() {
	e := newBeatEar()
	stop := s.serve("b", e)
	s.beatUntil("b", e, beat("b", 1))
	s.within("stop", stop)
	for range len(e.beats) {
		<-e.beats
	}
	s.sendBeat("b", beat("b", 2))
	again := newBeatEar()
	s.serve("b", again)
	s.beatUntil("b", again, beat("b", 3))
	assert.Empty(s.t, e.beats)
}

func (s *stand) stopWaitsForTheBeatUnderWay() {
	s.stopWaitsFor(func() { s.sendBeat("b", beat("b", 1)) })
}

func (s *stand) handlerWithoutBeatsReceivesMessages() {
	e := newEar()
	s.serve("b", e)
	for round := range uint32(100) {
		s.sendBeat("b", beat("b", 1))
		assert.LessOrEqual(s.t, s.sendUntil("b", e, message("a", "b", round)).Round, round)
	}
}

func (s *stand) beatsMayBeSentConcurrently() {
	e := newBeatEar()
	s.serve("b", e)
	var senders sync.WaitGroup
	for range 10 {
		senders.Go(func() {
			for i := range uint64(100) {
				s.sendBeat("b", beat("b", i))
				s.node("a").Send("b", []rpc.Message{message("a", "b", uint32(i))})
			}
		})
	}
	s.within("Send", senders.Wait)
	s.sendUntil("b", e.ear, message("a", "b", 1))
	assert.Equal(s.t, "a", s.beatUntil("b", e, beat("b", 1)).From)
}
