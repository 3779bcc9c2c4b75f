package memberstate

import (
	"bytes"
	"errors"
)

// The format's measures, for tests that aim at a place in the file.
const (
	PageSize     = pageSize
	FirstSave    = headerPages + 2 // the page of the first save, where one page holds what was there before
	FormatOffset = 8
)

// CreateSmall is CreateFileOn with so few pages that the file is soon full.
func CreateSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return createFile(disk, path, node, room)
}

// OpenSmall is OpenFileOn with so few pages that the file is soon full.
func OpenSmall(disk Disk, path, node string, room uint32) (*FileStore, error) {
	return openFile(disk, path, node, room)
}

// Read is what a file of this content holds, without opening a store.
func Read(text []byte) ([]Record, error) {
	m, err := readImage("text", memFile(text))
	return sorted(m.records), err
}

// Clean says whether every page of a file of this content is either valid or has
// never been written.
func Clean(text []byte) bool {
	free := make([]byte, pageSize)
	for at := 0; at < len(text); at += pageSize {
		page := text[at:][:pageSize]
		if _, valid := decodePage(page, uint32(at/pageSize)); !valid && !bytes.Equal(page, free) {
			return false
		}
	}
	return true
}

type memFile []byte

func (f memFile) ReadAt(b []byte, at int64) (int, error) { return bytes.NewReader(f).ReadAt(b, at) }
func (memFile) WriteAt([]byte, int64) (int, error)       { return 0, errors.ErrUnsupported }
func (f memFile) Size() (int64, error)                   { return int64(len(f)), nil }
func (memFile) Sync() error                              { return nil }
func (memFile) Close() error                             { return nil }

// Waiting is how many records wait for the next write.
func (s *FileStore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return 0
	}
	return len(s.waiting.batch)
}

// Seal gives a page its checksum.
func Seal(page []byte) { seal(page) }
