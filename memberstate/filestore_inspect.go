// Inspection of a store without opening it.

package memberstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// FileInfo describes the content and the condition of a store's file.
type FileInfo struct {
	Path    string
	Version uint32 // of the format
	Node    string
	// Generation counts how often the file has been written anew.
	Generation uint64
	// Saves counts the batches in the file, without the snapshot that it began with. What was saved while that was
	// written counts as a few.
	Saves uint64
	// Size and Used are in bytes. When all is used, the next file replaces this one.
	Size, Used int64
	// Records holds the last record of every group, sorted by group.
	Records []Record
	// Damaged lists the places that could be read only in the other copy. Opening the
	// store mends them.
	Damaged []Span
	// Mended counts the sectors that have been mended since the store was made.
	Mended uint64
	// Torn says that a crash has cut the last save short. It was not acknowledged.
	Torn bool
	// Next is the size of the file that will replace this one when it is full; 0: there
	// is none yet.
	Next int64
}

// Span is a part of a file.
type Span struct{ Offset, Bytes int64 }

// InspectFile reads a store without its lock and without changing it. If the store
// could not be opened, the error says why, and the FileInfo holds as much as could be
// read. While a process has the store open, a save under way may look torn.
func InspectFile(path string) (FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (%w)", ErrNoStore, fs.ErrNotExist)
		}
		return FileInfo{Path: path}, &FileError{Path: path, Op: "open", Offset: nowhere, Err: err}
	}
	m, err := readImage(path, osFile{f})
	err = errors.Join(err, f.Close())
	info := FileInfo{
		Path: path, Version: m.version, Node: m.node, Generation: m.tail.generation, Saves: m.saves,
		Size: m.size, Used: m.used, Records: sortRecords(m.records.list()), Damaged: m.spans(), Mended: m.tail.mended, Torn: m.torn,
	}
	if next, err := os.Stat(path + nextSuffix); err == nil {
		info.Next = next.Size()
	}
	return info, err
}

// spans returns the mended places, with adjacent ones joined.
func (m *image) spans() []Span {
	var all []Span
	slices.Sort(m.mended)
	for _, at := range m.mended {
		if n := len(all); n > 0 && all[n-1].Offset+all[n-1].Bytes == at {
			all[n-1].Bytes += m.unit()
			continue
		}
		all = append(all, Span{at, m.unit()})
	}
	return all
}

// unit is the size of the part that has one checksum, in bytes.
func (m *image) unit() int64 {
	if m.version == formatVersion {
		return sectorSize
	}
	return pageSize
}
