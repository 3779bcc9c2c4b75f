// The format of the file: halves, pages, sectors.
//
// The file has two equal halves, and each holds one copy of everything at the same
// place. So the two copies of a record are as far apart as half the file is long,
// 2 MiB at least on a real disk, and one damaged run that is shorter cannot hit
// both copies of anything.
//
// A half is a row of pages of 4 KiB. A batch begins on a page of its own, so
// writing one cannot harm another. Batch 0 is the header, batch 1 is a snapshot of all
// records when the file was made, and every later batch is a save, or has what was saved
// while the snapshot was written. A page is written once in the life of a file; until then
// it is zeros.
//
// A page is eight sectors, because a sector is the unit that a disk writes as a whole.
// A batch takes as many sectors as its payload needs, and the rest of its last page
// stays zeros. Every sector names its file, its place, its batch and its part of the
// batch. So a sector of another file, of another place, or of an earlier use of the same
// file is recognised as invalid. The head of a sector has a checksum of its own, so that
// a sector torn in the middle can still be identified.
//
//	 0  checksum  CRC-32C of the rest of the head
//	 4  magic
//	 8  version   of the format
//	12  place     of the sector in the file, counted in sectors
//	16  file      drawn at random for every new file
//	24  batch     number
//	28  index     of the sector in its batch
//	32  count     of the batch's sectors
//	36  length    of the payload in this sector
//	40  checksum  CRC-32C of all that follows
//	44  payload, and zeros
//
// Numbers have their low byte first. Magic and version lie where format 1 had them,
// so programs that know only that one can tell that the file is newer.

package memberstate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const (
	sectorSize    = 512
	sectorHead    = 44
	sectorPayload = sectorSize - sectorHead

	pageSectors = 8
	pageSize    = pageSectors * sectorSize

	fileMagic     = 0x74737568 // "hust"
	formatVersion = 2

	headerBatch   = 0
	snapshotBatch = 1
	headerPages   = 1 // pages of the header in a half
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// condition says how much of a sector is valid.
type condition uint8

const (
	// free: all zeros, never written.
	free condition = iota
	// tornHead: all zeros except in the head. A write that was torn within the head leaves
	// this.
	tornHead
	// invalid: no write of this file leaves this.
	invalid
	// headValid: the head is valid, the payload is not.
	headValid
	// whole: valid as a whole.
	whole
)

// sector is a sector as it was read.
type sector struct {
	condition    condition
	place        uint32
	file         uint64
	batch        uint32
	index, count uint32
	payload      []byte
}

// identified says whether the sector's head is valid, which names its batch.
func (s *sector) identified() bool { return s.condition >= headValid }

// sectorsFor is the number of sectors that a payload takes. Even an empty one takes one.
func sectorsFor(length int) uint32 {
	return uint32(max(1, (length+sectorPayload-1)/sectorPayload))
}

// pagesOf is the number of pages that these sectors take.
func pagesOf(sectors uint32) uint32 { return (sectors + pageSectors - 1) / pageSectors }

// pagesFor is the number of pages that a payload takes in a half.
func pagesFor(length int) uint32 { return pagesOf(sectorsFor(length)) }

// layOut returns one copy of a batch. moveTo completes it with its place.
func layOut(file uint64, batch uint32, payload []byte) []byte {
	count := sectorsFor(len(payload))
	return layOutPart(file, batch, 0, count, count, payload)
}

// layOutPart returns a part of one copy of a batch of count sectors: so many sectors, from an index on. If the payload does not
// need all of them, the last ones are empty.
func layOutPart(file uint64, batch, index, sectors, count uint32, payload []byte) []byte {
	out := make([]byte, pagesOf(sectors)*pageSize)
	for i := range sectors {
		n := min(len(payload), sectorPayload)
		s := sector{file: file, batch: batch, index: index + i, count: count, payload: payload[:n]}
		s.encode(out[i*sectorSize:][:sectorSize])
		payload = payload[n:]
	}
	return out
}

func (s *sector) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[4:], fileMagic)
	le.PutUint32(b[8:], formatVersion)
	le.PutUint64(b[16:], s.file)
	le.PutUint32(b[24:], s.batch)
	le.PutUint32(b[28:], s.index)
	le.PutUint32(b[32:], s.count)
	le.PutUint32(b[36:], uint32(len(s.payload)))
	copy(b[sectorHead:], s.payload)
	sealBody(b)
}

func sealBody(b []byte) {
	binary.LittleEndian.PutUint32(b[40:], crc32.Checksum(b[sectorHead:sectorSize], castagnoli))
}

func sealHead(b []byte) {
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:sectorHead], castagnoli))
}

// moveTo writes the place into every sector of a copy that is to begin on this page of the file.
func moveTo(laidOut []byte, page uint32) {
	place := page * pageSectors
	for b := laidOut; len(b) > 0; b = b[sectorSize:] {
		if binary.LittleEndian.Uint32(b[4:]) == fileMagic {
			binary.LittleEndian.PutUint32(b[12:], place)
			sealHead(b)
		}
		place++
	}
}

var zeros [sectorSize]byte

// decodeSector reads the sector at a place. It does not check which file the sector names.
func decodeSector(b []byte, place uint32) sector {
	le := binary.LittleEndian
	if le.Uint32(b[4:]) == fileMagic && le.Uint32(b) == crc32.Checksum(b[4:sectorHead], castagnoli) {
		s := sector{
			condition: headValid, place: le.Uint32(b[12:]), file: le.Uint64(b[16:]),
			batch: le.Uint32(b[24:]), index: le.Uint32(b[28:]), count: le.Uint32(b[32:]),
		}
		length := le.Uint32(b[36:])
		if le.Uint32(b[8:]) != formatVersion || s.place != place || s.index >= s.count || length > sectorPayload {
			return sector{condition: invalid}
		}
		if le.Uint32(b[40:]) == crc32.Checksum(b[sectorHead:sectorSize], castagnoli) {
			s.condition, s.payload = whole, b[sectorHead:][:length]
		}
		return s
	}
	switch {
	case !bytes.Equal(b[sectorHead:sectorSize], zeros[sectorHead:]):
		return sector{condition: invalid}
	case !bytes.Equal(b[:sectorHead], zeros[:sectorHead]):
		return sector{condition: tornHead}
	}
	return sector{}
}

// header is the payload of batch 0.
type header struct {
	half       uint32 // pages in each half
	size       uint64 // of the file, in bytes, which may be more than the halves take
	generation uint64 // one more than that of the previous file
	mended     uint64 // sectors that were read from their other copy, in all files of the store
	node       string
}

func (h *header) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, h.half)
	b = le.AppendUint64(b, h.size)
	b = le.AppendUint64(b, h.generation)
	b = le.AppendUint64(b, h.mended)
	return appendText(b, h.node)
}

func decodeHeader(b []byte) (header, error) {
	d := decoder{rest: b}
	h := header{half: d.uint32(), size: d.uint64(), generation: d.uint64(), mended: d.uint64(), node: d.text()}
	if d.bad || len(d.rest) > 0 || h.half <= headerPages || h.node == "" || h.size/pageSize/2 < uint64(h.half) {
		return header{}, errMalformed
	}
	return h, nil
}
