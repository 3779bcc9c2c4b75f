// What is concluded from a file: what it holds, or that nobody can tell.
//
// Only one batch is written at a time, and the next one not before it is durable
// and acknowledged. So if a batch cannot be read and a later one is there, it was
// acknowledged, and the file must not be used; if it is the last one, a crash cut
// it short before it was acknowledged, and it is as if it had never been.

package memberstate

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// image is what a file was found to hold.
type image struct {
	path    string
	size    int64
	version uint32
	node    string
	tail    tail // from where on the file is read, and then written
	records map[string]Record
	// mended lists the pages of which the other copy had to be read.
	mended []uint32
	// torn says that behind the last batch lies what is none.
	torn bool

	pages []page // by number; an invalid one has count 0
	last  uint64 // the largest number of a batch of which a page is valid
}

// clean says whether the file can be written on as it is.
func (m *image) clean() bool { return len(m.mended) == 0 && !m.torn }

// readImage reads a file. With an error the image holds what could be read.
func readImage(path string, f File) (*image, error) {
	m := &image{path: path, records: make(map[string]Record)}
	if err := m.readHeader(f); err != nil {
		return m, err
	}
	raw := make([]byte, m.size)
	if n, err := readFull(f, raw, 0); err != nil {
		err = m.fault(int64(n), err)
		return m, err
	}
	m.decodePages(raw)
	for m.tail.batch <= m.last && !m.torn {
		if err := m.readBatch(); err != nil {
			return m, err
		}
	}
	behind := raw[int64(m.tail.next)*pageSize:]
	m.torn = m.torn || slices.ContainsFunc(behind, func(b byte) bool { return b != 0 })
	m.pages = nil
	return m, nil
}

// readHeader reads what tells how to read the rest.
func (m *image) readHeader(f File) (err error) {
	if m.size, err = f.Size(); err != nil {
		return m.fault(nowhere, err)
	}
	raw := make([]byte, headerPages*pageSize)
	if n, err := readFull(f, raw, 0); err != nil {
		return m.fault(int64(n), err)
	}
	h, ok := decodePage(raw[:pageSize], 0)
	if !ok {
		h, ok = decodePage(raw[pageSize:], 1)
	}
	if m.version = max(h.version, rawVersion(raw)); !ok && m.version <= formatVersion || h.batch != headerBatch {
		return m.damaged(0, "the header cannot be read: this is no store, or it is damaged")
	}
	if m.version > formatVersion {
		return m.fault(0, fmt.Errorf("%w: its version is %d, this program reads %d", ErrNewerFormat, m.version, formatVersion))
	}
	m.tail.generation, m.tail.next, m.tail.batch = h.generation, headerPages, snapshotBatch
	if m.node, m.tail.pages, err = decodeHeader(h.payload); err != nil {
		return m.fault(0, fmt.Errorf("%w: the header is %w", ErrDamaged, err))
	}
	if want := int64(m.tail.pages) * pageSize; m.size != want {
		return m.damaged(min(m.size, want), "it has %d bytes, and %d when it was made", m.size, want)
	}
	return nil
}

// rawVersion is the version that a later format has in its header, which this
// program may not be able to check, if both copies say so.
func rawVersion(raw []byte) uint32 {
	var versions [headerPages]uint32
	for i := range versions {
		if b := raw[i*pageSize:]; binary.LittleEndian.Uint32(b[4:]) == pageMagic {
			versions[i] = binary.LittleEndian.Uint32(b[8:])
		}
	}
	return min(versions[0], versions[1])
}

// decodePages finds the pages of this generation that are valid.
func (m *image) decodePages(raw []byte) {
	m.pages = make([]page, m.tail.pages)
	for i := range m.pages {
		p, ok := decodePage(raw[i*pageSize:][:pageSize], uint32(i))
		if ok && p.generation == m.tail.generation {
			m.pages[i] = p
			m.last = max(m.last, p.batch)
		}
	}
	for i := range uint32(headerPages) {
		if m.pages[i].count == 0 {
			m.mended = append(m.mended, i)
		}
	}
	m.last = max(m.last, snapshotBatch) // it was durable before the file got its name
}

// readBatch reads the next batch, or finds it torn.
func (m *image) readBatch() error {
	at := int64(m.tail.next) * pageSize
	count, err := m.extent()
	if err != nil {
		return err
	}
	mended := len(m.mended)
	payload, whole := m.assemble(count)
	switch {
	case whole:
		if err := decodeRecords(payload, m.records); err != nil {
			return m.fault(at, fmt.Errorf("%w: batch %d is %w", ErrDamaged, m.tail.batch, err))
		}
		m.tail.next += 2 * count
		m.tail.batch++
	case m.tail.batch == m.last && m.tail.batch != snapshotBatch:
		m.mended, m.torn = m.mended[:mended], true
	default:
		return m.damaged(at, "batch %d cannot be read in either copy, and it was acknowledged: there are batches up to %d", m.tail.batch, m.last)
	}
	return nil
}

// extent is how many pages the next batch has, once: 0 if none of them is valid.
func (m *image) extent() (uint32, error) {
	next := m.tail.next
	i := slices.IndexFunc(m.pages[next:], func(p page) bool { return p.count > 0 && p.batch == m.tail.batch })
	if i < 0 {
		return 0, nil
	}
	p := &m.pages[next:][i]
	fits := uint64(next)+2*uint64(p.count) <= uint64(len(m.pages))
	if first := p.number - p.index; !fits || first != next && first != next+p.count {
		return 0, m.damaged(int64(p.number)*pageSize, "page %d of batch %d does not belong there", p.index, p.batch)
	}
	return p.count, nil
}

// assemble puts the payload of the next batch together from either copy of each
// of its pages.
func (m *image) assemble(count uint32) (payload []byte, whole bool) {
	for i := range count {
		found := false
		for _, at := range []uint32{m.tail.next + i, m.tail.next + count + i} {
			switch p := &m.pages[at]; {
			case p.count != count || p.batch != m.tail.batch || p.index != i:
				m.mended = append(m.mended, at)
			case !found:
				payload, found = append(payload, p.payload...), true
			}
		}
		if !found {
			return nil, false
		}
	}
	return payload, count > 0
}

func (m *image) fault(offset int64, err error) error {
	return &FileError{Path: m.path, Op: "read", Offset: offset, Err: err}
}

func (m *image) damaged(offset int64, format string, args ...any) error {
	return m.fault(offset, fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...))
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
