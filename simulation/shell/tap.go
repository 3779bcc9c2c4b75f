// This file stands between a host and the network, and between a host and its store. Here the
// judge sees everything that a member says, hears and saves, and a dead process is cut off.

package shell

import (
	"fmt"
	"sync"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// tap is the [rpc.Transport] of one process.
type tap struct {
	process *process
	inner   rpc.Transport

	mu      sync.Mutex
	handler rpc.Handler // nil: no host is served
	stop    func()
}

// Serve serves the host.
func (t *tap) Serve(h rpc.Handler) (stop func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.process.isDead() {
		return nil, errDied
	}
	end, err := t.inner.Serve(&ear{t.process, h})
	if err != nil {
		return nil, err
	}
	t.handler, t.stop = h, end
	return func() {
		t.dawdle()
		t.mu.Lock()
		t.handler, t.stop = nil, nil
		t.mu.Unlock()
		end()
	}, nil
}

// dawdle sometimes delays the end of serving, for which the closing of a host waits, and a group that is
// being started.
func (t *tap) dawdle() {
	p := t.process
	w := p.world()
	if !w.isCalm() && !p.isDead() && w.drawn64()%2 == 0 {
		p.busy.begin()
		w.sleepInTrouble(w.drawn(w.plan.beat))
		p.busy.end()
	}
}

// cut ends the serving of a process that has died.
func (t *tap) cut() {
	t.mu.Lock()
	end := t.stop
	t.handler, t.stop = nil, nil
	t.mu.Unlock()
	if end != nil {
		end()
	}
}

func (t *tap) serves() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.handler != nil
}

// hint tells the host that another process is gone.
func (t *tap) hint(node string) {
	t.mu.Lock()
	h := t.handler
	t.mu.Unlock()
	if h != nil {
		h.PeerLost(node)
	}
}

// flood hands the host many messages at once, of a group that it does not have. The host has
// room for this number once.
func (t *tap) flood() {
	t.mu.Lock()
	h := t.handler
	t.mu.Unlock()
	if h != nil {
		junk := make([]rpc.Message, 40_000)
		for i := range junk {
			junk[i] = rpc.Message{Group: "none", From: "nobody", To: t.process.node.name}
		}
		h.Receive(junk)
		t.crowd(h)
	}
}

// crowd hands the host beats and hints of more nodes than it expects to hear of at once. It drops beats that come
// later at this moment, for which nobody can blame the process.
func (t *tap) crowd(h rpc.Handler) {
	t.process.busy.begin()
	defer t.process.busy.end()
	beats, _ := h.(rpc.BeatHandler)
	for i := range 1100 {
		name := fmt.Sprintf("nobody %d", i)
		beats.ReceiveBeat(&rpc.Beat{From: name, To: t.process.node.name, Session: rpc.Session{Incarnation: 1}})
		h.PeerLost(name)
	}
}

// forge hands the host messages and beats in another node's name that no correct node sends. Only the first batch of
// messages is for a group that it may have.
func (t *tap) forge(from string, g *groupPlan) {
	t.mu.Lock()
	h := t.handler
	t.mu.Unlock()
	beats, _ := h.(rpc.BeatHandler)
	if h == nil || beats == nil {
		return
	}
	me, dropped := t.process.node.name, t.process.world().judge.forges(t.process)
	session := rpc.Session{Incarnation: 1 << 60}
	forgedBeats := []rpc.Beat{
		{From: from, To: "nobody", Session: session, Number: 1 << 60},
		{From: from, To: me, Session: rpc.Session{Of: session.Incarnation}, Number: 1 << 60},
		{From: from, To: me, Session: session, Number: 1 << 60, Standing: rpc.Standing{State: 200}},
		{From: from, To: me, Session: session, Number: 1 << 60, Leavings: []rpc.Leaving{{Group: g.name}}},
		{From: "nobody", To: me, Session: session, Number: 1 << 60},
	}
	for i := range forgedBeats {
		beats.ReceiveBeat(&forgedBeats[i])
		settle() // a later beat of the same node would take its place
	}
	members, err := memberstate.NewMembers(g.members)
	if err != nil {
		panic(err) // the plan is wrong
	}
	electorate := members.Digest()
	message := func(to string, kind rpc.Kind, digest uint64) rpc.Message {
		return rpc.Message{Group: g.name, From: from, To: to, Leader: from, Voters: digest, Body: rpc.Body{Kind: kind, Term: 1}}
	}
	forgedMessages := []rpc.Message{message("nobody", rpc.Heartbeat, electorate), message(me, 200, electorate), message(me, rpc.Heartbeat, electorate+1)}
	h.Receive(forgedMessages)
	settle()
	dropped(len(forgedBeats) + len(forgedMessages))
}

// Send sends, after a while if the process stands still.
func (t *tap) Send(to string, batch []rpc.Message) {
	p := t.process
	p.standStill()
	if !p.world().judge.said(p, to, batch) {
		return
	}
	other := nodeOf(to)
	if other < 0 || other >= len(p.world().nodes) {
		return
	}
	p.world().carry(p.node, p.world().nodes[other], batch)
}

// SendBeat sends a beat, after a while if the process stands still.
func (t *tap) SendBeat(to string, b *rpc.Beat) {
	p := t.process
	p.standStill()
	if p.world().judge.saidBeat(p, to, b) {
		p.world().carryBeat(p.node.name, to, b)
	}
}

// ear hands the messages that arrive to a host.
type ear struct {
	process *process
	handler rpc.Handler
}

// Receive hands a batch over, unless the process has died.
func (e *ear) Receive(batch []rpc.Message) {
	if e.process.world().judge.heard(e.process, batch) {
		e.handler.Receive(batch)
	}
}

// ReceiveBeat hands a beat over, unless the process has died.
func (e *ear) ReceiveBeat(b *rpc.Beat) {
	if h, ok := e.handler.(rpc.BeatHandler); ok && e.process.world().judge.heardBeat(e.process, b) {
		h.ReceiveBeat(b)
	}
}

// PeerLost hands a hint over.
func (e *ear) PeerLost(node string) { e.handler.PeerLost(node) }

// carry sends messages from one node to another. It converts the times in them from the sender's
// clock to the receiver's.
func (w *world) carry(from, to *node, batch []rpc.Message) {
	by := from.rate / to.rate
	converted := make([]rpc.Message, len(batch))
	for i, m := range batch {
		m.Lease, m.RoundTrip = time.Duration(float64(m.Lease)*by), time.Duration(float64(m.RoundTrip)*by)
		converted[i] = m
	}
	w.net.Join(from.name).Send(to.name, converted)
	if w.echoes() {
		w.after(w.drawn(2*w.plan.longest), func() {
			w.judge.struck(Echo)
			w.net.Join(from.name).Send(to.name, converted)
		})
	}
}

// carryBeat sends a beat from one node to another. It has no times in it.
func (w *world) carryBeat(from, to string, b *rpc.Beat) {
	send := func(b *rpc.Beat) { w.net.Join(from).(rpc.BeatTransport).SendBeat(to, b) }
	send(b)
	if w.echoes() {
		late := b.Clone()
		w.after(w.drawn(2*w.plan.longest), func() {
			w.judge.struck(Echo)
			send(late)
		})
	}
}

// storeTap is the [memberstate.Store] of one process.
type storeTap struct {
	process *process
	inner   *memberstate.FileStore
}

// Load loads a record from the store. The judge notes the node's own.
func (s *storeTap) Load(group string) (memberstate.Record, bool, error) {
	r, known, err := s.inner.Load(group)
	if group == "" && err == nil {
		s.process.world().judge.asked(s.process, &r)
	}
	return r, known, err
}

// Save saves a batch, which the judge notes before and after.
func (s *storeTap) Save(batch []memberstate.Record) error {
	p, j := s.process, s.process.world().judge
	j.saving(p, batch)
	p.busy.begin()
	err := s.inner.Save(batch)
	p.busy.end()
	j.saved(p, batch, err)
	yield()
	return err
}
