// What is concluded from a file: what it holds, or that nobody can tell.
//
// Only one batch is written at a time, in both halves, and the next one not before it
// is durable and acknowledged. So a crash leaves every batch but the last one whole
// in both halves, and of the last one, whose sectors reach the disk in any order,
// any part: sectors that are whole, sectors that were torn, zeros in place of the
// rest. And it leaves nothing behind that batch.
//
// Whatever else is found is damage, for which there are three answers:
//
//   - What can be read in the other half is read there, also that nothing was ever
//     written at that place. If both can be read they must be the same.
//   - A batch that cannot be read in either half, with something behind it that can,
//     was acknowledged: the file must not be used. The same goes for what a crash in one
//     save cannot have left behind the last batch in both halves, because it takes up
//     more than one save: other saves were there.
//   - The last batch, if it cannot be read in either half, is taken for one that a
//     crash cut short before it was acknowledged, as if it had never been. To be
//     mistaken in this, two places that lie half a file apart must have been damaged,
//     and just those of the newest save; or both have become zeros again, as
//     far as the newest saves reach.

package memberstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
)

// image is what a file was found to hold.
type image struct {
	path    string
	size    int64
	version uint32
	node    string
	records map[string]Record
	tail    tail   // where the file can be written on
	used    int64  // bytes
	saves   uint64 // batches behind the first two
	// mended lists where in the file something is not as it was written, though all
	// that it said is known from elsewhere.
	mended []int64
	// torn says that a crash cut the last save short.
	torn bool

	sectors []sector // by place
	last    uint32   // the largest number of a batch of which a sector tells
}

// clean says whether the file can be written on as it is.
func (m *image) clean() bool { return m.version == formatVersion && len(m.mended) == 0 && !m.torn }

// readImage reads a file. With an error the image holds what could be read.
func readImage(path string, f File) (*image, error) {
	m := &image{path: path, records: make(map[string]Record)}
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

// rawVersion is the version that a later format has, which this program may not be
// able to check, in the first two pages, if both say so.
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
		case s.tells() && s.file != m.tail.file:
			*s = sector{known: strange}
		case s.tells():
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

// readHeader finds the header, which tells how to read the rest. It looks for it
// everywhere, because where the second half begins stands in the header alone. If
// another file's header is there, too, it is a stale or misplaced one that stands
// alone; where both have more to show for themselves nobody can tell.
func (m *image) readHeader() error {
	has := map[uint64]bool{} // files of which there is more than a header
	for i := range m.sectors {
		if s := &m.sectors[i]; s.tells() && s.batch != headerBatch {
			has[s.file] = true
		}
	}
	found := map[uint64]header{}
	for i := range m.sectors {
		s := &m.sectors[i]
		if s.known != whole || s.batch != headerBatch || s.count != 1 {
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

// offset is where in the file a sector of a half lies, in bytes.
func (m *image) offset(half int, at uint32) int64 {
	return (int64(half)*int64(m.tail.half)*pageSectors + int64(at)) * sectorSize
}

// copies are the two sectors at a place of the halves.
func (m *image) copies(at uint32) [2]*sector {
	return [2]*sector{&m.sectors[at], &m.sectors[m.tail.half*pageSectors+at]}
}

// readBatch reads the next batch, or finds it torn.
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
	case complete && m.tail.batch == headerBatch: // it has been read
	case complete:
		if err := decodeRecords(payload, m.records); err != nil {
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

// extent is how many sectors the next batch has: 0 if none of them tells.
func (m *image) extent() (uint32, error) {
	first, end := m.tail.next*pageSectors, m.tail.half*pageSectors
	for at := first; at < end; at++ {
		for half, s := range m.copies(at) {
			if !s.tells() || s.batch != m.tail.batch {
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

// assemble puts the payload of the next batch together from either copy of each of
// its sectors.
func (m *image) assemble(first, count uint32) (payload []byte, complete bool, err error) {
	complete = count > 0
	for at := first; at < first+pagesOf(count)*pageSectors; at++ {
		var good *sector
		for half, s := range m.copies(at) {
			switch fits := s.batch == m.tail.batch && s.count == count && at-s.index == first; {
			case s.tells() && !fits:
				return nil, false, m.damaged(m.offset(half, at), "sector %d of batch %d does not belong there", s.index, s.batch)
			case at-first >= count && s.known == free: // the rest of the last page
			case s.known != whole:
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

// readRest looks at what lies behind the last batch. A save that was cut short may have
// left something there; see above for what it cannot have left. How far that save
// went is known if any of its sectors tells. If none does, all of them are zeros or
// torn within their heads, but for a page that is not, if the disk tears sectors
// in other ways than from their beginning on.
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
			case s.known == free:
				continue
			case s.known == cut:
			case s.tells() && (s.batch != m.tail.batch || s.count != count || at-s.index != first):
				return m.damaged(m.offset(half, at), "sector %d of batch %d does not belong there", s.index, s.batch)
			case at >= reach && m.copies(at)[1-half].known == free:
				m.mended = append(m.mended, m.offset(half, at)) // the other half says that nothing was there
				continue
			case at >= reach:
				return m.damaged(m.offset(half, at), "what lies behind batch %d takes up more than one save: "+
					"it was not left by a crash, and saves that were acknowledged may have been there", m.tail.batch-1)
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

// readFull fills b, or says how much of it there is. A file that ends too early
// is damaged, not at its end.
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
