package memberstate

import (
	"bytes"
	"errors"
	"log/slog"
)

// The format's measures, for tests that aim at a place in the file.
const (
	SectorSize   = sectorSize
	SectorHead   = sectorHead
	PageSize     = pageSize
	FirstSave    = headerPages + 1 // the page of the first save, where one page holds what was there before
	FormatOffset = 8
)

// quiet are options of tests that expect what is told.
func quiet(disk Disk) FileOptions {
	return FileOptions{Disk: disk, Logger: slog.New(slog.DiscardHandler)}
}

// CreateSmall makes a store with so few pages that the file is soon full.
func CreateSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return quiet(disk).create(path, node, room)
}

// OpenSmall opens a store with so few pages that the file is soon full.
func OpenSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return quiet(disk).open(path, node, room)
}

// OpenSmallWith is OpenSmall with options.
func OpenSmallWith(o FileOptions, path, node string, room uint32) (*FileStore, error) {
	return o.open(path, node, room)
}

// Read is what a file of this content holds, without opening a store.
func Read(text []byte) ([]Record, error) {
	m, err := readImage("text", memFile(text))
	return sorted(m.records), err
}

// MendedIn is how many sectors a file of this content knows to have been mended.
func MendedIn(text []byte) uint64 {
	m, _ := readImage("text", memFile(text))
	return m.tail.mended
}

// Clean says whether a file of this content can be written on as it is.
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

// Waiting is how many records wait for the next write.
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
	return s.getting.ready
}

// Forget has a store whose save has failed not know that yet, as it is for a moment.
func (s *FileStore) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.getting = nil, getting{}
}

// GetReady has the next file made ready.
func (s *FileStore) GetReady() { s.getReady() }

// Left is how many pages the next saves find in each half.
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
