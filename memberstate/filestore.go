// The store on disk: one file a node, for all its groups.
//
// The file has a fixed size and is filled with zeros when it is made, so a save
// neither grows it nor can run out of room on the device. Every save is a batch
// on pages of its own, each written twice. When the file is full, what it holds
// is written to a new one that takes its place. filestore_page.go has the format,
// filestore_read.go what is concluded from a file after a crash.

package memberstate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// FileStore is a [Store] in a file. [CreateFile] makes one and [OpenFile] opens
// it again; it holds a lock on the file until Close.
//
// After a write or a sync that failed it is unusable: what the disk holds is not
// known, and asking again would not tell. Opening it anew reads it from the disk.
//
// Every record is kept twice, so one damaged place, or one write that was cut
// short by a crash, loses nothing. If both copies of the newest batch are damaged
// this cannot be told from a save that a crash cut short before anyone relied on
// it, and the state before it is what is found. Damage to both copies of any
// other batch is, and the store is not opened. See docs/operation.md for what
// may be backed up and restored.
type FileStore struct {
	disk Disk
	path string
	node string
	lock Lock
	room uint32 // pages that a file has at least

	mu      sync.Mutex
	records map[string]Record // what is durable
	waiting *commit           // saves that the next write takes along
	broken  error

	writing chan struct{} // holds one while someone writes; guards what follows
	file    File
	tail    tail
}

// tail is where a file can be written on.
type tail struct {
	generation uint64
	pages      uint32 // that the file has
	next       uint32 // the page behind the last batch
	batch      uint64 // the number of the next batch
}

// commit is a number of saves that become durable by one write and one sync. The
// first of them sees to that, and the others wait for it.
type commit struct {
	batch []Record
	done  chan struct{}
	err   error
}

// defaultRoom is 4 MiB: 500 saves until the file is written anew.
const defaultRoom = 1024

// CreateFile makes the store of a new node and opens it. It is an error if there
// is one: a node is new once.
//
// A node that has ever voted is not new. If its disk is lost it must come back
// under another id, for it has forgotten whom it gave its votes to.
func CreateFile(path, node string) (*FileStore, error) {
	return CreateFileOn(osDisk{}, path, node)
}

// OpenFile opens the store of a node. The error is ErrNoStore if there is none.
func OpenFile(path, node string) (*FileStore, error) {
	return OpenFileOn(osDisk{}, path, node)
}

// roomOn is how many pages a file has at least.
func roomOn(disk Disk) uint32 {
	if d, ok := disk.(interface{ Room() uint32 }); ok {
		return d.Room()
	}
	return defaultRoom
}

// CreateFileOn is CreateFile on a disk of the caller's.
func CreateFileOn(disk Disk, path, node string) (*FileStore, error) {
	return createFile(disk, path, node, roomOn(disk))
}

func createFile(disk Disk, path, node string, room uint32) (*FileStore, error) {
	if node == "" {
		return nil, fmt.Errorf("memberstate: %s: the node's id is empty", path)
	}
	return withLock(disk, path, node, room, func(s *FileStore) error {
		switch f, err := disk.Open(path); {
		case err == nil:
			return errors.Join(s.failed("create", nowhere, ErrStoreExists), f.Close())
		case !errors.Is(err, fs.ErrNotExist):
			return s.failed("look for", nowhere, err)
		}
		return s.renew(nil)
	})
}

// OpenFileOn is OpenFile on a disk of the caller's.
func OpenFileOn(disk Disk, path, node string) (*FileStore, error) {
	return openFile(disk, path, node, roomOn(disk))
}

func openFile(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return withLock(disk, path, node, room, (*FileStore).recover)
}

// withLock makes a store that holds its lock, and readies it.
func withLock(disk Disk, path, node string, room uint32, ready func(*FileStore) error) (*FileStore, error) {
	s := &FileStore{disk: disk, path: path, node: node, room: room, records: make(map[string]Record), writing: make(chan struct{}, 1)}
	lock, err := disk.Lock(path + ".lock")
	if err != nil {
		return nil, s.failed("lock", nowhere, err)
	}
	s.lock = lock
	if err := ready(s); err != nil {
		if s.file != nil {
			err = errors.Join(err, s.file.Close())
		}
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// recover reads the file. What was read may be in the system's cache alone, if
// the process before died within a save; and others will act on it. So it is
// synced first. A file that is not clean is not written on: what a torn write
// has left could be taken for a part of the next one.
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
	if !found.clean() {
		return s.renew(nil)
	}
	if err := f.Sync(); err != nil {
		return s.failed("sync", nowhere, err)
	}
	if err := s.disk.SyncDir(s.path); err != nil {
		return s.failed("sync the directory", nowhere, err)
	}
	return nil
}

// Node is the id of the node whose store this is.
func (s *FileStore) Node() string { return s.node }

// Load returns the last record saved for a group.
func (s *FileStore) Load(group string) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return Record{}, false, s.broken
	}
	r, ok := s.records[group]
	return r, ok, nil
}

// Records returns the last record of every group, sorted by group.
func (s *FileStore) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.records)
}

// Save makes a batch durable. Saves that come while another is being written
// wait for it and are then written together, with one sync.
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
	}
	<-c.done
	return c.err
}

// carryOut waits until the disk is free, and writes all that has gathered by then.
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

// write makes a batch durable, and known to Load.
func (s *FileStore) write(batch []Record) error {
	payload := encodeRecords(batch)
	count := pagesFor(len(payload))
	var err error
	if uint64(s.tail.next)+2*uint64(count) > uint64(s.tail.pages) {
		err = s.renew(batch)
	} else {
		err = s.append(payload, count)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.broken = fmt.Errorf("%w: %w", ErrStoreBroken, err)
		return s.broken
	}
	for _, r := range batch {
		s.records[r.Group] = r
	}
	return nil
}

// append writes a batch behind the last one.
func (s *FileStore) append(payload []byte, count uint32) error {
	at := int64(s.tail.next) * pageSize
	if _, err := s.file.WriteAt(s.tail.encode(payload, count), at); err != nil {
		return s.failed("write", at, err)
	}
	if err := s.file.Sync(); err != nil {
		return s.failed("sync", at, err)
	}
	s.tail.next += 2 * count
	s.tail.batch++
	return nil
}

// renew writes all records, and those of a batch over them, into a new file that
// takes the old one's place. It is durable as a whole before it does, so at every
// moment the name stands for a file with everything that was acknowledged: there
// is never a choice between two, and no old one that must be told apart.
func (s *FileStore) renew(batch []Record) error {
	all := maps.Clone(s.records)
	for _, r := range batch {
		all[r.Group] = r
	}
	aside := s.path + ".new"
	t, err := s.writeAside(aside, sorted(all))
	if err != nil {
		return errors.Join(err, ignoreMissing(s.disk.Remove(aside)))
	}
	if s.file != nil { // not every system renames over a file that is open
		old := s.file
		s.file = nil
		if err := old.Close(); err != nil {
			return s.failed("close", nowhere, err)
		}
	}
	if err := s.disk.Rename(aside, s.path); err != nil {
		return s.failed("replace", nowhere, err)
	}
	if err := s.disk.SyncDir(s.path); err != nil {
		return s.failed("sync the directory", nowhere, err)
	}
	if s.file, err = s.disk.Open(s.path); err != nil {
		return s.failed("open", nowhere, err)
	}
	s.tail = t
	return nil
}

// writeAside makes a file that holds these records, durably but for its name.
func (s *FileStore) writeAside(name string, records []Record) (t tail, err error) {
	f, err := s.disk.Create(name)
	if err != nil {
		return t, s.failed("create "+name, nowhere, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = s.failed("close "+name, nowhere, closeErr)
		}
	}()
	payload := encodeRecords(records)
	count := pagesFor(len(payload))
	// Room for as much again as it holds, several times over, so that writing it
	// anew stays a small part of the work.
	t = tail{generation: s.tail.generation + 1, pages: max(s.room, 8*count), batch: headerBatch}
	content := t.encode(encodeHeader(s.node, t.pages), 1)
	t.batch = snapshotBatch
	content = append(content, t.encodeAt(headerPages, payload, count)...)
	t.batch, t.next = snapshotBatch+1, headerPages+2*count
	if err := fillFile(f, content, int64(t.pages)*pageSize); err != nil {
		return t, s.failed("write "+name, nowhere, err)
	}
	if err := f.Sync(); err != nil {
		return t, s.failed("sync "+name, nowhere, err)
	}
	return t, nil
}

// fillFile writes content, and zeros up to size. The zeros are written, not left
// as a hole: a save must find its blocks there.
func fillFile(f File, content []byte, size int64) error {
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	zeros := make([]byte, min(size-int64(len(content)), 1<<20))
	for at := int64(len(content)); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the file and its lock back. Saves that are under way end first.
func (s *FileStore) Close() error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.mu.Lock()
	s.broken = fmt.Errorf("memberstate: %s: %w", s.path, fs.ErrClosed)
	s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	err = errors.Join(err, s.lock.Close())
	s.file, s.lock = nil, nil
	return err
}

// sorted lists records by group, so that the same records make the same file.
func sorted(records map[string]Record) []Record {
	list := make([]Record, 0, len(records))
	for _, group := range slices.Sorted(maps.Keys(records)) {
		list = append(list, records[group])
	}
	return list
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
