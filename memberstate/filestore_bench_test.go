// Benchmarks on a real disk, that of the directory for temporary files.

package memberstate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// countingDisk counts the syncs of files.
type countingDisk struct {
	memberstate.Disk
	syncs atomic.Int64
}

func (d *countingDisk) Open(name string) (memberstate.File, error) {
	f, err := d.Disk.Open(name)
	if err != nil {
		return nil, err
	}
	return countingFile{f, d}, nil
}

type countingFile struct {
	memberstate.File
	disk *countingDisk
}

func (f countingFile) Sync() error {
	f.disk.syncs.Add(1)
	return f.File.Sync()
}

// Every group saves as soon as its last save is done.
func BenchmarkSave(b *testing.B) {
	for _, groups := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			disk := &countingDisk{Disk: memberstate.OSDisk()}
			s, err := memberstate.CreateFileOn(disk, filepath.Join(b.TempDir(), "n0"), "n0")
			require.NoError(b, err)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var savers sync.WaitGroup
			for g := range groups {
				savers.Go(func() {
					name := fmt.Sprint("group ", g)
					for term := memberstate.Term(1); left.Add(-1) >= 0; term++ {
						if err := s.Save([]memberstate.Record{{Group: name, Term: term, Vote: "n1"}}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			savers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
			b.ReportMetric(float64(b.N)/float64(max(1, disk.syncs.Load())), "saves/sync")
			require.NoError(b, s.Close())
		})
	}
}

func BenchmarkOpen100k(b *testing.B) {
	path := filepath.Join(b.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(b, err)
	batch := make([]memberstate.Record, 100_000)
	for i := range batch {
		batch[i] = memberstate.Record{Group: fmt.Sprint("group ", i), Term: 7, Vote: "n1", Voters: 1 << 60}
	}
	require.NoError(b, s.Save(batch))
	require.NoError(b, s.Close())
	info, err := os.Stat(path)
	require.NoError(b, err)
	for b.Loop() {
		s, err := memberstate.OpenFile(path, "n0")
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
	b.ReportMetric(float64(info.Size())/float64(len(batch)), "bytes/group")
}

// A node of a million groups saves batches as large as an elector's until its file has been replaced. No save
// should take as long as writing all records does.
func BenchmarkReplaceMillion(b *testing.B) {
	const groups, together = 1_000_000, 1024
	s, err := memberstate.CreateFile(filepath.Join(b.TempDir(), "n0"), "n0")
	require.NoError(b, err)
	term, next := memberstate.Term(1), 0
	save := func() time.Duration {
		batch := make([]memberstate.Record, together)
		for i := range batch {
			batch[i] = memberstate.Record{Group: fmt.Sprint("group ", next), Term: term, Vote: "n1", Voters: 1 << 60}
			if next++; next == groups {
				next, term = 0, term+1
			}
		}
		began := time.Now()
		require.NoError(b, s.Save(batch))
		return time.Since(began)
	}
	for term == 1 {
		save()
	}
	var all []time.Duration
	for b.Loop() {
		for left := s.Left(); ; left = s.Left() {
			all = append(all, save())
			if s.Left() > left {
				break
			}
		}
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)-1].Milliseconds()), "ms/longest-save")
	b.ReportMetric(float64(all[len(all)*99/100].Milliseconds()), "ms/99th-save")
	b.ReportMetric(float64(all[len(all)/2].Milliseconds()), "ms/median-save")
	b.ReportMetric(float64(len(all)), "saves")
	require.NoError(b, s.Close())
}
