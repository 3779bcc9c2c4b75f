// The syncs of a disk, and the repairs of a store on it.

package metrics

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Disk returns a disk whose syncs are timed.
func (c *Collector) Disk(d memberstate.Disk) memberstate.Disk { return timedDisk{d, c} }

type timedDisk struct {
	memberstate.Disk
	collector *Collector
}

func (d timedDisk) Open(name string) (memberstate.File, error) { return d.timed(d.Disk.Open(name)) }

func (d timedDisk) Create(name string) (memberstate.File, error) { return d.timed(d.Disk.Create(name)) }

func (d timedDisk) timed(f memberstate.File, err error) (memberstate.File, error) {
	if err != nil {
		return nil, err
	}
	return timedFile{f, d.collector}, nil
}

type timedFile struct {
	memberstate.File
	collector *Collector
}

func (f timedFile) Sync() error {
	began := time.Now()
	err := f.File.Sync()
	f.collector.fsync.Observe(time.Since(began).Seconds())
	return err
}

// Store returns the Metrics for a store on disk.
func (c *Collector) Store() *memberstate.FileMetrics {
	return &memberstate.FileMetrics{
		Mended: func(sectors int) { c.mended.Add(float64(sectors)) },
		Torn:   func() { c.torn.Inc() },
		NextFile: func(err error) {
			failed := 0.0
			if err != nil {
				failed = 1
			}
			c.nextFailed.Set(failed)
		},
	}
}
