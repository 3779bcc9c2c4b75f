// Format 1, which is only read: opening such a store writes it anew in format 2.
//
// In format 1 a page of 4 KiB, not a sector, had a head and a checksum, and the two copies
// of a batch lay side by side: all its pages in a row, and then all of them again. The
// header took the first two pages. One damaged run could hit both copies, so the newest
// saves of such a file may have been cut short or damaged, and the reader cannot tell which.
//
//	 0  checksum    CRC-32C of the rest of the page
//	 4  magic
//	 8  version     1
//	12  number      of the page in the file
//	16  generation  of the file: one more than that of the previous file
//	24  batch       number
//	32  index       of the page in its batch
//	36  count       of the batch's pages, counted once
//	40  length      of the payload on this page
//	44  payload

package memberstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

const (
	pageHead1    = 44
	headerPages1 = 2 // one page, twice
)

// page1 is a page as it was read. If count is 0 it is invalid.
type page1 struct {
	number       uint32
	generation   uint64
	batch        uint64
	index, count uint32
	payload      []byte
}

// decodePage1 reads the page with this number.
func decodePage1(b []byte, number uint32) page1 {
	le := binary.LittleEndian
	if le.Uint32(b[4:]) != fileMagic || le.Uint32(b[8:]) != 1 || le.Uint32(b) != crc32.Checksum(b[4:pageSize], castagnoli) {
		return page1{}
	}
	p := page1{
		number: le.Uint32(b[12:]), generation: le.Uint64(b[16:]),
		batch: le.Uint64(b[24:]), index: le.Uint32(b[32:]), count: le.Uint32(b[36:]),
	}
	length := le.Uint32(b[40:])
	if p.number != number || p.index >= p.count || length > pageSize-pageHead1 {
		return page1{}
	}
	p.payload = b[pageHead1:][:length]
	return p
}

// image1 is the content of a file of format 1 as far as it has been read.
type image1 struct {
	*image
	pages []page1
	next  uint32 // the page after the last batch
	batch uint64 // the number of the next batch
	last  uint64 // the largest batch number on a valid page
}

// header1 returns the first valid copy of the header, if the file has format 1.
func header1(raw []byte) (h page1, ok bool) {
	for i := range uint32(headerPages1) {
		if len(raw) < int(i+1)*pageSize {
			break
		}
		if h = decodePage1(raw[i*pageSize:][:pageSize], i); h.count > 0 && h.batch == headerBatch {
			return h, true
		}
	}
	return page1{}, false
}

// readFormat1 reads a file of format 1 whose header is known.
func (m *image) readFormat1(raw []byte, h page1) error {
	m.version, m.tail.generation = 1, h.generation
	d := decoder{rest: h.payload}
	pages, node := d.uint32(), d.text()
	if d.bad || len(d.rest) > 0 || pages < headerPages1+2 || node == "" {
		return m.fault(0, fmt.Errorf("%w: the header is %w", ErrDamaged, errMalformed))
	}
	m.node = node
	if want := int64(pages) * pageSize; m.size != want {
		return m.damaged(min(m.size, want), "it has %d bytes, and %d when it was made", m.size, want)
	}
	if i := slices.IndexFunc(m.sectors, func(s sector) bool { return s.identified() }); i >= 0 {
		return m.damaged(int64(i)*sectorSize, "it has the header of format 1, and parts of a later one")
	}
	m1 := image1{image: m, next: headerPages1, batch: snapshotBatch, last: snapshotBatch}
	m1.decodePages(raw, pages)
	for m1.batch <= m1.last && !m.torn {
		if err := m1.readBatch(); err != nil {
			return err
		}
	}
	m.torn = m.torn || slices.ContainsFunc(raw[int64(m1.next)*pageSize:], func(b byte) bool { return b != 0 })
	m.used, m.saves = int64(m1.next)*pageSize, m1.batch-snapshotBatch-1
	return nil
}

// decodePages decodes the valid pages of this generation.
func (m *image1) decodePages(raw []byte, pages uint32) {
	m.pages = make([]page1, pages)
	for i := range m.pages {
		if p := decodePage1(raw[i*pageSize:][:pageSize], uint32(i)); p.count > 0 && p.generation == m.tail.generation {
			m.pages[i] = p
			m.last = max(m.last, p.batch)
		}
	}
	for i := range uint32(headerPages1) {
		if m.pages[i].count == 0 {
			m.mended = append(m.mended, int64(i)*pageSize)
		}
	}
}

// readBatch reads the next batch, or finds that a crash cut it short.
func (m *image1) readBatch() error {
	at := int64(m.next) * pageSize
	count, err := m.extent()
	if err != nil {
		return err
	}
	mended := len(m.mended)
	payload, complete, err := m.assemble(count)
	switch {
	case err != nil:
		return err
	case complete:
		if err := decodeRecords(payload, &m.records); err != nil {
			return m.fault(at, fmt.Errorf("%w: batch %d is %w", ErrDamaged, m.batch, err))
		}
		m.next += 2 * count
		m.batch++
	case m.batch == m.last && m.batch != snapshotBatch:
		m.mended, m.torn = m.mended[:mended], true
	default:
		return m.unreadable(at, m.batch, m.last)
	}
	return nil
}

// extent is the number of pages in one copy of the next batch, 0 if none of them is valid.
func (m *image1) extent() (uint32, error) {
	i := slices.IndexFunc(m.pages[m.next:], func(p page1) bool { return p.count > 0 && p.batch == m.batch })
	if i < 0 {
		return 0, nil
	}
	p := &m.pages[m.next:][i]
	fits := uint64(m.next)+2*uint64(p.count) <= uint64(len(m.pages))
	if first := p.number - p.index; !fits || first != m.next && first != m.next+p.count {
		return 0, m.damaged(int64(p.number)*pageSize, "page %d of batch %d does not belong there", p.index, p.batch)
	}
	return p.count, nil
}

// assemble joins the payload of the next batch from the valid copy of each page.
func (m *image1) assemble(count uint32) (payload []byte, complete bool, err error) {
	complete = count > 0
	for i := range count {
		var good *page1
		for _, at := range []uint32{m.next + i, m.next + count + i} {
			switch p := &m.pages[at]; {
			case p.count != count || p.batch != m.batch || p.index != i:
				m.mended = append(m.mended, int64(at)*pageSize)
			case good != nil && !bytes.Equal(good.payload, p.payload):
				return nil, false, m.damaged(int64(at)*pageSize, "the two copies of batch %d differ", m.batch)
			default:
				good = p
			}
		}
		if good == nil {
			return nil, false, nil
		}
		payload = append(payload, good.payload...)
	}
	return payload, complete, nil
}
