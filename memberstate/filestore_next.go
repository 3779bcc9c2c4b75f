// How one file follows another.
//
// A file that is full is replaced by one that holds the same records at its beginning.
// That one is durable as a whole before it takes the name, so at every moment the
// name stands for a file with everything that was acknowledged: there is never
// a choice between two, and no old one that must be told apart.
//
// The next file is made ready long before it is needed: filled with zeros, slice by
// slice, by a goroutine beside the saves. Its descriptor stays open, with a lock on it,
// and goes on to be the store's. The full file then becomes the next one: it has been
// given a second name before it loses the first, is filled with zeros, and waits. So
// two files with their blocks and descriptors are all that a store ever needs. Only if
// it outgrows them, or its file system knows no second names, does it need new ones.
//
// What cannot be had for the next file stops nobody. It is told, and tried again, while
// the present file serves on; only a save that finds no room in it any more must fail.
//
// The names beside the store's, and why no crash mixes them up:
//
//   - NAME.new is the next file, at any stage. It is filled with zeros, so it must never
//     be the store's file. It is not, because the rename that makes it the store takes this name
//     away, and is durable before the full file gets it. Besides, each file is locked by
//     whoever has it open, and a file cannot be locked twice: if somebody has made NAME.new
//     a name of the store, opening it fails, and the name is taken away.
//   - NAME.old is a second name of the store's file, or of the one before it. Nobody
//     opens it; a process that finds it when it starts takes it away.
//
// Somebody may remove these names, or give them to other files, while the store is open.
// So before a name is used it is made sure that it still stands for the file that is meant.

package memberstate

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"sync"
)

// next is the file that will take the place of the present one.
type next struct {
	mu      sync.Mutex // held for a slice, and by whoever puts the file in place
	file    File       // nil: there is none
	named   bool       // it has the name NAME.new, and not NAME.old
	zeroed  int64      // so many bytes of it are zeros, durably
	linked  bool       // the present file has the name NAME.old, too
	lost    bool       // putting it in place has failed, and it may be the store now
	workers sync.WaitGroup
}

// getting is how far the store is in getting the next file ready.
type getting struct {
	ready   bool
	working bool
	failed  error // why it is not ready
	wait    uint  // so many saves until it is tried again
	patient uint  // how many it was the last time
}

const (
	slice       = 256 << 10 // bytes between two syncs: few, so that a save waits little for them
	longestWait = 64        // saves between two attempts
)

// What follows the store's name in the names of the others.
const (
	nextSuffix = ".new"
	oldSuffix  = ".old"
)

func (s *FileStore) nextName() string { return s.path + nextSuffix }
func (s *FileStore) oldName() string  { return s.path + oldSuffix }

// getReady has the next file made ready beside the saves, if it is not, and if the last
// failure was some saves ago.
func (s *FileStore) getReady() {
	s.mu.Lock()
	g := &s.getting
	if g.wait > 0 {
		g.wait--
	}
	start := s.broken == nil && !g.ready && !g.working && g.wait == 0
	g.working = g.working || start
	s.mu.Unlock()
	if !start {
		return
	}
	if d, ok := s.disk.(interface{ Background(work func()) }); ok {
		d.Background(s.makeReady)
		return
	}
	go s.makeReady()
}

// enter says whether the store is still to be used. If it is, Close waits until the next
// file's worker is done.
func (s *FileStore) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return false
	}
	s.next.workers.Add(1)
	return true
}

// makeReady makes the next file ready, as far as it gets.
func (s *FileStore) makeReady() {
	if !s.enter() {
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
		if s.stepped(done, err) {
			return
		}
	}
}

// stepped gives the next file free after a step, and says whether that was the last one.
func (s *FileStore) stepped(done bool, err error) (last bool) {
	s.mu.Lock()
	g := &s.getting
	before, left, closed := g.failed, s.left, s.broken != nil
	last = done || closed || err != nil
	if last {
		g.working, g.ready, g.failed, g.wait = false, done, err, 0
	}
	switch {
	case err != nil:
		g.patient = min(max(1, 2*g.patient), longestWait)
		g.wait = g.patient
	case done:
		g.patient = 0
	}
	s.mu.Unlock()
	s.next.mu.Unlock()
	if last && !closed {
		s.told.nextFile(before, err, left)
	}
	return last
}

// step does a small part of what makes the next file ready for a snapshot of so many
// pages, and says whether it is.
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

// snapshotPages is how many pages all records take in a half.
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

// wanted is how many bytes the next file has, and how many it should have: room for
// several times as much as it holds at first, so that writing it anew stays a small
// part of the work.
func (s *FileStore) wanted(pages uint32) (size, want int64, err error) {
	if size, err = s.next.file.Size(); err != nil {
		return 0, 0, s.failed("look at "+s.nextName(), nowhere, err)
	}
	return size, max(size, int64(max(s.room, 8*(pages-headerPages)))*pageSize), nil
}

// findNext opens the next file, or makes an empty one, if there is none that can still
// be used.
func (s *FileStore) findNext() error {
	n := &s.next
	if n.file != nil && !n.named && n.file.HasName(s.oldName()) {
		if err := s.disk.Rename(s.oldName(), s.nextName()); err != nil {
			return s.failed("rename "+s.oldName(), nowhere, err)
		}
		n.named = true
	}
	if n.file != nil && n.file.HasName(s.nextName()) {
		return nil
	}
	if n.file != nil {
		_ = n.file.Close() // it has lost its name, so nothing of it is needed
		n.file = nil
	}
	name := s.nextName()
	if err := ignoreMissing(s.disk.Remove(s.oldName())); err != nil {
		return s.failed("remove "+s.oldName(), nowhere, err)
	}
	f, err := s.disk.Open(name)
	switch {
	case errors.Is(err, ErrStoreLocked), errors.Is(err, fs.ErrPermission): // it may be the store itself, or another user's
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
	n.file, n.named, n.zeroed = f, true, 0
	return nil
}

var zeroSlice [slice]byte

// fillSlice fills another part of the next file with zeros. They are written, not left
// as a hole: a save must find its blocks there. What the file has already needs no more
// room, so it is not mixed with what does.
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

// link gives the present file a second name, by which it outlives its replacement.
// Where that cannot be, the next file is a new one each time.
func (s *FileStore) link() {
	s.next.linked = replacesOpenFiles && s.disk.Link(s.path, s.oldName()) == nil
}

// renew writes all records, and those of a batch over them, into the next file, and puts
// it in the place of the present one.
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
	s.getting.ready, s.getting.wait = false, 0
	s.mu.Unlock()
	return nil
}

// fillEnough sees to it that a snapshot of so many pages fits in the next file, and that
// at least as much is left for saves. It is content with less if there is no more.
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

// replace puts the next file in the place of the present one, and keeps that as
// the next if it has a second name.
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
	s.file, n.file, n.named, n.zeroed, n.linked = n.file, nil, false, 0, false
	switch {
	case linked:
		n.file = old
	case old != nil:
		_ = old.Close() // nothing of it is needed any more
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
	s.file, n.file, n.named, n.zeroed, n.linked = nil, nil, false, 0, false
	return err
}
