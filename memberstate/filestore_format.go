// The format of the file: halves, pages, sectors.
//
// The file has two equal halves, and each holds one copy of everything at the same
// place. So the two copies of a record are as far apart as half the file is long,
// 2 MiB at least on a real disk, and one damaged run that is shorter cannot hit
// both copies of anything.
//
// A half is a row of pages of 4 KiB. A batch begins on a page of its own, so
// writing one cannot harm another. Batch 0 is the header, batch 1 is what the store
// held when the file was made, and each one after it is a save. A page is written
// once in the life of a file; until then it is zeros.
//
// A page is eight sectors, because a sector is what a disk writes as a whole. A
// batch takes as many as its payload needs, and what is left of its last page stays
// zeros. Every sector says in which file it is, at which place, and which part of
// which batch it holds, so that it is either known for what it is or invalid; what
// another file, another place, or the same place in an earlier life of the file
// held cannot be taken for it. Its head has a checksum of its own: the head of
// a sector that was torn in the middle still tells whose it is.
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
	headerPages   = 1 // that the header takes in a half
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// known says what can be said about a sector.
type known uint8

const (
	// free: it is all zeros, as it was made.
	free known = iota
	// cut: zeros but for where its head would be. A write that was torn within the
	// head leaves this.
	cut
	// strange: it is not as any write of this file left it.
	strange
	// named: its head tells what it is, and what follows is not what was written.
	named
	// whole: it is as it was written.
	whole
)

// sector is what can be read of one.
type sector struct {
	known        known
	place        uint32
	file         uint64
	batch        uint32
	index, count uint32
	payload      []byte
}

// tells says whether the sector is known to be part of a batch.
func (s *sector) tells() bool { return s.known >= named }

// sectorsFor is how many sectors a payload takes. Even an empty one takes one.
func sectorsFor(length int) uint32 {
	return uint32(max(1, (length+sectorPayload-1)/sectorPayload))
}

// pagesOf is how many pages so many sectors take.
func pagesOf(sectors uint32) uint32 { return (sectors + pageSectors - 1) / pageSectors }

// pagesFor is how many pages a payload takes in a half.
func pagesFor(length int) uint32 { return pagesOf(sectorsFor(length)) }

// layOut is one copy of a batch. Where it lies is still to be said, by moveTo.
func layOut(file uint64, batch uint32, payload []byte) []byte {
	count := sectorsFor(len(payload))
	out := make([]byte, pagesOf(count)*pageSize)
	for i := range count {
		n := min(len(payload), sectorPayload)
		s := sector{file: file, batch: batch, index: i, count: count, payload: payload[:n]}
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

// moveTo makes what was laid out the copy that is to lie from a page of the file on.
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

// decodeSector reads the sector at a place, of whatever file it is.
func decodeSector(b []byte, place uint32) sector {
	le := binary.LittleEndian
	if le.Uint32(b[4:]) == fileMagic && le.Uint32(b) == crc32.Checksum(b[4:sectorHead], castagnoli) {
		s := sector{
			known: named, place: le.Uint32(b[12:]), file: le.Uint64(b[16:]),
			batch: le.Uint32(b[24:]), index: le.Uint32(b[28:]), count: le.Uint32(b[32:]),
		}
		length := le.Uint32(b[36:])
		if le.Uint32(b[8:]) != formatVersion || s.place != place || s.index >= s.count || length > sectorPayload {
			return sector{known: strange}
		}
		if le.Uint32(b[40:]) == crc32.Checksum(b[sectorHead:sectorSize], castagnoli) {
			s.known, s.payload = whole, b[sectorHead:][:length]
		}
		return s
	}
	switch {
	case !bytes.Equal(b[sectorHead:sectorSize], zeros[sectorHead:]):
		return sector{known: strange}
	case !bytes.Equal(b[:sectorHead], zeros[:sectorHead]):
		return sector{known: cut}
	}
	return sector{}
}

// header is what batch 0 holds.
type header struct {
	half       uint32 // pages in each half
	size       uint64 // of the file, in bytes, which may be more than the halves take
	generation uint64 // each new file counts on
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
