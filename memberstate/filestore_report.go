// Reports of a store to logs and metrics: mended damage, torn saves, the next file.

package memberstate

import (
	"log/slog"
	"slices"
)

// FileOptions are options of a store on disk. The zero value is the disk of the operating
// system, slog.Default(), and no metrics.
type FileOptions struct {
	// Disk is the file system. Nil: that of the operating system.
	Disk Disk
	// Logger receives damage that was mended, saves that a crash cut short, and failures
	// to prepare the next file. Nil: slog.Default().
	Logger *slog.Logger
	// Metrics holds functions that are called in the same cases. Nil: none.
	Metrics *FileMetrics
}

// FileMetrics holds functions that a store calls. Any may be nil. They must return at
// once and be safe for concurrent use, and must not call the store.
type FileMetrics struct {
	// Mended is called when opening the store has read sectors from their other copy. It
	// receives their number.
	Mended func(sectors int)
	// Torn is called when opening the store has found a save that a crash cut short, and
	// has ignored it.
	Torn func()
	// NextFile receives the outcome of every attempt to prepare the file that will
	// replace the present one. After an error the store goes on while the present file
	// has room.
	NextFile func(err error)
}

func (o FileOptions) disk() Disk {
	if o.Disk == nil {
		return osDisk{}
	}
	return o.Disk
}

// reporter has a logger, which is not nil, and metrics.
type reporter struct {
	log     *slog.Logger
	metrics FileMetrics
}

func (o FileOptions) reporter(path, node string) reporter {
	t := reporter{log: o.Logger}
	if t.log == nil {
		t.log = slog.Default()
	}
	if o.Metrics != nil {
		t.metrics = *o.Metrics
	}
	t.log = t.log.With("node", node, "store", path)
	return t
}

// found reports the damage in a file that can be used.
func (t *reporter) found(m *image) {
	if n := len(m.mended); n > 0 {
		t.log.Warn("the store is damaged in one of its copies, and is mended from the other; check its disk",
			"sectors", n, "first_offset", slices.Min(m.mended)) // the two halves are read together
		if f := t.metrics.Mended; f != nil {
			f(n)
		}
	}
	if m.torn {
		t.log.Warn("the last save was cut short by a crash, and is ignored: it was not acknowledged", "offset", m.used/2)
		if f := t.metrics.Torn; f != nil {
			f()
		}
	}
	if m.version != formatVersion {
		t.log.Info("the store has an older format, and is written anew", "format", m.version)
	}
}

// nextFile reports that preparing the next file has failed, or has succeeded after a failure.
func (t *reporter) nextFile(before, now error, left uint32) {
	switch {
	case now != nil:
		t.log.Warn("the store cannot prepare its next file; it goes on while the present one has room", "error", now, "saves_left", left)
	case before != nil:
		t.log.Info("the store has prepared its next file after all")
	}
	if f := t.metrics.NextFile; f != nil {
		f(now)
	}
}
