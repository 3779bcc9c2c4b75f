// The store on disk: one file per node, for all its groups.
//
// The file has a fixed size and is filled with zeros when it is made, so a save
// neither grows it nor can run out of room on the device. Every save is a batch
// on pages of its own, in both halves of the file. When the file is full, the next file,
// which has been prepared and has the same records by then, replaces it.
// filestore_format.go explains the format, filestore_read.go how a file is read after a
// crash, filestore_next.go how one file replaces another, filestore_copy.go how the
// records get there.

package memberstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// FileStore is a [Store] in a file. [CreateFile] makes one and [OpenFile] opens
// it again; until Close it holds locks on the file and on a name beside it.
//
// After a write or a sync has failed, the store is unusable: the content of the disk is
// unknown, and a second attempt would not reveal it. Opening the store again reads it.
//
// Every record is kept twice, half a file apart, so one damaged place, or one write
// that was cut short by a crash, loses nothing. If both copies of the newest batch are
// damaged, and nothing else is, this looks like a save that a crash cut short before it
// was acknowledged, so the store opens with the state before that save. If both copies of
// another batch, or of several batches, are damaged, the store is not opened. See
// docs/operation.md for backup and restore.
//
// An open store needs no more room on the disk and no more file descriptors, unless it
// gains so many groups that its file must grow.
type FileStore struct {
	disk    Disk
	path    string
	node    string
	reports reporter
	room    uint32 // the least number of pages of a file
	lock    Lock
	dir     Dir

	mu          sync.Mutex
	records     table   // the durable ones
	waiting     *commit // saves that the next write includes
	broken      error
	left        uint32 // free pages in each half
	late        bool   // they are few: see copyLate
	preparation preparation

	writing chan struct{} // a lock: has an element while a goroutine writes; guards the fields below
	file    File
	tail    tail

	next next
}

// tail says where in a file the next batch goes.
type tail struct {
	file       uint64 // the file's random id
	generation uint64
	mended     uint64 // see header
	half       uint32 // pages in each half
	next       uint32 // the first free page of a half
	batch      uint32 // the number of the next batch
}

// commit is a group of saves that become durable by one write and one sync. The
// goroutine of the first one writes, and the others wait for it.
type commit struct {
	batch []Record
	done  chan struct{}
	err   error
}

// defaultRoom is 4 MiB in pages, which is room for 510 saves. The halves are 2 MiB long.
const defaultRoom = 1024

// CreateFile makes the store of a new node and opens it. The error is ErrStoreExists
// if there is one, and ErrStoreLost if its other name shows that there was one.
//
// A node that has ever voted is not new. If its disk is lost, it must come back under
// another id, because it has forgotten its votes.
func CreateFile(path, node string) (*FileStore, error) { return FileOptions{}.Create(path, node) }

// OpenFile opens the store of a node. The error is ErrNoStore if there is none.
func OpenFile(path, node string) (*FileStore, error) { return FileOptions{}.Open(path, node) }

// CreateFileOn is CreateFile on another Disk.
func CreateFileOn(disk Disk, path, node string) (*FileStore, error) {
	return FileOptions{Disk: disk}.Create(path, node)
}

// OpenFileOn is OpenFile on another Disk.
func OpenFileOn(disk Disk, path, node string) (*FileStore, error) {
	return FileOptions{Disk: disk}.Open(path, node)
}

// roomOn is the least number of pages of a file on this disk.
func roomOn(disk Disk) uint32 {
	if d, ok := disk.(interface{ Room() uint32 }); ok {
		return d.Room()
	}
	return defaultRoom
}

// Create is CreateFile with options.
func (o FileOptions) Create(path, node string) (*FileStore, error) {
	return o.create(path, node, roomOn(o.disk()))
}

func (o FileOptions) create(path, node string, room uint32) (*FileStore, error) {
	switch {
	case node == "":
		return nil, fmt.Errorf("memberstate: %s: the node's id is empty", path)
	case len(node) > MaxIDLength:
		return nil, fmt.Errorf("memberstate: %s: the node's id has %d bytes, %d is the most", path, len(node), MaxIDLength)
	}
	return o.withLock(path, node, room, (*FileStore).begin)
}

// Open is OpenFile with options.
func (o FileOptions) Open(path, node string) (*FileStore, error) {
	return o.open(path, node, roomOn(o.disk()))
}

func (o FileOptions) open(path, node string, room uint32) (*FileStore, error) {
	return o.withLock(path, node, room, (*FileStore).recover)
}

// withLock makes a store, takes its lock, and loads its file or creates one.
func (o FileOptions) withLock(path, node string, room uint32, load func(*FileStore) error) (*FileStore, error) {
	s := &FileStore{
		disk: o.disk(), path: path, node: node, reports: o.reporter(path, node), room: room,
		records: newTable(), writing: make(chan struct{}, 1),
	}
	err := s.acquire()
	if err == nil {
		err = load(s)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.noteRoom()
	s.keepUp()
	s.prepareNext()
	return s, nil
}

// noteRoom notes how much room the file has.
func (s *FileStore) noteRoom() {
	s.left = s.tail.half - s.tail.next
	s.late = s.left <= s.tail.half/copyLate
}

// acquire takes the lock and opens the directory.
func (s *FileStore) acquire() (err error) {
	if s.lock, err = s.disk.Lock(s.path + ".lock"); err != nil {
		return s.failed("lock", nowhere, err)
	}
	if s.dir, err = s.disk.Dir(s.path); err != nil {
		return s.failed("open the directory", nowhere, err)
	}
	return nil
}

// release closes all files of the store, and gives its lock back.
func (s *FileStore) release() error {
	var all []error
	for _, held := range []io.Closer{s.file, s.next.file, s.dir, s.lock} {
		if held != nil {
			all = append(all, held.Close())
		}
	}
	s.file, s.next.file, s.dir, s.lock = nil, nil, nil, nil
	return errors.Join(all...)
}

// begin makes the first file.
func (s *FileStore) begin() error {
	switch f, err := s.disk.Open(s.path); {
	case err == nil:
		return errors.Join(s.failed("create", nowhere, ErrStoreExists), f.Close())
	case !errors.Is(err, fs.ErrNotExist):
		return s.failed("look for", nowhere, err)
	}
	if err := (FileOptions{Disk: s.disk}).Lost(s.path); err != nil {
		return s.failed("create", nowhere, err)
	}
	if err := s.renew(0); err != nil {
		return errors.Join(err, ignoreMissing(s.disk.Remove(s.nextName())))
	}
	return nil
}

// recover reads the file. If the previous process died during a save, the content may be
// in the system's cache only; other nodes will act on it, so recover syncs it first. If the
// file is not clean, recover writes a new one, because the remains of a torn write could be
// mistaken for a part of the next write.
func (s *FileStore) recover() error {
	f, err := s.disk.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.failed("open", nowhere, fmt.Errorf("%w (%w)", ErrNoStore, fs.ErrNotExist))
	}
	if err != nil {
		return s.failed("open", nowhere, err)
	}
	s.file = f
	found, err := readImage(s.path, f)
	if err != nil {
		return err
	}
	if found.node != s.node {
		return s.failed("open", nowhere, fmt.Errorf("%w %q, not %q", ErrOtherNode, found.node, s.node))
	}
	s.records, s.tail = found.records, found.tail
	s.reports.found(found)
	if !found.clean() {
		s.tail.mended += uint64(len(found.mended))
		return s.renew(0)
	}
	if err := f.Sync(); err != nil {
		return s.failed("sync", nowhere, err)
	}
	if err := s.dir.Sync(); err != nil {
		return s.failed("sync the directory", nowhere, err)
	}
	return nil
}

// Node is the id of the node that the store belongs to.
func (s *FileStore) Node() string { return s.node }

// Load returns the last record saved for a group.
func (s *FileStore) Load(group string) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return Record{}, false, s.broken
	}
	r, ok := s.records.get(group)
	return r, ok, nil
}

// Records returns the last record of every group, sorted by group.
func (s *FileStore) Records() []Record {
	s.mu.Lock()
	list := s.records.list()
	s.mu.Unlock()
	return sortRecords(list)
}

// Save makes a batch durable. Saves that come during a write wait for its end and are
// then written together, with one sync.
func (s *FileStore) Save(batch []Record) error {
	if err := checkRecords(batch); err != nil {
		return fmt.Errorf("memberstate: %s: %w", s.path, err)
	}
	s.mu.Lock()
	c := s.waiting
	first := c == nil
	if first {
		c = &commit{done: make(chan struct{})}
		s.waiting = c
	}
	c.batch = append(c.batch, batch...)
	s.mu.Unlock()
	if first {
		s.carryOut(c)
		s.prepareNext()
	}
	<-c.done
	return c.err
}

// carryOut waits until no other write is under way, and writes all saves of the commit.
func (s *FileStore) carryOut(c *commit) {
	defer close(c.done)
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.mu.Lock()
	s.waiting = nil
	c.err = s.broken
	s.mu.Unlock()
	if c.err == nil {
		c.err = s.write(c.batch)
	}
}

// write makes a batch durable, and then visible to Load.
func (s *FileStore) write(batch []Record) (err error) {
	s.keepUp()
	payload := encodeRecords(batch)
	if pages := pagesFor(len(payload)); uint64(s.tail.next)+uint64(pages) > uint64(s.tail.half) {
		err = s.renew(pages)
	}
	if err == nil {
		err = s.append(payload)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.broken = fmt.Errorf("%w: %w", ErrStoreBroken, err)
		return s.broken
	}
	for _, r := range batch {
		s.records.put(r)
	}
	s.noteRoom()
	return nil
}

// append writes a batch behind the last one, in both halves.
func (s *FileStore) append(payload []byte) error {
	t := &s.tail
	if err := s.writeCopies(s.file, "write", layOut(t.file, t.batch, payload), t.half, t.next); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return s.failed("sync", int64(t.next)*pageSize, err)
	}
	t.next += pagesFor(len(payload))
	t.batch++
	return nil
}

// writeCopies writes what was laid out to a page of both halves.
func (s *FileStore) writeCopies(f File, op string, content []byte, half, page uint32) error {
	for _, page := range []uint32{page, half + page} {
		at := int64(page) * pageSize
		moveTo(content, page)
		if _, err := f.WriteAt(content, at); err != nil {
			return s.failed(op, at, err)
		}
	}
	return nil
}

// Close waits for the saves under way, and gives back the file and its locks.
func (s *FileStore) Close() error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.mu.Lock()
	s.broken = fmt.Errorf("memberstate: %s: %w", s.path, fs.ErrClosed)
	s.mu.Unlock()
	s.next.workers.Wait()
	return s.release()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
