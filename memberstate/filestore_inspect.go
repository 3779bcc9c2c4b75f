// A look at a store, without touching it.

package memberstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// FileInfo is what a store's file holds, and in what state it is.
type FileInfo struct {
	Path    string
	Version uint32 // of the format
	Node    string
	// Generation counts how often the file has been written anew.
	Generation uint64
	// Saves counts the batches in the file, without what it began with.
	Saves uint64
	// Size and Used are in bytes. When all is used the file is written anew.
	Size, Used int64
	// Records holds the last record of every group, sorted by group.
	Records []Record
	// Damaged holds the offsets of the pages of which only the other copy could
	// be read. Opening the store writes it anew.
	Damaged []int64
	// Torn says that a crash has cut the last save short. Nobody relied on it.
	Torn bool
}

// InspectFile reads a store without its lock and without changing it. If the
// store cannot be opened it tells why, and returns what could be read. While a
// process has the store open, a save that is being written may show as torn.
func InspectFile(path string) (FileInfo, error) {
	f, err := osFileOf(os.Open(path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (%w)", ErrNoStore, fs.ErrNotExist)
		}
		return FileInfo{Path: path}, &FileError{Path: path, Op: "open", Offset: nowhere, Err: err}
	}
	m, err := readImage(path, f)
	err = errors.Join(err, f.Close())
	info := FileInfo{
		Path: path, Version: m.version, Node: m.node, Generation: m.tail.generation,
		Size: m.size, Used: int64(m.tail.next) * pageSize, Records: sorted(m.records), Torn: m.torn,
	}
	if m.tail.batch > snapshotBatch {
		info.Saves = m.tail.batch - snapshotBatch - 1
	}
	for _, number := range m.mended {
		info.Damaged = append(info.Damaged, int64(number)*pageSize)
	}
	return info, err
}
