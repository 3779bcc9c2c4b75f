// Package engine is a small replicated storage engine on hustings: keys with values, in shards, each with a ledger that a
// quorum of the nodes has on disk. It is meant to be read, in this order:
//
//	engine.go     a node: its shards, and the host that elects their leaders
//	shard.go      a shard, and what its elector asks of it: where the ledger ends, Lead, Pause
//	ledger.go     the ledger, and how it gets to disk
//	disk.go       one disk for all shards: what they write goes together
//	mark.go       how it is noticed that the disk has lost something
//	leader.go     writing: to the ledger, to followers, until a quorum has it
//	follower.go   accepting what a leader sends
//	state.go      what the ledger does: values, and commands that are carried out once
//	read.go       reading, by lease and by quorum
//	transfer.go   followers that are too far behind
//	keys.go       where things are on disk
//	holdings.go   what must be given back
//
// hustings decides who leads, in which term, and who may take over. Everything about entries is here.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Network carries messages to other nodes. Send does not wait. Messages may be lost, repeated, or overtake one another,
// and are not changed after they were sent.
type Network interface {
	Send(to string, m *ledgerpb.Message)
}

// Config describes a node.
type Config struct {
	Self    string
	Members []memberstate.Member
	Shards  uint32
	Timing  elector.Timing
	// Leases lets leaders answer reads alone, as long as clocks do not run apart by more than the timing's drift margin. The price
	// is that nobody else is elected before a leader's lease has ended, even if its process is gone and all know it.
	Leases bool
	// Hold has the node lead only what nobody else can lead, until it has all that the leaders have. A node that has run before may lack
	// much: while it catches up, a shard that it leads waits.
	Hold bool

	// Dir is where the data is, and FS the file system; nil: that of the machine.
	Dir string
	FS  vfs.FS
	// Store is where the electors keep terms and votes.
	Store memberstate.Store
	// Elections and Network carry the messages of the electors and of the shards.
	Elections rpc.Transport
	Network   Network

	// Keep is how many entries stay after they have been applied, for followers that are a little behind; 0: 4,096. One that is further behind
	// is sent the state, in parts of about Part bytes; 0: 256 KiB.
	Keep uint64
	Part int
	// Sessions is for how many entries a session is remembered after it was opened; 0: 1,048,576. It has to be the same at all nodes, and is
	// counted in entries because all count the same ones.
	Sessions uint64

	// Failed is told once why the node cannot go on. Its process should end then: what is on disk is safe.
	Failed func(error)
	Logger *slog.Logger
}

// Engine is one node.
type Engine struct {
	disk   *disk
	fail   func(error)
	host   *elector.Host
	shards []*shard
	logger *slog.Logger
	beats  sync.WaitGroup
	stop   context.CancelFunc // nil: it has not started

	holds     bool // see Config.Hold
	heartbeat time.Duration
	slow      time.Duration // a disk that has not written for so long may hang
}

// Group is the name of a shard's group.
func Group(shard uint32) string { return fmt.Sprintf("shard-%d", shard) }

// ErrHasRun is the error of Create if a node has run on the data.
var ErrHasRun = errors.New("a node has run on them")

// ErrLost is the error of Open if the data lack what was synced.
var ErrLost = errors.New("they lack what was synced")

// Create makes the data of a node that has never run.
func Create(dir string, fs vfs.FS, shards uint32) error {
	if shards == 0 {
		return errors.New("a node has at least one shard")
	}
	db, err := pebble.Open(dir, options(fs, func(error) {}))
	if err == nil {
		err = errors.Join(create(db, shards), db.Close())
	}
	if err != nil {
		return fmt.Errorf("the data in %s: %w", dir, err)
	}
	return nil
}

func create(db *pebble.DB, shards uint32) error {
	rows, err := db.NewIter(&pebble.IterOptions{UpperBound: keyOfShards})
	if err != nil {
		return err
	}
	used := rows.First()
	if err := rows.Close(); err != nil || used {
		return cmp.Or(err, ErrHasRun)
	}
	return db.Set(keyOfShards, encode(&ledgerpb.Position{Index: uint64(shards)}), pebble.Sync)
}

// checkShards compares the number of shards with that of the data, because it decides where keys are.
func checkShards(db *pebble.DB, want uint32) error {
	has := new(ledgerpb.Position)
	if _, err := get(db, keyOfShards, has); err != nil {
		return err
	}
	if has.Index != uint64(want) {
		return fmt.Errorf("they are in %d shards, not in %d", has.Index, want)
	}
	return nil
}

// Open opens the data of a node. Start has it take part in all shards; Close ends it in any case.
func Open(c Config) (_ *Engine, err error) {
	members, err := memberstate.NewMembers(c.Members)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	fail := func(err error) { once.Do(func() { go c.Failed(err) }) }
	set := options(c.FS, fail)
	set.ErrorIfNotExists = true
	db, err := pebble.Open(c.Dir, set)
	if err != nil {
		return nil, fmt.Errorf("the data in %s: %w", c.Dir, err)
	}
	m, err := openMark(db, set.FS, c.Dir)
	if err != nil {
		return nil, fmt.Errorf("the data in %s: %w", c.Dir, errors.Join(err, db.Close()))
	}
	e := &Engine{disk: newDisk(db, m, fail), fail: fail, logger: cmp.Or(c.Logger, slog.Default())}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.end(context.Background()))
		}
	}()
	if e.host, err = elector.NewHost(elector.HostConfig{Self: c.Self, Store: c.Store, Transport: c.Elections, Logger: c.Logger, Stalled: e.stalled, Hold: c.Hold}); err != nil {
		return nil, err
	}
	if err := checkShards(db, c.Shards); err != nil {
		return nil, fmt.Errorf("the data in %s: %w", c.Dir, err)
	}
	transfers := make(chan struct{}, mostTransfers)
	for number := range c.Shards {
		s := &shard{
			number: number, group: Group(number), disk: e.disk, network: c.Network, members: members, self: c.Self, fail: fail,
			room: make(chan struct{}, mostWaiting), transfers: transfers, keep: cmp.Or(c.Keep, 4096), part: cmp.Or(c.Part, 256<<10),
			sessions: cmp.Or(c.Sessions, 1<<20), timing: c.Timing, begun: make(chan struct{}),
		}
		if err := s.load(); err != nil {
			return nil, err
		}
		e.shards = append(e.shards, s)
	}
	if err := e.join(c); err != nil {
		return nil, err
	}
	return e, nil
}

// join joins the groups of all shards.
func (e *Engine) join(c Config) error {
	electors, err := e.host.JoinAll(func(yield func(elector.GroupConfig) bool) {
		for _, s := range e.shards {
			if !yield(elector.GroupConfig{
				Group: s.group, Members: c.Members, Timing: c.Timing, Leases: c.Leases,
				LedgerEnd: s.ledgerEnd, Lead: s.lead, Pause: s.pause,
			}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	for i, el := range electors {
		e.shards[i].elector = el
	}
	e.holds, e.heartbeat, e.slow = c.Hold, c.Timing.Heartbeat, c.Timing.Detection()/2
	return nil
}

// Start has the node take part in all shards.
func (e *Engine) Start() error {
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	e.beats.Go(func() { e.beat(ctx) })
	for _, s := range e.shards {
		e.beats.Go(func() { e.watch(s.elector) })
	}
	return e.host.StartAll()
}

// watch ends the node if an elector ends by itself: its store has failed, or the engine has not kept its promise.
func (e *Engine) watch(el *elector.Elector) {
	<-el.Done()
	if err := el.Err(); err != nil {
		e.fail(err)
	}
}

// options are for many small writes and little memory.
func options(fs vfs.FS, fail func(error)) *pebble.Options {
	if fs == nil {
		fs = vfs.Default
	}
	return &pebble.Options{FS: fs, MemTableSize: 4 << 20, Logger: quiet{fail}, FormatMajorVersion: pebble.FormatNewest}
}

// quiet is a logger of pebble. What it calls fatal are failures of the disk, after which pebble must not go on.
type quiet struct{ fail func(error) }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (q quiet) Fatalf(format string, args ...any) {
	first, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n") // a stack may follow
	q.fail(errors.New(first))
	select {} // the process ends
}

// stalled names the shards that this node cannot lead, so that others do: all if the disk does not write, and those whose followers do not answer. It waits
// for half of the time after which a silent leader is taken for dead: to hand over costs less than to wait for longer.
func (e *Engine) stalled(ctx context.Context) (groups []string) {
	ctx, cancel := context.WithTimeout(ctx, e.slow)
	defer cancel()
	hangs := e.disk.works(ctx) != nil
	for _, s := range e.shards {
		if hangs || s.isCutOff() {
			groups = append(groups, s.group)
		}
	}
	return groups
}

// beat lets leaders send again what may have been lost.
func (e *Engine) beat(ctx context.Context) {
	ticker := time.NewTicker(e.heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, s := range e.shards {
				s.beat()
			}
			if e.holds {
				e.holds = !e.serves()
			}
		case <-ctx.Done():
			return
		}
	}
}

// serves has the node take its share of leading, if no shard lacks anything.
func (e *Engine) serves() bool {
	complete := true
	for _, s := range e.shards {
		if !s.isComplete() {
			complete = false
			s.askLeader()
		}
	}
	return complete && e.host.Serve() == nil
}

// Host is for operators.
func (e *Engine) Host() *elector.Host { return e.host }

// Receive takes a message from another node.
func (e *Engine) Receive(m *ledgerpb.Message) {
	if m.Shard >= uint32(len(e.shards)) {
		return
	}
	s, term := e.shards[m.Shard], memberstate.Term(m.Term)
	switch says := m.Says.(type) {
	case *ledgerpb.Message_Append:
		s.accept(term, m.From, says.Append)
	case *ledgerpb.Message_Matched:
		s.heed(term, m.From, says.Matched)
	case *ledgerpb.Message_Chunk:
		s.acceptChunk(term, m.From, says.Chunk)
	case *ledgerpb.Message_Chunked:
		s.heedChunk(term, m.From, says.Chunked)
	}
}

// Do does what a client asks for.
func (e *Engine) Do(ctx context.Context, r *ledgerpb.Request) *ledgerpb.Reply {
	if n := uint32(len(e.shards)); r.Shards != n || r.Shard >= n {
		return refused("the keys are in %d shards, and this is about shard %d of %d", n, r.Shard, r.Shards)
	}
	s := e.shards[r.Shard]
	switch asks := r.Asks.(type) {
	case *ledgerpb.Request_Command:
		return s.carryOut(ctx, asks.Command)
	case *ledgerpb.Request_Read:
		return s.look(ctx, asks.Read)
	}
	return refused("nothing was asked")
}

// Close hands over what the node leads, waits for voters that are catching up as long as the context allows, and ends.
func (e *Engine) Close(ctx context.Context) error {
	err := e.host.DrainPatiently(ctx)
	if err != nil && ctx.Err() == nil { // nobody is there to take over, so there is nobody to wait for
		e.logger.Warn("the node ends although it leads", "because", err)
		err = nil
	}
	return errors.Join(err, e.end(ctx))
}

// end ends what has begun.
func (e *Engine) end(ctx context.Context) (err error) {
	if e.host != nil {
		err = e.host.Close(ctx)
	}
	if e.stop != nil {
		e.stop()
	}
	e.beats.Wait()
	for _, s := range e.shards {
		s.close()
	}
	return errors.Join(err, e.disk.close())
}

// refused is the reply to what will never be carried out.
func refused(why string, args ...any) *ledgerpb.Reply {
	return &ledgerpb.Reply{Says: &ledgerpb.Reply_Refused{Refused: fmt.Sprintf(why, args...)}}
}
