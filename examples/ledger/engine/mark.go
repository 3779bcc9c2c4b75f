// The mark: how many writes the disk has synced, in a small file beside them.
//
// A crash cuts the newest log short, so pebble takes a record there that it cannot read for the end, if it sees nothing behind
// that was synced. One flipped bit can look the same, and then entries that were acknowledged are gone without a word: the node
// would vote with a ledger that is too short. So each write has a number, which is a part of it, and once it is synced, and
// before anybody is told, the mark has that number, too. A node whose data end before the mark does not start.
//
// The mark itself is not synced, because every write would take two syncs then instead of one. It outlives the process, and a loss of power
// leaves an older one at worst, never one that is ahead of the data. So only damage to the last seconds before a loss of power goes unnoticed.

package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// markName is the name of the file, in the folder of the data.
const markName = "synced"

// mark is the file, and the number of the last write that is in the data.
type mark struct {
	file   vfs.File
	number uint64
}

// openMark opens the mark, or makes one for data that have none, and compares it with the data.
func openMark(db *pebble.DB, fs vfs.FS, dir string) (_ *mark, err error) {
	has := new(ledgerpb.Position)
	if _, err := get(db, keyOfWrites, has); err != nil {
		return nil, err
	}
	path := fs.PathJoin(dir, markName)
	file, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	m := &mark{file: file, number: has.Index}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	switch synced, err := m.read(); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case synced > m.number:
		return nil, fmt.Errorf("%w: they end with write %d, and %s says that write %d was synced; the newest log is damaged: "+
			"a node that has lost them must not vote, and cannot come back under this name", ErrLost, m.number, path, synced)
	}
	return m, nil
}

// read returns the number in the file; 0 if there is none.
func (m *mark) read() (uint64, error) {
	var b [12]byte
	switch n, err := m.file.ReadAt(b[:], 0); {
	case errors.Is(err, io.EOF) && n < len(b): // it is new, or a loss of power has left a part of it
		return 0, nil
	case err != nil && !errors.Is(err, io.EOF):
		return 0, err
	}
	if binary.LittleEndian.Uint32(b[8:]) != crc32.ChecksumIEEE(b[:8]) {
		return 0, nil // a damaged mark is no sign of damaged data
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// set has the file say that all writes up to this one have been synced.
func (m *mark) set(number uint64) error {
	b := binary.LittleEndian.AppendUint64(nil, number)
	_, err := m.file.WriteAt(binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), 0)
	return err
}

// next gives a write the next number.
func (m *mark) next(b *pebble.Batch) error {
	m.number++
	return b.Set(keyOfWrites, encode(&ledgerpb.Position{Index: m.number}), nil)
}
