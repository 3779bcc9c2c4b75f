// The format of the file: pages, batches, records.
//
// The file is a row of pages of 4 KiB. A batch lies on one or more pages, all
// copies of which are laid down in a row, and then all of them again: a torn
// sector, a flipped bit and a lost page hit one copy. No two batches share a page,
// so writing one cannot harm another. Batch 0 is the header, batch 1 is what the
// store held when the file was made, and each one after it is a save.
//
// Every page says which place of which batch it holds, and in which file, so
// that it is either known for what it is or invalid.
//
//	 0  checksum    CRC-32C of the rest of the page
//	 4  magic
//	 8  version     of the format
//	12  number      of the page in the file
//	16  generation  of the file: each new one counts on
//	24  batch       number
//	32  index       of the page in its batch
//	36  count       of the batch's pages, counted once
//	40  length      of the payload on this page
//	44  payload
//
// Numbers have their low byte first.

package memberstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

const (
	pageSize    = 4096
	pageHead    = 44
	pagePayload = pageSize - pageHead

	pageMagic     = 0x74737568 // "hust"
	formatVersion = 1

	headerBatch   = 0
	headerPages   = 2 // one page, twice
	snapshotBatch = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// page is one page that is known to be as it was written.
type page struct {
	version, number uint32
	generation      uint64
	batch           uint64
	index, count    uint32
	payload         []byte
}

// pagesFor is how many pages a payload takes, once. Even an empty one takes one.
func pagesFor(length int) uint32 {
	return uint32(max(1, (length+pagePayload-1)/pagePayload))
}

// encode lays a batch out for where the tail is.
func (t *tail) encode(payload []byte, count uint32) []byte {
	return t.encodeAt(t.next, payload, count)
}

// encodeAt lays a batch out from a page on: all its pages, and all again.
func (t *tail) encodeAt(first uint32, payload []byte, count uint32) []byte {
	out := make([]byte, 2*int(count)*pageSize)
	for i := range 2 * count {
		index := i % count
		part := payload[min(int(index)*pagePayload, len(payload)):]
		p := page{formatVersion, first + i, t.generation, t.batch, index, count, part[:min(pagePayload, len(part))]}
		p.encode(out[int(i)*pageSize:][:pageSize])
	}
	return out
}

func (p *page) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[4:], pageMagic)
	le.PutUint32(b[8:], p.version)
	le.PutUint32(b[12:], p.number)
	le.PutUint64(b[16:], p.generation)
	le.PutUint64(b[24:], p.batch)
	le.PutUint32(b[32:], p.index)
	le.PutUint32(b[36:], p.count)
	le.PutUint32(b[40:], uint32(len(p.payload)))
	copy(b[pageHead:], p.payload)
	seal(b)
}

// seal gives a page its checksum.
func seal(b []byte) {
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:pageSize], castagnoli))
}

// decodePage reads the page of a number, and false if it is not valid there.
func decodePage(b []byte, number uint32) (page, bool) {
	le := binary.LittleEndian
	if le.Uint32(b) != crc32.Checksum(b[4:pageSize], castagnoli) || le.Uint32(b[4:]) != pageMagic {
		return page{}, false
	}
	p := page{
		version: le.Uint32(b[8:]), number: le.Uint32(b[12:]), generation: le.Uint64(b[16:]),
		batch: le.Uint64(b[24:]), index: le.Uint32(b[32:]), count: le.Uint32(b[36:]),
	}
	length := le.Uint32(b[40:])
	if p.number != number || p.index >= p.count || length > pagePayload {
		return page{}, false
	}
	p.payload = b[pageHead:][:length]
	return p, true
}

// maxText bounds the texts in a record.
const maxText = 1 << 16

// checkRecords refuses what could not be read again.
func checkRecords(batch []Record) error {
	for i := range batch {
		switch r := &batch[i]; {
		case len(r.Group) > maxText:
			return fmt.Errorf("record %d: Group has %d bytes, %d is the most", i, len(r.Group), maxText)
		case len(r.Vote) > maxText:
			return fmt.Errorf("record %d (group %q): Vote has %d bytes, %d is the most", i, r.Group, len(r.Vote), maxText)
		case r.Promise < 0:
			return fmt.Errorf("record %d (group %q): Promise is negative", i, r.Group)
		}
	}
	return nil
}

func encodeRecords(batch []Record) []byte {
	var b []byte
	for i := range batch {
		r := &batch[i]
		b = appendText(b, r.Group)
		b = binary.AppendUvarint(b, uint64(r.Term))
		b = appendText(b, r.Vote)
		b = binary.AppendUvarint(b, uint64(r.Promise))
		b = binary.LittleEndian.AppendUint64(b, r.Voters)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// encodeHeader is the payload of batch 0.
func encodeHeader(node string, pages uint32) []byte {
	return appendText(binary.LittleEndian.AppendUint32(nil, pages), node)
}

var errMalformed = errors.New("malformed, though its checksum is right")

// decodeRecords reads a payload into records, later ones over earlier ones.
func decodeRecords(b []byte, records map[string]Record) error {
	for d := (decoder{rest: b}); len(d.rest) > 0; {
		r := Record{
			Group: d.text(), Term: Term(d.uvarint()), Vote: d.text(),
			Promise: time.Duration(d.uvarint()), Voters: d.uint64(),
		}
		if d.bad || r.Promise < 0 {
			return errMalformed
		}
		records[r.Group] = r
	}
	return nil
}

func decodeHeader(b []byte) (node string, pages uint32, err error) {
	d := decoder{rest: b}
	pages, node = d.uint32(), d.text()
	if d.bad || len(d.rest) > 0 || pages < headerPages+2 || node == "" {
		return "", 0, errMalformed
	}
	return node, pages, nil
}

// decoder takes values off the front of a payload. Once one was not there it is
// bad, and yields zeros.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > maxText {
		n = math.MaxUint64 // more than there can be
	}
	return string(d.take(n))
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
