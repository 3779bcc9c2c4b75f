// What a store does by itself, and whom it tells.

package memberstate

import "log/slog"

// FileOptions say where the file of a store is and who is told what it does by
// itself. The zero value is the disk of the operating system and slog.Default().
type FileOptions struct {
	// Disk is the file system. Nil: that of the operating system.
	Disk Disk
	// Logger is told of damage that was mended, of saves that a crash cut short, and of
	// a next file that cannot be prepared. Nil: slog.Default().
	Logger *slog.Logger
	// Metrics is told the same, for those who measure.
	Metrics *FileMetrics
}

// FileMetrics holds the functions that are told what a store does by itself. Any may
// be nil. They must return at once and be safe for concurrent use, and must not call
// the store.
type FileMetrics struct {
	// Mended is told how many sectors were read from their other copy, when the store is
	// opened and there are any.
	Mended func(sectors int)
	// Torn is told that a save which a crash cut short was found, and left out.
	Torn func()
	// NextFile is told the outcome of every attempt to prepare the file that will
	// take the place of this one when it is full. With an error the store serves on
	// while this one has room.
	NextFile func(err error)
}

func (o FileOptions) disk() Disk {
	if o.Disk == nil {
		return osDisk{}
	}
	return o.Disk
}

// told is a logger and metrics, neither of which is missing.
type told struct {
	log     *slog.Logger
	metrics FileMetrics
}

func (o FileOptions) told(path, node string) told {
	t := told{log: o.Logger}
	if t.log == nil {
		t.log = slog.Default()
	}
	if o.Metrics != nil {
		t.metrics = *o.Metrics
	}
	t.log = t.log.With("node", node, "store", path)
	return t
}

// found tells what was wrong with a file that can be used all the same.
func (t *told) found(m *image) {
	if n := len(m.mended); n > 0 {
		t.log.Warn("the store is damaged in one of its copies, and is mended from the other; look at its disk",
			"sectors", n, "first_offset", m.mended[0])
		if f := t.metrics.Mended; f != nil {
			f(n)
		}
	}
	if m.torn {
		t.log.Warn("the last save was cut short by a crash, and is left out: nobody relied on it", "offset", m.used/2)
		if f := t.metrics.Torn; f != nil {
			f()
		}
	}
	if m.version != formatVersion {
		t.log.Info("the store has an older format, and is written anew", "format", m.version)
	}
}

// nextFile tells whether the next file is ready, if that has changed or is still bad.
func (t *told) nextFile(before, now error, left uint32) {
	switch {
	case now != nil:
		t.log.Warn("the store cannot prepare its next file; it serves on while this one has room", "error", now, "saves_left", left)
	case before != nil:
		t.log.Info("the store has prepared its next file after all")
	}
	if f := t.metrics.NextFile; f != nil {
		f(now)
	}
}
