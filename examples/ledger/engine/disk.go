// One disk for all shards of a node. While it syncs, what the shards want to write gathers, and goes with the next
// sync: so a busy node needs no more syncs than its disk can do, and an idle one waits for nobody.

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// disk writes batches, one after another.
type disk struct {
	db     *pebble.DB
	mark   *mark
	failed func(error) // is called once
	wake   chan struct{}
	ended  chan struct{}
	err    error // of its end

	mu     sync.Mutex
	next   *pebble.Batch
	then   []func()
	closed bool
}

func newDisk(db *pebble.DB, m *mark, failed func(error)) *disk {
	d := &disk{db: db, mark: m, failed: failed, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go d.run()
	return d
}

// write has a change written with the next sync, and then calls a function, which may be nil. Changes are written in the
// order of the calls. The disk is never waited for here.
func (d *disk) write(change func(*pebble.Batch) error, then func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if d.next == nil {
		d.next = d.db.NewBatch()
	}
	if err := change(d.next); err != nil {
		d.failed(err)
		return
	}
	if then != nil {
		d.then = append(d.then, then)
	}
	select {
	case d.wake <- struct{}{}:
	default: // it is awake
	}
}

func (d *disk) run() {
	defer close(d.ended)
	for range d.wake {
		if err := d.writeNext(); err != nil {
			d.failed(err)
			break
		}
	}
	for range d.wake { // it has failed, and is not closed yet
	}
	d.err = errors.Join(d.mark.file.Close(), d.db.Close())
}

// writeNext writes what has gathered.
func (d *disk) writeNext() error {
	d.mu.Lock()
	batch, then := d.next, d.then
	d.next, d.then = nil, nil
	d.mu.Unlock()
	if batch == nil {
		return nil
	}
	if err := d.mark.next(batch); err != nil {
		return err
	}
	if err := batch.Commit(pebble.Sync); err != nil {
		return err
	}
	if err := d.mark.set(d.mark.number); err != nil {
		return err
	}
	for _, f := range then {
		f()
	}
	return nil
}

// works returns when the disk has written and synced something.
func (d *disk) works(ctx context.Context) error {
	done := make(chan struct{})
	d.write(func(b *pebble.Batch) error { return b.LogData([]byte("works"), nil) }, func() { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hangs is after how long a disk that is to end is left alone.
const hangs = 3 * time.Second

// close ends the disk. What it has not begun to write is lost. If it hangs, nobody waits until it does.
func (d *disk) close() error {
	d.mu.Lock()
	d.closed, d.next = true, nil
	close(d.wake)
	d.mu.Unlock()
	select {
	case <-d.ended:
		return d.err
	case <-time.After(hangs):
		return errors.New("the disk hangs")
	}
}
