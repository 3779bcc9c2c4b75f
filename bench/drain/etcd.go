// etcd's side: three nodes, each with one loop that drives a RawNode for every group, as careful users of many
// groups would: the loop takes everything that waits, and a disk saves what has gathered from all groups, one batch at a time,
// while the loop goes on with the other groups.

package drain

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/wire"
)

// message is the linked version's.
type message = *raftpb.Message

// together is how many transfers are under way at a time: as many as handovers of ours.
const together = 128

type cluster struct {
	watch   *watch
	servers [hosts]*server
}

// server is one node. Only its loop touches it.
type server struct {
	cluster *cluster
	index   int
	disk    *disk
	loop    *wire.Queue
	links   [hosts]*link
	stopped chan struct{}

	groups  []seat
	dirty   []int    // groups that may have a Ready
	waiting []saving // for the next batch
	saves   bool     // a batch is under way
	out     [hosts][]addressed
	drain   *draining // nil: it does not drain
	err     error
}

// seat is one group's member.
type seat struct {
	node         *etcd.Node[message]
	dirty, saves bool
	leads        bool
}

// saving is a Ready that is to be saved.
type saving struct {
	group int
	ready raft.Ready
	sent  bool
}

// addressed is a message of a group.
type addressed struct {
	group   int
	message message
}

// draining is a drain under way.
type draining struct {
	waiting []int
	moving  map[int]move
	turn    int
	done    chan struct{}
}

// move is a transfer.
type move struct {
	to uint64
	at time.Time
}

func foundEtcd(w *watch, disks [hosts]*disk, t Task) (side, error) {
	c := &cluster{watch: w}
	for i := range c.servers {
		s := &server{cluster: c, index: i, disk: disks[i], stopped: make(chan struct{}), groups: make([]seat, t.Groups)}
		for to := range s.links {
			if to != i {
				s.links[to] = newLink(t.Delay)
			}
		}
		c.servers[i] = s
	}
	for i, s := range c.servers {
		s.loop = wire.NewQueue(s.work)
		for g := range s.groups {
			storage, err := etcd.NewStorage(hosts)
			if err == nil {
				s.groups[g].node, err = etcd.NewNode((*raft.RawNode).Step, uint64(i+1), storage)
			}
			if err != nil {
				return nil, errors.Join(err, c.stop())
			}
		}
		go s.ticks(time.Duration(i) * beat / hosts)
	}
	return c, nil
}

// settle makes the members stand that should lead.
func (c *cluster) settle(ctx context.Context) error {
	for _, s := range c.servers {
		s.tell(func() {
			for g := range s.groups {
				if leader(g) == s.index {
					s.err = errors.Join(s.err, s.groups[g].node.Campaign())
					s.touch(g)
				}
			}
		})
	}
	if err := await(ctx, c.watch, asPlanned); err != nil {
		return err
	}
	return measure.Pass(ctx, 3*beat)
}

// drain transfers all that a node leads to the two others in turn.
func (c *cluster) drain(ctx context.Context, node int) error {
	s, done := c.servers[node], make(chan struct{})
	s.tell(func() {
		d := &draining{moving: map[int]move{}, done: done}
		for g := range s.groups {
			if s.groups[g].leads {
				d.waiting = append(d.waiting, g)
			}
		}
		s.drain = d
		s.next()
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
		return await(ctx, c.watch, func(_ int, s *sight) bool { return s.leader != node })
	}
}

// serve does nothing: nobody knows that the node was drained.
func (c *cluster) serve(int) error { return nil }

// idle is short, because nothing happens to groups that are led, and ticks of so many cost much.
func (c *cluster) idle() time.Duration { return beat }

func (c *cluster) stop() (err error) {
	for _, s := range c.servers {
		ended := make(chan struct{})
		if s.loop != nil {
			s.tell(func() {
				err = errors.Join(err, s.err)
				close(ended)
			})
			<-ended
			close(s.stopped)
			s.loop.End()
		}
		for _, l := range s.links {
			if l != nil {
				l.queue.End()
			}
		}
	}
	return err
}

// tell has the loop do something.
func (s *server) tell(what func()) { s.loop.Put(what) }

// ticks lets all members tick.
func (s *server) ticks(phase time.Duration) {
	time.Sleep(phase)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stopped:
			return
		case <-ticker.C:
			s.tell(s.tick)
		}
	}
}

func (s *server) tick() {
	for g := range s.groups {
		s.groups[g].node.Tick()
		s.touch(g)
	}
	if s.drain == nil {
		return
	}
	for g, m := range s.drain.moving {
		// etcd/raft gives up a transfer after an election time-out, and its leader takes proposals again.
		if time.Since(m.at) > (etcd.ElectionTicks+1)*beat {
			s.transfer(g, m.to)
		}
	}
}

// touch notes that a member may have a Ready.
func (s *server) touch(group int) {
	if seat := &s.groups[group]; !seat.dirty {
		seat.dirty = true
		s.dirty = append(s.dirty, group)
	}
}

// work handles each Ready of all members, except of those that wait for the disk, and sends what they say.
func (s *server) work() {
	for len(s.dirty) > 0 {
		g := s.dirty[len(s.dirty)-1]
		s.dirty = s.dirty[:len(s.dirty)-1]
		seat := &s.groups[g]
		seat.dirty = false
		if seat.saves {
			continue
		}
		if ready, ok := seat.node.Ready(); ok {
			s.handle(g, &ready)
		}
	}
	if len(s.waiting) > 0 && !s.saves {
		batch := s.waiting
		s.waiting, s.saves = nil, true
		go func() {
			s.disk.sync()
			s.tell(func() { s.saved(batch) })
		}()
	}
	for to := range s.out {
		if batch := s.out[to]; len(batch) > 0 {
			other := s.cluster.servers[to]
			s.out[to] = nil
			s.links[to].Send(func() { other.tell(func() { other.receive(batch) }) })
		}
	}
}

func (s *server) receive(batch []addressed) {
	for _, a := range batch {
		s.groups[a.group].node.Step(a.message)
		s.touch(a.group)
	}
}

// handle handles a Ready. A leader sends before it has saved.
func (s *server) handle(group int, ready *raft.Ready) {
	seat := &s.groups[group]
	s.look(group)
	one := saving{group, *ready, seat.node.Leads}
	if one.sent {
		s.send(group, ready)
	}
	if ready.MustSync && s.disk.save.Load() > 0 {
		seat.saves = true
		s.waiting = append(s.waiting, one)
		return
	}
	s.finish(&one)
}

func (s *server) saved(batch []saving) {
	s.saves = false
	for i := range batch {
		s.groups[batch[i].group].saves = false
		s.finish(&batch[i])
	}
}

func (s *server) finish(one *saving) {
	node := s.groups[one.group].node
	if err := node.Save(&one.ready); err != nil {
		s.err = errors.Join(s.err, err)
	}
	if !one.sent {
		s.send(one.group, &one.ready)
	}
	node.Done(&one.ready)
	s.touch(one.group)
}

func (s *server) send(group int, ready *raft.Ready) {
	s.groups[group].node.Send(ready, func(l etcd.Label, m message) {
		s.out[l.To-1] = append(s.out[l.To-1], addressed{group, m})
	})
}

// look notes when a member begins to lead, and when it leads no more.
func (s *server) look(group int) {
	seat := &s.groups[group]
	if seat.node.Leads == seat.leads {
		return
	}
	if seat.leads = seat.node.Leads; seat.leads {
		s.cluster.watch.leads(s.index, group, seat.node.Term)
		return
	}
	if s.drain == nil {
		return
	}
	if _, moved := s.drain.moving[group]; moved {
		delete(s.drain.moving, group)
		s.next()
	}
}

// next begins transfers, as many as may be under way.
func (s *server) next() {
	d := s.drain
	for len(d.moving) < together && len(d.waiting) > 0 {
		g := d.waiting[0]
		d.waiting = d.waiting[1:]
		to := (s.index + 1 + d.turn%(hosts-1)) % hosts
		d.turn++
		s.transfer(g, uint64(to+1))
	}
	if len(d.moving) == 0 {
		close(d.done)
		s.drain = nil
	}
}

func (s *server) transfer(group int, to uint64) {
	s.drain.moving[group] = move{to, time.Now()}
	s.cluster.watch.pauses(group) // it drops proposals from here on
	s.groups[group].node.TransferLeader(to)
	s.touch(group)
}
