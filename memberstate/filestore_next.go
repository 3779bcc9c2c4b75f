// How one file replaces another.
//
// A file that is full is replaced by one that begins with the same records. The new file is
// durable as a whole before it takes the name, so at every moment the name stands for a file
// with every save that was acknowledged. After a crash there is never a choice between two.
//
// The next file is prepared long before it is needed: a goroutine fills it with zeros, slice
// by slice, and later copies the records to it, piece by piece, while saves go on. Its
// descriptor stays open, with a lock on it, and becomes the store's. The full file then becomes
// the next one: it gets a second name before it loses the first, is filled with zeros, and
// waits. So a store never needs more than two files with their blocks and descriptors, unless
// it outgrows them or its file system has no hard links.
//
// A save needs the goroutine to be ready when the file is full. If it is behind by then, for
// whatever reason, each save does a few of its steps (see keepUp). So no save, not even the
// one that finds the file full, waits for more than that, however many records there are.
//
// If the next file cannot be prepared, the store reports that, tries again later, and goes on
// with the present file. A save fails only if the present file is full as well; the save that
// finds it full tries to do all that is missing.
//
// The names beside the store's, and why no crash mixes them up:
//
//   - NAME.new is the next file, at any stage. It is filled with zeros, so it must never
//     be the store's file. It never is, because the rename that makes it the store removes this
//     name, and is durable before the full file gets the name. Besides, each open file is
//     locked, and a file cannot be locked twice: if somebody has made NAME.new a name of the
//     store, opening it fails, and the name is removed. Nor is it ever read: a process that
//     finds it when it starts fills it with zeros, whatever had been copied to it.
//   - NAME.old is a second name of the store's file, or of its predecessor. It is never
//     used; a process that finds it when it starts removes it. It is that of the store's file
//     if there is a NAME.new, because a predecessor is renamed to that before the store gets a
//     second name. If there is no NAME, it shows that there was one.
//
// Somebody may remove these names, or give them to other files, while the store is open. So
// the store checks that a name still stands for the right file before it uses the name.

package memberstate

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// next is the file that will replace the present one.
type next struct {
	mu      sync.Mutex // held during a step, and while the file replaces the present one
	file    File       // nil: there is none
	linked  bool       // the present file has the name NAME.old, too
	lost    bool       // the replacement has failed, and this file may be the store now
	workers sync.WaitGroup

	// How far it is. This changes only while both mu and the store's mu are held, so it may be read with either.
	size   int64 // of the file
	zeroed int64 // bytes at its beginning that are durably zero, or were when copying began
	stuck  bool  // it cannot grow
	copy   copying
}

// preparation is the progress of preparing the next file.
type preparation struct {
	ready    bool
	working  bool
	failed   error // why it is not ready
	wait     uint  // saves until the next attempt
	lastWait uint  // saves between the last attempt and the one before
}

const (
	slice       = 256 << 10 // bytes between two syncs: few, so that a save waits little for them
	longestWait = 64        // saves between two attempts
	pace        = 4         // saved pages for a step
)

// Suffixes of the store's other names.
const (
	nextSuffix = ".new"
	oldSuffix  = ".old"
)

func (s *FileStore) nextName() string { return s.path + nextSuffix }
func (s *FileStore) oldName() string  { return s.path + oldSuffix }

// prepareNext begins to prepare the next file in the background, unless that is done, under
// way, or to be tried later because it has failed.
func (s *FileStore) prepareNext() {
	s.mu.Lock()
	p := &s.preparation
	if p.wait > 0 {
		p.wait--
	}
	start := s.broken == nil && !p.working && p.wait == 0 && (!p.ready || s.hasWork())
	p.working = p.working || start
	s.mu.Unlock()
	if !start {
		return
	}
	if d, ok := s.disk.(interface{ Background(work func()) }); ok {
		d.Background(s.prepare)
		return
	}
	go s.prepare()
}

// addWorker registers a goroutine that Close waits for. It returns false if the store is closed
// or broken.
func (s *FileStore) addWorker() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return false
	}
	s.next.workers.Add(1)
	return true
}

// prepare prepares the next file as far as it can be now, or until a step fails.
func (s *FileStore) prepare() {
	if !s.addWorker() {
		return
	}
	defer s.next.workers.Done()
	for {
		s.next.mu.Lock()
		if s.next.lost {
			s.next.mu.Unlock()
			return
		}
		if s.endStep(s.step(false), true) {
			return
		}
	}
}

// keepUp has a save do steps that the goroutine should have done. It may put off one step for every few pages that are
// left, and then the next file is ready when there are none. So a save does one step for every few pages of the save before, and
// those that the records need which that one has added.
func (s *FileStore) keepUp() {
	for s.isBehind() {
		s.next.mu.Lock()
		if s.endStep(s.step(true), false) {
			return
		}
	}
}

func (s *FileStore) isBehind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, pieces := s.missing(0)
	steps := (bytes+slice-1)/slice + int64(pieces)
	return s.preparation.wait == 0 && steps > int64(s.left/pace)
}

// endStep unlocks the next file after a step, of the goroutine or of a save, and says whether the step was the last one.
func (s *FileStore) endStep(err error, goroutine bool) (last bool) {
	s.mu.Lock()
	p := &s.preparation
	done := err == nil && !s.hasWork()
	before, left, closed := p.failed, s.left, s.broken != nil
	last = done || closed || err != nil
	if last {
		p.working = p.working && !goroutine
		p.ready, p.failed, p.wait = done, err, 0
	}
	switch {
	case err != nil:
		p.lastWait = min(max(1, 2*p.lastWait), longestWait)
		p.wait = p.lastWait
	case done:
		p.lastWait = 0
	}
	s.mu.Unlock()
	s.next.mu.Unlock()
	if last && !closed {
		s.reports.nextFile(before, err, left)
	}
	return last
}

// missing is what the next file needs until it can replace the present one and take a batch of so many pages: bytes that have to
// be filled with zeros, and pieces that have to be copied.
func (s *FileStore) missing(batch uint32) (bytes int64, pieces uint32) {
	n := &s.next
	if !n.copy.begun && (!n.stuck || n.zeroed < s.least(batch)) {
		bytes = max(0, s.wanted(batch)-n.zeroed)
	}
	return bytes, s.piecesLeft()
}

// hasWork says whether something is missing that the goroutine should do now. It copies late, because what is saved later has to be
// copied again.
func (s *FileStore) hasWork() bool {
	bytes, pieces := s.missing(0)
	return bytes > 0 || pieces > 0 && (s.late || s.next.copy.begun)
}

// wanted is how many bytes the next file should have: several times the size of the snapshot, so that writing snapshots
// stays a small part of the work. A batch may be larger than all records before it.
func (s *FileStore) wanted(batch uint32) int64 {
	return max(s.next.size, int64(max(s.room, 8*s.snapshotPages(), 8*batch))*pageSize)
}

// least is with how many bytes it can do. If the disk is full, room for the snapshot is enough.
func (s *FileStore) least(batch uint32) int64 {
	return int64(max(s.room, 2*(headerPages+s.snapshotPages()+batch))) * pageSize
}

// step does a small part of the preparation, if there is something to do. A save that is behind copies even if it is early.
func (s *FileStore) step(early bool) error {
	n := &s.next
	if err := s.findNext(); err != nil {
		return err
	}
	if !n.linked {
		s.link()
	}
	s.mu.Lock()
	bytes, pieces := s.missing(0)
	copies := pieces > 0 && (early || s.late || n.copy.begun)
	s.mu.Unlock()
	switch {
	case bytes > 0:
		return s.fillSlice(0)
	case copies:
		if err := s.copyPiece(); err != nil {
			return err
		}
		return s.syncNext(nowhere)
	}
	return nil
}

// findNext keeps the next file if it still has its name. Otherwise it opens the file of that name,
// or makes an empty one.
func (s *FileStore) findNext() error {
	n := &s.next
	if n.file != nil && n.file.HasName(s.oldName()) {
		if err := s.disk.Rename(s.oldName(), s.nextName()); err != nil {
			return s.failed("rename "+s.oldName(), nowhere, err)
		}
	}
	if n.file != nil && n.file.HasName(s.nextName()) {
		return nil
	}
	if n.file != nil {
		_ = n.file.Close() // it has lost its name, so it is of no use
		n.file = nil
	}
	name := s.nextName()
	if err := ignoreMissing(s.disk.Remove(s.oldName())); err != nil {
		return s.failed("remove "+s.oldName(), nowhere, err)
	}
	f, err := s.disk.Open(name)
	switch {
	case errors.Is(err, ErrStoreLocked), errors.Is(err, fs.ErrPermission): // the store itself, or another user's file
		if err := s.disk.Remove(name); err != nil {
			return s.failed("remove "+name, nowhere, err)
		}
		fallthrough
	case errors.Is(err, fs.ErrNotExist):
		f, err = s.disk.Create(name)
	}
	if err != nil {
		return s.failed("create "+name, nowhere, err)
	}
	return s.takeNext(f)
}

// takeNext makes a file, whatever it contains, the next one. Nil: there is none.
func (s *FileStore) takeNext(f File) error {
	var size int64
	var failed error
	if f != nil {
		var err error
		if size, err = f.Size(); err != nil {
			failed, f = errors.Join(s.failed("look at "+s.nextName(), nowhere, err), f.Close()), nil
		}
	}
	n := &s.next
	s.mu.Lock()
	defer s.mu.Unlock()
	n.file, n.size, n.zeroed, n.stuck, n.copy = f, size, 0, false, copying{}
	s.records.takeAgain()
	return failed
}

var zeroSlice [slice]byte

// fillSlice fills another part of the next file with zeros. It writes them and leaves no hole,
// so that a save finds its blocks allocated. No part crosses the present end of the file, because
// only the bytes after the end need new room.
func (s *FileStore) fillSlice(batch uint32) error {
	n := &s.next
	s.mu.Lock()
	bytes, _ := s.missing(batch)
	s.mu.Unlock()
	if n.zeroed < n.size {
		bytes = min(bytes, n.size-n.zeroed)
	}
	part := zeroSlice[:min(slice, bytes)]
	_, err := n.file.WriteAt(part, n.zeroed)
	if err != nil {
		err = s.failed("fill "+s.nextName(), n.zeroed, err)
	} else {
		err = s.syncNext(n.zeroed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		n.stuck = n.zeroed >= s.least(batch)
		return err
	}
	n.zeroed += int64(len(part))
	n.size = max(n.size, n.zeroed)
	return nil
}

func (s *FileStore) syncNext(at int64) error {
	if err := s.next.file.Sync(); err != nil {
		return s.failed("sync "+s.nextName(), at, err)
	}
	return nil
}

// Lost returns an error that wraps ErrStoreLost if the name of a store is missing, and its second
// name shows that there was one. CreateFile refuses then, too.
func (o FileOptions) Lost(path string) error {
	disk, second := o.disk(), path+oldSuffix
	if named(disk, path) || !named(disk, second) {
		return nil
	}
	todo := "It may be older than the store was. If the store cannot be found, this node must come back under another id"
	if named(disk, path+nextSuffix) {
		todo = "It is the same file: rename it back"
	}
	return fmt.Errorf("%w: there is %s. %s", ErrStoreLost, second, todo)
}

// named says whether there is a file of this name, even one that cannot be opened.
func named(disk Disk, name string) bool {
	f, err := disk.Open(name)
	if err == nil {
		_ = f.Close() // it was not written
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// link gives the present file a second name, so that it can become the next file after its
// replacement. Where that is impossible, each next file is a new one.
func (s *FileStore) link() {
	s.next.linked = replacesOpenFiles && s.disk.Link(s.path, s.oldName()) == nil
}

// renew replaces the present file by the next one, which has room for a batch of so many pages.
func (s *FileStore) renew(batch uint32) (err error) {
	n := &s.next
	n.mu.Lock()
	defer func() {
		n.lost = err != nil
		n.mu.Unlock()
	}()
	if err := s.prepareRest(batch); err != nil {
		return err
	}
	t, err := s.finishCopy()
	if err != nil {
		return err
	}
	if err := s.replace(); err != nil {
		return err
	}
	s.tail = t
	s.mu.Lock()
	s.preparation.ready, s.preparation.wait = false, 0
	s.mu.Unlock()
	return nil
}

// prepareRest does what is missing. That is a few steps at most, unless the goroutine could not do its work, or the batch is large.
func (s *FileStore) prepareRest(batch uint32) error {
	if err := s.findNext(); err != nil {
		return err
	}
	if !s.hasRoom(batch) {
		if err := s.takeNext(s.next.file); err != nil {
			return err
		}
	}
	for {
		s.mu.Lock()
		bytes, pieces := s.missing(batch)
		s.mu.Unlock()
		var err error
		switch {
		case bytes > 0:
			if err = s.fillSlice(batch); s.next.stuck {
				err = nil // it can do with what there is
			}
		case pieces > 0:
			err = s.copyPiece()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// replace makes the next file the store. The full file becomes the next one if it has a second
// name.
func (s *FileStore) replace() error {
	n := &s.next
	if !replacesOpenFiles {
		if err := s.closeBoth(); err != nil {
			return s.failed("close", nowhere, err)
		}
	}
	if err := s.disk.Rename(s.nextName(), s.path); err != nil {
		return s.failed("replace", nowhere, err)
	}
	if err := s.dir.Sync(); err != nil {
		return s.failed("sync the directory", nowhere, err)
	}
	if !replacesOpenFiles {
		f, err := s.disk.Open(s.path)
		if err != nil {
			return s.failed("open", nowhere, err)
		}
		s.file = f
		return s.takeNext(nil)
	}
	old, linked := s.file, n.linked
	s.file, n.linked = n.file, false
	if !linked {
		if old != nil {
			_ = old.Close() // it is of no use any more
		}
		old = nil
	}
	return s.takeNext(old)
}

// closeBoth closes the present and the next file.
func (s *FileStore) closeBoth() error {
	n := &s.next
	err := n.file.Close()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	s.file, n.file, n.linked = nil, nil, false
	return err
}
