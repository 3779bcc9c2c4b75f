// The encoding of records in a payload, the same in every version of the format.

package memberstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// maxText bounds the texts in a record.
const maxText = 1 << 16

// checkRecords refuses records that could not be read again.
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
		b = appendRecord(b, &batch[i])
	}
	return b
}

func appendRecord(b []byte, r *Record) []byte {
	b = appendText(b, r.Group)
	b = binary.AppendUvarint(b, uint64(r.Term))
	b = appendText(b, r.Vote)
	b = binary.AppendUvarint(b, uint64(r.Promise))
	return binary.LittleEndian.AppendUint64(b, r.Voters)
}

// recordLength is how many bytes appendRecord appends.
func recordLength(r *Record) int {
	return textLength(r.Group) + uvarintLength(uint64(r.Term)) + textLength(r.Vote) + uvarintLength(uint64(r.Promise)) + 8
}

func textLength(s string) int { return uvarintLength(uint64(len(s))) + len(s) }

func uvarintLength(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errMalformed = errors.New("malformed, though its checksum is right")

// decodeRecords reads a payload into a table. A later record of a group replaces an earlier one.
func decodeRecords(b []byte, records *table) error {
	for d := (decoder{rest: b}); len(d.rest) > 0; {
		r := Record{
			Group: d.text(), Term: Term(d.uvarint()), Vote: d.text(),
			Promise: time.Duration(d.uvarint()), Voters: d.uint64(),
		}
		if d.bad || r.Promise < 0 {
			return errMalformed
		}
		records.put(r)
	}
	return nil
}

// decoder reads values from the front of a payload. After one is missing or malformed it is
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
		n = math.MaxUint64 // more than any payload has
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
