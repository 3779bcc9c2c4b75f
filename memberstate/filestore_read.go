// How a file is read: either its content is certain, or the file is refused.
//
// Only one batch is written at a time, in both halves, and the next one only after that
// is durable and acknowledged. So a crash leaves every batch except the last one whole in
// both halves. The sectors of the last batch reach the disk in any order, so any of them
// may be whole, torn, or still zeros. Nothing follows that batch.
//
// Everything else is damage. There are three cases:
//
//   - If one half is damaged, the other half is read, even if it says that nothing was
//     written at that place. If both halves can be read, they must be equal.
//   - If a batch cannot be read in either half, and a later batch can, it was
//     acknowledged, so the file is refused. It is also refused if, in both halves, the
//     remains after the last batch take up more than one save: a crash in one save
//     cannot leave them, so other saves were there.
//   - If the last batch cannot be read in either half, a crash is assumed to have cut it
//     short before it was acknowledged, and it is ignored. This is wrong only if two
//     places that lie half a file apart were damaged, exactly those of the newest save,
//     or if the newest saves have become zeros in both halves.

package memberstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
)

// image is the content of a file as far as it has been read.
type image struct {
	path    string
	size    int64
	version uint32
	node    string
	records table
	tail    tail   // where the next batch goes
	used    int64  // bytes
	saves   uint64 // batches after the first two
	// mended lists the offsets of damaged parts whose content is known from the other copy.
	mended []int64
	// torn says that a crash cut the last save short.
	torn bool

	sectors []sector // by place
	last    uint32   // the largest batch number in an identified sector
}

// clean says whether saves can be appended to the file.
func (m *image) clean() bool { return m.version == formatVersion && len(m.mended) == 0 && !m.torn }

// readImage reads a file. With an error the image holds as much as could be read.
func readImage(path string, f File) (*image, error) {
	m := &image{path: path, records: newTable()}
	err := m.readFile(f)
	m.sectors = nil
	return m, err
}

func (m *image) readFile(f File) (err error) {
	if m.size, err = f.Size(); err != nil {
		return m.fault(nowhere, err)
	}
	raw := make([]byte, m.size)
	if n, err := readFull(f, raw, 0); err != nil {
		return m.fault(int64(n), err)
	}
	if m.version = rawVersion(raw); m.version > formatVersion {
		return m.fault(0, fmt.Errorf("%w: its version is %d, this program reads %d", ErrNewerFormat, m.version, formatVersion))
	}
	m.sectors = make([]sector, len(raw)/sectorSize)
	for i := range m.sectors {
		m.sectors[i] = decodeSector(raw[i*sectorSize:][:sectorSize], uint32(i))
	}
	if h, ok := header1(raw); ok {
		return m.readFormat1(raw, h)
	}
	return m.read()
}

// rawVersion returns the version in the first two pages if both have the magic number, and zero
// otherwise. It checks no checksum, because those of a later format may differ.
func rawVersion(raw []byte) uint32 {
	var versions [2]uint32
	for i := range versions {
		if b := raw[min(i*pageSize, len(raw)):]; len(b) >= pageSize && binary.LittleEndian.Uint32(b[4:]) == fileMagic {
			versions[i] = binary.LittleEndian.Uint32(b[8:])
		}
	}
	return min(versions[0], versions[1])
}

func (m *image) read() error {
	if err := m.readHeader(); err != nil {
		return err
	}
	m.last = snapshotBatch // it was durable before the file got its name
	for i := range m.sectors {
		switch s := &m.sectors[i]; {
		case s.identified() && s.file != m.tail.file:
			*s = sector{condition: invalid}
		case s.identified():
			m.last = max(m.last, s.batch)
		}
	}
	for m.tail.batch <= m.last && !m.torn {
		if err := m.readBatch(); err != nil {
			return err
		}
	}
	m.used = 2 * int64(m.tail.next) * pageSize
	if m.tail.batch > snapshotBatch {
		m.saves = uint64(m.tail.batch - snapshotBatch - 1)
	}
	return m.readRest()
}

// readHeader finds the header, which is needed to read the rest. It searches all sectors,
// because only the header says where the second half begins. A stale or misplaced header of
// another file is ignored if no other sector belongs to that file; if some do, the file is
// refused.
func (m *image) readHeader() error {
	has := map[uint64]bool{} // files with more than a header here
	for i := range m.sectors {
		if s := &m.sectors[i]; s.identified() && s.batch != headerBatch {
			has[s.file] = true
		}
	}
	found := map[uint64]header{}
	for i := range m.sectors {
		s := &m.sectors[i]
		if s.condition != whole || s.batch != headerBatch || s.count != 1 {
			continue
		}
		h, err := decodeHeader(s.payload)
		if err != nil {
			return m.fault(int64(i)*sectorSize, fmt.Errorf("%w: the header is %w", ErrDamaged, err))
		}
		if _, known := found[s.file]; !known && (i == 0 || s.place == h.half*pageSectors) {
			found[s.file] = h
		}
	}
	if len(found) > 1 {
		maps.DeleteFunc(found, func(file uint64, _ header) bool { return !has[file] })
	}
	if len(found) > 1 {
		return m.damaged(0, "it has the headers of two files, and parts of both")
	}
	for file, h := range found {
		m.version, m.node = formatVersion, h.node
		m.tail = tail{file: file, generation: h.generation, mended: h.mended, half: h.half}
		if m.size != int64(h.size) {
			return m.damaged(min(m.size, int64(h.size)), "it has %d bytes, and %d when it was made", m.size, h.size)
		}
		return nil
	}
	return m.damaged(0, "the header cannot be read: this is no store, or it is damaged")
}

// offset is the offset of a sector of a half in the file, in bytes.
func (m *image) offset(half int, at uint32) int64 {
	return (int64(half)*int64(m.tail.half)*pageSectors + int64(at)) * sectorSize
}

// copies are the sectors at this place of both halves.
func (m *image) copies(at uint32) [2]*sector {
	return [2]*sector{&m.sectors[at], &m.sectors[m.tail.half*pageSectors+at]}
}

// readBatch reads the next batch, or finds that a crash cut it short.
func (m *image) readBatch() error {
	at := m.tail.next * pageSectors
	count, err := m.extent()
	if err != nil {
		return err
	}
	mended := len(m.mended)
	payload, complete, err := m.assemble(at, count)
	switch {
	case err != nil:
		return err
	case complete && m.tail.batch == headerBatch: // readHeader has read it
	case complete:
		if err := decodeRecords(payload, &m.records); err != nil {
			return m.fault(m.offset(0, at), fmt.Errorf("%w: batch %d is %w", ErrDamaged, m.tail.batch, err))
		}
	case m.tail.batch == m.last && m.tail.batch > snapshotBatch:
		m.mended, m.torn = m.mended[:mended], true
		return nil
	default:
		return m.unreadable(m.offset(0, at), uint64(m.tail.batch), uint64(m.last))
	}
	m.tail.next += pagesOf(count)
	m.tail.batch++
	return nil
}

// extent is the number of sectors of the next batch, 0 if none of them is identified.
func (m *image) extent() (uint32, error) {
	first, end := m.tail.next*pageSectors, m.tail.half*pageSectors
	for at := first; at < end; at++ {
		for half, s := range m.copies(at) {
			if !s.identified() || s.batch != m.tail.batch {
				continue
			}
			if at-s.index != first || uint64(first)+uint64(s.count) > uint64(end) {
				return 0, m.damaged(m.offset(half, at), "sector %d of batch %d does not belong there", s.index, s.batch)
			}
			return s.count, nil
		}
	}
	return 0, nil
}

// assemble joins the payload of the next batch from the valid copy of each sector.
func (m *image) assemble(first, count uint32) (payload []byte, complete bool, err error) {
	complete = count > 0
	for at := first; at < first+pagesOf(count)*pageSectors; at++ {
		var good *sector
		for half, s := range m.copies(at) {
			switch fits := s.batch == m.tail.batch && s.count == count && at-s.index == first; {
			case s.identified() && !fits:
				return nil, false, m.damaged(m.offset(half, at), "sector %d of batch %d does not belong there", s.index, s.batch)
			case at-first >= count && s.condition == free: // the rest of the last page
			case s.condition != whole:
				m.mended = append(m.mended, m.offset(half, at))
			case good != nil && !bytes.Equal(good.payload, s.payload):
				return nil, false, m.damaged(m.offset(half, at), "the two copies of batch %d differ", s.batch)
			default:
				good = s
			}
		}
		switch {
		case good != nil:
			payload = append(payload, good.payload...)
		case at-first < count:
			complete = false
		}
	}
	return payload, complete, nil
}

// readRest checks the sectors after the last batch. A save that was cut short may have left
// remains there; the head of this file says which remains it cannot have left. The length of
// that save is known if one of its sectors is identified. Otherwise all of its sectors are
// zeros or torn within their heads, except for one page, in case the disk tears sectors in
// other ways than from their beginning on.
func (m *image) readRest() error {
	first, end := m.tail.next*pageSectors, m.tail.half*pageSectors
	count, err := m.extent()
	if err != nil {
		return err
	}
	reach := first + max(1, pagesOf(count))*pageSectors
	for at := first; at < end; at++ {
		for half, s := range m.copies(at) {
			switch {
			case s.condition == free:
				continue
			case s.condition == tornHead:
			case s.identified() && (s.batch != m.tail.batch || s.count != count || at-s.index != first):
				return m.damaged(m.offset(half, at), "sector %d of batch %d does not belong there", s.index, s.batch)
			case at >= reach && m.copies(at)[1-half].condition == free:
				m.mended = append(m.mended, m.offset(half, at)) // in the other half nothing was written there
				continue
			case at >= reach:
				return m.damaged(m.offset(half, at), "the data after batch %d takes up more than one save: "+
					"a crash cannot have left it, so acknowledged saves may have been there", m.tail.batch-1)
			}
			m.torn = true
		}
	}
	return nil
}

func (m *image) fault(offset int64, err error) error {
	return &FileError{Path: m.path, Op: "read", Offset: offset, Err: err}
}

func (m *image) damaged(offset int64, format string, args ...any) error {
	return m.fault(offset, fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...))
}

func (m *image) unreadable(offset int64, batch, last uint64) error {
	return m.damaged(offset, "batch %d cannot be read in either copy, and it was acknowledged: there are batches up to %d", batch, last)
}

// readFull fills b, or returns the number of bytes that it could read. A file that ends too
// early is damaged.
func readFull(f File, b []byte, at int64) (int, error) {
	n, err := f.ReadAt(b, at)
	switch {
	case n == len(b):
		return n, nil
	case err == nil || err == io.EOF: //nolint:errorlint // ReadAt returns io.EOF itself
		err = fmt.Errorf("%w: the file ends after %d bytes", ErrDamaged, at+int64(n))
	}
	return n, err
}
