// Checkpoints: a search that takes days can be stopped. It is written to a file every few minutes and
// when it is stopped, and the next search with the same bounds resumes from there.
//
// States are numbers of nodes and of messages, which are written as they are in memory. So a checkpoint is only
// good for the executable that wrote it. Another one would explore other code anyway.

package explore

import (
	"bufio"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unsafe"

	"github.com/hustings/hustings/simulation/invariant"
)

// saveEvery is how often a checkpoint is written. A large one takes seconds.
const saveEvery = 5 * time.Minute

// checkpointHead begins a checkpoint.
type checkpointHead struct {
	Executable              [sha256.Size]byte
	Bounds                  Bounds
	Nodes, Messages, States int
	Depth                   int
	Transitions, Steps      uint64

	// The violations that plain machines did not reach: how many there were, and the first of them.
	// A search with any is not complete, on whatever day it ends.
	Unconfirmed int
	Invariant   invariant.Invariant
	What        string
	Path        []Step
}

// save writes the search to its checkpoint. It is called with the lock, or when no worker works any more. A search
// that may have taken a message for another one is not saved: the old checkpoint stays.
func (x *search) save() (err error) {
	if x.registry.full.Load() {
		return nil
	}
	partial := x.options.Checkpoint + ".partial"
	file, err := os.Create(partial)
	if err != nil {
		return err
	}
	out, sum := bufio.NewWriterSize(file, 1<<20), sha256.New()
	err = x.write(io.MultiWriter(out, sum))
	_, failed := out.Write(sum.Sum(nil))
	err = errors.Join(err, failed, out.Flush(), file.Sync(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	x.saved = time.Now()
	return os.Rename(partial, x.options.Checkpoint)
}

func (x *search) write(out io.Writer) error {
	executable, err := executableHash()
	if err != nil {
		return err
	}
	nodes, messages, _, _ := x.registry.since(0, 0, 0)
	head := checkpointHead{
		Executable: executable, Bounds: x.options.Bounds,
		Nodes: len(nodes), Messages: len(messages), States: x.states.count,
		Depth: x.result.Depth, Transitions: x.result.Transitions, Steps: x.result.Steps, Unconfirmed: x.unconfirmed,
	}
	if v := x.result.Violation; v != nil {
		head.Invariant, head.What, head.Path = v.Invariant, v.What, v.Path
	}
	if err := gob.NewEncoder(out).Encode(head); err != nil {
		return err
	}
	for _, part := range [][]byte{raw(nodes), raw(messages)} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return x.states.write(out)
}

// resume resumes from a checkpoint, and says whether there was one.
func (x *worker) resume() (bool, error) {
	file, err := os.Open(x.options.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	err = verifySum(file)
	if err == nil {
		err = x.read(bufio.NewReaderSize(file, 1<<20))
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", x.options.Checkpoint, err)
	}
	return true, nil
}

// verifySum checks that a file ends with the checksum of everything before, and goes back to its beginning.
func verifySum(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var sum [sha256.Size]byte
	if size -= sha256.Size; size < 0 {
		return errors.New("it is damaged: too short")
	}
	if _, err := file.ReadAt(sum[:], size); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, size)); err != nil {
		return err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != sum {
		return errors.New("it is damaged: its checksum does not match")
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

func (x *worker) read(in *bufio.Reader) error {
	var head checkpointHead
	if err := gob.NewDecoder(in).Decode(&head); err != nil {
		return fmt.Errorf("it is no checkpoint: %w", err)
	}
	executable, err := executableHash()
	switch {
	case err != nil:
		return err
	case head.Bounds != x.options.Bounds:
		return fmt.Errorf("its bounds are %+v", head.Bounds)
	case head.Executable != executable:
		return errors.New("another build wrote it and may have explored other code; remove the file to start again")
	}
	nodes, messages := make([]node, head.Nodes), make([]message, head.Messages)
	for _, part := range [][]byte{raw(nodes), raw(messages)} {
		if _, err := io.ReadFull(in, part); err != nil {
			return err
		}
	}
	if err := x.states.read(in, head.States); err != nil {
		return err
	}
	for i := range nodes[1:] {
		x.model.intern(&nodes[i+1])
	}
	for i := range messages {
		x.model.message(messages[i])
	}
	x.result.Before = Counts{uint64(head.States), head.Transitions, head.Steps}
	x.result.Depth, x.result.Transitions, x.result.Steps = head.Depth, head.Transitions, head.Steps
	if x.unconfirmed = head.Unconfirmed; x.unconfirmed > 0 {
		x.result.Violation = &Violation{Invariant: head.Invariant, What: head.What, Path: head.Path}
	}
	for at := range int32(x.states.count) {
		if r := x.states.record(at); !r.expanded && !r.covered {
			s := x.states.state(at)
			x.frontier.add(queued{x.priority(&s, r.depth), at})
			x.check(at, &s) // the checkpoint may have been written before it was checked
		}
	}
	return nil
}

// executableHash identifies a build.
func executableHash() (sum [sha256.Size]byte, err error) {
	name, err := os.Executable()
	if err != nil {
		return sum, err
	}
	file, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// raw is a list as it is in memory. It must hold only numbers.
func raw[T any](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(*new(T)))) //nolint:gosec // its elements are plain numbers
}
