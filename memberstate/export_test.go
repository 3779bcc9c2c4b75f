package memberstate

import (
	"bytes"
	"errors"
	"log/slog"
)

// Sizes of the format, for tests that damage a certain place of the file.
const (
	SectorSize   = sectorSize
	SectorHead   = sectorHead
	PageSize     = pageSize
	FirstSave    = headerPages + 1 // the page of the first save, if the snapshot takes one page
	FormatOffset = 8
)

// quiet are options without a log, for tests that expect warnings.
func quiet(disk Disk) FileOptions {
	return FileOptions{Disk: disk, Logger: slog.New(slog.DiscardHandler)}
}

// CreateSmall creates a store with few pages, so that the file is soon full.
func CreateSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return quiet(disk).create(path, node, room)
}

// OpenSmall opens such a store.
func OpenSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return quiet(disk).open(path, node, room)
}

// OpenSmallWith is OpenSmall with options.
func OpenSmallWith(o FileOptions, path, node string, room uint32) (*FileStore, error) {
	return o.open(path, node, room)
}

// Read returns the records in a file of this content, without opening a store.
func Read(text []byte) ([]Record, error) {
	m, err := readImage("text", memFile(text))
	return sortRecords(m.records.list()), err
}

// MendedIn is the number of mended sectors that a file of this content has recorded.
func MendedIn(text []byte) uint64 {
	m, _ := readImage("text", memFile(text))
	return m.tail.mended
}

// Clean says whether saves can be appended to a file of this content.
func Clean(text []byte) bool {
	m, err := readImage("text", memFile(text))
	return err == nil && m.clean()
}

type memFile []byte

func (f memFile) ReadAt(b []byte, at int64) (int, error) { return bytes.NewReader(f).ReadAt(b, at) }
func (memFile) WriteAt([]byte, int64) (int, error)       { return 0, errors.ErrUnsupported }
func (f memFile) Size() (int64, error)                   { return int64(len(f)), nil }
func (memFile) Sync() error                              { return nil }
func (memFile) Close() error                             { return nil }
func (memFile) HasName(string) bool                      { return false }

// Waiting is the number of records that wait for the next write.
func (s *FileStore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return 0
	}
	return len(s.waiting.batch)
}

// Ready says whether the next file is ready.
func (s *FileStore) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.preparation.ready
}

// NextIsLocked says whether some goroutine has the next file for itself.
func (s *FileStore) NextIsLocked() bool {
	if !s.next.mu.TryLock() {
		return true
	}
	s.next.mu.Unlock()
	return false
}

// Forget puts a store whose save has failed into the state just before it records the failure.
func (s *FileStore) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.preparation = nil, preparation{}
}

// PrepareNext prepares the next file.
func (s *FileStore) PrepareNext() { s.prepareNext() }

// Left is the number of free pages in each half.
func (s *FileStore) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.left)
}

// Seal gives a sector its checksums.
func Seal(sector []byte) {
	sealBody(sector)
	sealHead(sector)
}
