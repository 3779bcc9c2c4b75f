// How one file replaces another.
//
// A file that is full is replaced by one that begins with the same records. The new file is
// durable as a whole before it takes the name, so at every moment the name stands for a file
// with every save that was acknowledged. After a crash there is never a choice between two.
//
// The next file is prepared long before it is needed: a goroutine fills it with zeros, slice
// by slice, while saves go on. Its descriptor stays open, with a lock on it, and becomes the
// store's. The full file then becomes the next one: it gets a second name before it loses the
// first, is filled with zeros, and waits. So a store never needs more than two files with
// their blocks and descriptors, unless it outgrows them or its file system has no hard links.
//
// If the next file cannot be prepared, the store reports that, tries again later, and goes on
// with the present file. A save fails only if the present file is full as well.
//
// The names beside the store's, and why no crash mixes them up:
//
//   - NAME.new is the next file, at any stage. It is filled with zeros, so it must never
//     be the store's file. It never is, because the rename that makes it the store removes this
//     name, and is durable before the full file gets the name. Besides, each open file is
//     locked, and a file cannot be locked twice: if somebody has made NAME.new a name of the
//     store, opening it fails, and the name is removed.
//   - NAME.old is a second name of the store's file, or of its predecessor. It is never
//     used; a process that finds it when it starts removes it. It is that of the store's file
//     if there is a NAME.new, because a predecessor is renamed to that before the store gets a
//     second name. If there is no NAME, it shows that there was one.
//
// Somebody may remove these names, or give them to other files, while the store is open. So
// the store checks that a name still stands for the right file before it uses the name.

package memberstate

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
)

// next is the file that will replace the present one.
type next struct {
	mu      sync.Mutex // held while a slice is filled, and while the file replaces the present one
	file    File       // nil: there is none
	zeroed  int64      // bytes at its beginning that are durably zero
	linked  bool       // the present file has the name NAME.old, too
	lost    bool       // the replacement has failed, and this file may be the store now
	workers sync.WaitGroup
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
	start := s.broken == nil && !p.ready && !p.working && p.wait == 0
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

// prepare prepares the next file until it is ready or a step fails.
func (s *FileStore) prepare() {
	if !s.addWorker() {
		return
	}
	defer s.next.workers.Done()
	pages := s.snapshotPages()
	for {
		s.next.mu.Lock()
		if s.next.lost {
			s.next.mu.Unlock()
			return
		}
		done, err := s.step(pages)
		if s.endStep(done, err) {
			return
		}
	}
}

// endStep unlocks the next file after a step, and says whether the step was the last one.
func (s *FileStore) endStep(done bool, err error) (last bool) {
	s.mu.Lock()
	p := &s.preparation
	before, left, closed := p.failed, s.left, s.broken != nil
	last = done || closed || err != nil
	if last {
		p.working, p.ready, p.failed, p.wait = false, done, err, 0
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

// step does a small part of the preparation for a snapshot of this many pages, and says
// whether the next file is ready.
func (s *FileStore) step(pages uint32) (done bool, err error) {
	if err := s.findNext(); err != nil {
		return false, err
	}
	if !s.next.linked {
		s.link()
	}
	size, want, err := s.wanted(pages)
	if err != nil || s.next.zeroed >= want {
		return err == nil, err
	}
	return false, s.fillSlice(size, want)
}

// snapshotPages is the number of pages that the header and all records take in a half.
func (s *FileStore) snapshotPages() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	length, one := 0, []byte(nil)
	for _, r := range s.records {
		one = appendRecord(one[:0], &r)
		length += len(one)
	}
	return headerPages + pagesFor(length)
}

// wanted returns how many bytes the next file has, and how many it should have: several times
// the size of the snapshot, so that writing snapshots stays a small part of the work.
func (s *FileStore) wanted(pages uint32) (size, want int64, err error) {
	if size, err = s.next.file.Size(); err != nil {
		return 0, 0, s.failed("look at "+s.nextName(), nowhere, err)
	}
	return size, max(size, int64(max(s.room, 8*(pages-headerPages)))*pageSize), nil
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
	n.file, n.zeroed = f, 0
	return nil
}

var zeroSlice [slice]byte

// fillSlice fills another part of the next file with zeros. It writes them and leaves no hole,
// so that a save finds its blocks allocated. No part crosses the present end of the file, because
// only the bytes after the end need new room.
func (s *FileStore) fillSlice(size, want int64) error {
	n := &s.next
	if n.zeroed < size {
		want = size
	}
	part := zeroSlice[:min(slice, want-n.zeroed)]
	if _, err := n.file.WriteAt(part, n.zeroed); err != nil {
		return s.failed("fill "+s.nextName(), n.zeroed, err)
	}
	if err := n.file.Sync(); err != nil {
		return s.failed("sync "+s.nextName(), n.zeroed, err)
	}
	n.zeroed += int64(len(part))
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

// renew writes all records, updated by the batch, into the next file, and replaces the present
// file by it.
func (s *FileStore) renew(batch []Record) (err error) {
	n := &s.next
	n.mu.Lock()
	defer func() {
		n.lost = err != nil
		n.mu.Unlock()
	}()
	all := maps.Clone(s.records)
	for _, r := range batch {
		all[r.Group] = r
	}
	payload := encodeRecords(sorted(all))
	if err := s.fillEnough(headerPages + pagesFor(len(payload))); err != nil {
		return err
	}
	t, err := s.writeNext(payload)
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

// fillEnough fills the next file until it has room for a snapshot of this many pages and for at
// least as many pages of saves. If the disk is full, room for the snapshot is enough.
func (s *FileStore) fillEnough(pages uint32) error {
	if err := s.findNext(); err != nil {
		return err
	}
	n := &s.next
	if enough := int64(max(s.room, 4*pages)) * pageSize; n.zeroed >= enough {
		return nil
	}
	size, want, err := s.wanted(pages)
	for err == nil && n.zeroed < want {
		err = s.fillSlice(size, want)
	}
	if least := int64(max(s.room, 2*pages)) * pageSize; n.zeroed >= least {
		return nil
	}
	return err
}

// writeNext writes the header and the snapshot to the next file, durably.
func (s *FileStore) writeNext(snapshot []byte) (tail, error) {
	n := &s.next
	size, err := n.file.Size()
	if err != nil {
		return tail{}, s.failed("look at "+s.nextName(), nowhere, err)
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	t := tail{
		file: binary.LittleEndian.Uint64(id[:]), generation: s.tail.generation + 1, mended: s.tail.mended,
		half: uint32(n.zeroed / pageSize / 2), next: headerPages + pagesFor(len(snapshot)), batch: snapshotBatch + 1,
	}
	h := header{half: t.half, size: uint64(size), generation: t.generation, mended: t.mended, node: s.node}
	content := append(layOut(t.file, headerBatch, h.encode()), layOut(t.file, snapshotBatch, snapshot)...)
	for _, page := range []uint32{0, t.half} {
		moveTo(content, page)
		if _, err := n.file.WriteAt(content, int64(page)*pageSize); err != nil {
			return t, s.failed("write "+s.nextName(), int64(page)*pageSize, err)
		}
	}
	if err := n.file.Sync(); err != nil {
		return t, s.failed("sync "+s.nextName(), nowhere, err)
	}
	return t, nil
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
		return nil
	}
	old, linked := s.file, n.linked
	s.file, n.file, n.zeroed, n.linked = n.file, nil, 0, false
	switch {
	case linked:
		n.file = old
	case old != nil:
		_ = old.Close() // it is of no use any more
	}
	return nil
}

// closeBoth closes the present and the next file.
func (s *FileStore) closeBoth() error {
	n := &s.next
	err := n.file.Close()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	s.file, n.file, n.zeroed, n.linked = nil, nil, 0, false
	return err
}
