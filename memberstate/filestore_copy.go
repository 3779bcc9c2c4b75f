// How the records get to the next file while saves go on.
//
// They are copied piece by piece, in an order in which saves may change them meanwhile: what
// is saved after it was copied is copied once more (see table). The first pieces are the
// snapshot, batch 1. Its length is decided when copying begins, because each of its sectors
// names it. What does not fit into it, because it has been saved since, follows as batches of
// its own. For a reader a later record of a group replaces an earlier one, so it finds what
// was saved last.
//
// The header is written last, with the last piece. Without it the file is no store, whatever
// its name is. All of it is synced before the file gets the name of the store, so a crash
// before that leaves the full file, and a crash after it the new one; both have every save that
// was acknowledged, and neither has any other. Only then is the save that found the old file
// full written to the new one, like every other save. So the batch that a crash may cut short
// is never a part of the copy.

package memberstate

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
)

const copyLate = 8 // copying begins when one in so many pages is left

// copying is what has been written of the copy.
type copying struct {
	begun        bool
	tail         tail   // behind the snapshot, and the batches that follow it
	index, count uint32 // sectors of the snapshot: those that are written, and all
}

var errOutgrown = errors.New("so much has been saved since it was begun that it is too small")

// piecePages is how many pages of each half a piece has. In the small files of tests and simulations it has fewer.
func (s *FileStore) piecePages() uint32 { return max(1, min(slice/2/pageSize, s.room/32)) }

func (s *FileStore) pieceSectors() uint32 { return s.piecePages() * pageSectors }

func (s *FileStore) pieceBytes() int { return int(s.pieceSectors()) * sectorPayload }

// snapshotSectors is how many sectors a snapshot of all records takes. The last one of each piece may be filled in part.
func (s *FileStore) snapshotSectors() uint32 {
	return sectorsFor(s.records.length) + uint32(s.records.length/s.pieceBytes())
}

func (s *FileStore) snapshotPages() uint32 { return pagesOf(s.snapshotSectors()) }

// piecesLeft is how many pieces are to be copied until the snapshot is complete, and less than a piece is due.
func (s *FileStore) piecesLeft() uint32 {
	c, whole := &s.next.copy, s.pieceSectors()
	return max((c.count-c.index+whole-1)/whole, uint32(s.records.due/s.pieceBytes()))
}

// hasRoom says whether the copy that has been begun will leave room for a batch of so many pages.
func (s *FileStore) hasRoom(batch uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.next.copy
	follows := s.records.due - int(c.count-c.index)*sectorPayload
	return !c.begun || c.tail.next+2*pagesFor(max(0, follows))+batch <= c.tail.half
}

// copyPiece copies the next records. If it fails, the next file has to be begun anew.
func (s *FileStore) copyPiece() error {
	n := &s.next
	content, page := s.takePiece()
	half, err := n.copy.tail.half, errOutgrown
	if page+uint32(len(content)/pageSize) <= half {
		err = s.writeCopies(n.file, "write "+s.nextName(), content, half, page)
	} else {
		err = s.failed("write "+s.nextName(), int64(page)*pageSize, err)
	}
	if err != nil {
		return errors.Join(err, s.takeNext(n.file))
	}
	return nil
}

// takePiece lays out the next piece, and says to which page it goes.
func (s *FileStore) takePiece() (content []byte, page uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.next.copy
	if !c.begun {
		s.beginCopy()
	}
	room := s.pieceBytes()
	if w := s.records.first(); w != nil {
		room = max(room, w.length)
	}
	if left := c.count - c.index; left > 0 {
		sectors := min(pagesFor(room)*pageSectors, left)
		page, content = headerPages+c.index/pageSectors, s.records.take(int(sectors)*sectorPayload)
		content = layOutPart(c.tail.file, snapshotBatch, c.index, sectors, c.count, content)
		c.index += sectors
		return content, page
	}
	page, content = c.tail.next, layOut(c.tail.file, c.tail.batch, s.records.take(room))
	c.tail.next += uint32(len(content) / pageSize)
	c.tail.batch++
	return content, page
}

// beginCopy decides how long the snapshot is, and so where it ends.
func (s *FileStore) beginCopy() {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	count := s.snapshotSectors()
	s.next.copy = copying{begun: true, count: count, tail: tail{
		file: binary.LittleEndian.Uint64(id[:]), half: uint32(s.next.zeroed / pageSize / 2),
		next: headerPages + pagesOf(count), batch: snapshotBatch + 1,
	}}
}

// finishCopy copies the rest and writes the header, and makes the next file durable.
func (s *FileStore) finishCopy() (tail, error) {
	n := &s.next
	if !n.copy.begun || s.anyDue() {
		if err := s.copyPiece(); err != nil {
			return tail{}, err
		}
	}
	size, err := n.file.Size()
	if err != nil {
		return tail{}, s.failed("look at "+s.nextName(), nowhere, err)
	}
	t := n.copy.tail
	t.generation, t.mended = s.tail.generation+1, s.tail.mended
	h := header{half: t.half, size: uint64(size), generation: t.generation, mended: t.mended, node: s.node}
	if err := s.writeCopies(n.file, "write "+s.nextName(), layOut(t.file, headerBatch, h.encode()), t.half, 0); err != nil {
		return tail{}, err
	}
	return t, s.syncNext(nowhere)
}

func (s *FileStore) anyDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records.due > 0
}
