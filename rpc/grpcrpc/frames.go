// A parser that finds the heads of HTTP/2 frames in a stream of bytes.

package grpcrpc

import "encoding/binary"

// The kinds of frames that concern calls.
const (
	dataFrame         = 0
	headersFrame      = 1
	resetFrame        = 3
	continuationFrame = 9
)

// endStream is a flag of data and headers: the sender sends no more in this stream.
const endStream = 1

const (
	frameHead  = 9  // bytes of a frame before its content
	prefaceLen = 24 // bytes that a client sends before its first frame
)

// frame is the head of a frame.
type frame struct {
	kind, flags byte
	stream      uint32
	length      int
}

// ends says whether the sender sends no more in the stream of this frame.
func (f frame) ends() bool {
	return f.kind == resetFrame || (f.kind == dataFrame || f.kind == headersFrame) && f.flags&endStream != 0
}

// frames finds the heads of frames. The bytes may arrive in any pieces.
type frames struct {
	skip int // bytes until the next head
	head [frameHead]byte
	have int // bytes of the head that have arrived
}

// each calls do with every frame whose head is now complete, until do returns an error.
func (r *frames) each(b []byte, do func(frame) error) error {
	for len(b) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(b))
			r.skip, b = r.skip-n, b[n:]
			continue
		}
		n := copy(r.head[r.have:], b)
		r.have, b = r.have+n, b[n:]
		if r.have < frameHead {
			return nil
		}
		r.have = 0
		r.skip = int(r.head[0])<<16 | int(r.head[1])<<8 | int(r.head[2])
		f := frame{r.head[3], r.head[4], binary.BigEndian.Uint32(r.head[5:]) &^ (1 << 31), r.skip}
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
