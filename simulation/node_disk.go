// A node and its disk: how long a save takes, whether it fails, and at which point of it the
// process dies.

package simulation

import (
	"errors"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// Save has the disk keep what a turn has changed.
func (n *node) Save(batch []memberstate.Record) {
	if !n.Alive {
		return
	}
	if n.doomed == CrashBeforeSave {
		n.dies(CrashBeforeSave)
		return
	}
	if len(batch) > 1 {
		n.world.met(SavedTogether)
	}
	n.Saving = max(n.world.now, 1)
	takes := n.write(batch) + n.Sluggish
	n.world.tracer.saves(n)
	switch {
	case n.trouble == SaveHangs: // the process is killed later
		n.Hung = true
		n.world.swarm.struck[SaveHangs]++
		n.world.follow(n.downFor, Strike{Fault: Crash, Node: n.Index})
	case n.doomed == CrashInSave, n.doomed == KillInSave:
		n.world.after(takes/2, diesInSave, n, n.Incarnation)
	default:
		n.world.after(takes, saveEnds, n, n.Incarnation)
	}
}

// diesInSave has the process die while it saves.
func (n *node) diesInSave(incarnation uint32) {
	switch {
	case !n.Alive || n.Incarnation != incarnation:
	case n.doomed != KillInSave:
		n.dies(CrashInSave)
	default:
		n.world.swarm.struck[KillInSave]++
		n.ends(func() { n.disk.Kill(n.torn) })
		n.comesBack(n.downFor)
		if n.powerFor > 0 {
			n.world.follow(n.downFor+n.powerFor, Strike{Fault: PowerCut, Node: n.Index, Lasts: n.downFor})
		}
	}
}

// saveEnded tells the process that the disk has finished.
func (n *node) saveEnded(incarnation uint32) {
	if !n.Alive || n.Incarnation != incarnation {
		return
	}
	if n.Paused || n.Stuck { // the process does not know yet
		n.saved = true
		return
	}
	trouble, batch := n.trouble, n.disk.Written
	err := n.sync()
	if err == nil {
		for i := range batch {
			m := &n.members[batch[i].Place].Member
			m.Saved = n.local()
			n.world.check.Kept(m, batch[i].Hard)
		}
		n.world.tracer.saved(n)
		if n.doomed == CrashBeforeSend {
			n.dies(CrashBeforeSend)
			return
		}
	}
	n.Saving = 0
	n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.TellSaved}, Err: err})
	if err != nil { // its members have stopped, and the process is started again
		n.dies(trouble)
	}
}

// drawDiskHang strikes the leader's disk, that of any node, or all.
func drawDiskHang(w *world, s *Strike) bool {
	if drawLeaderOrNode(w, s); w.swarm.random.IntN(4) == 0 {
		s.Node = nobody
	}
	return true
}

// hangDisk has a disk not return from any save for a while, or all disks if s.Node is nobody.
func hangDisk(w *world, s *Strike) bool {
	for i := range w.nodes {
		if s.Node == nobody || s.Node == i {
			at := *s
			at.Node = i
			w.nodes[i].Stuck = true
			w.lasting(&at, diskReturns)
		}
	}
	return true
}

// diskReturns ends a hang: the save that has begun ends.
func (n *node) diskReturns() {
	n.Stuck = false
	n.savesAfterAll()
}

// savesAfterAll tells the process that a save has ended meanwhile.
func (n *node) savesAfterAll() {
	if n.saved && n.Alive {
		n.saved = false
		n.saveEnded(n.Incarnation)
	}
}

// write begins to save records, and says how long that takes.
func (n *node) write(batch []memberstate.Record) time.Duration {
	w := n.world
	for i := range batch {
		r := &batch[i]
		if r.Outdated() {
			continue // the process is not started again
		}
		vote := memberstate.Nobody
		if r.Vote != "" {
			vote = w.seatOf(r.Vote)
		}
		n.disk.Write(w.place(r.Group), memberstate.HardState{Term: r.Term, Vote: vote, Promise: r.Promise})
	}
	normal, least, most := w.hurried(500*time.Microsecond), w.hurried(200*time.Microsecond), w.hurried(1200*time.Microsecond)
	if n.slowDisk {
		most += w.options.Timing.Detection()
	}
	return w.choices.Span(choice.Save, n.Index, least, most, normal)
}

// sync ends a save. A write that failed may have reached the disk all the same. After a sync that
// failed, the system has forgotten what was to be written: the next sync finds nothing to do, and
// succeeds.
func (n *node) sync() error {
	trouble := n.trouble
	switch n.trouble = 0; trouble {
	case SaveFails:
		return errSaveFailed
	case SyncFails:
		n.disk.Forget()
		return errSaveFailed
	default:
		return n.disk.Sync()
	}
}

// torn chooses what a crash leaves of what was written.
func (n *node) torn() uint64 { return n.world.choices.Number(choice.Torn, n.Index) }

// tearDisk is what a crash does to the disk.
func (n *node) tearDisk() { n.tore(n.disk.Crash(n.torn)) }

// cutPower is what a power cut does to the disk.
func (n *node) cutPower() { n.tore(n.disk.PowerCut(n.torn)) }

func (n *node) tore(cutOff bool) {
	if cutOff {
		n.world.swarm.struck[TornTail]++
	}
}

var errSaveFailed = errors.New("the disk has failed")
