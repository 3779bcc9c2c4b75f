package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// wrote is what is on a disk after the process was killed that has done so many writes.
func wrote(t *testing.T, writes int) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	require.NoError(t, Create("data", fs, 1))
	d := openDisk(t, fs)
	for i := range writes {
		done := make(chan struct{})
		d.write(func(b *pebble.Batch) error { return b.Set(fmt.Append(nil, "key ", i), make([]byte, 50), nil) }, func() { close(done) })
		<-done
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0})
	writeFile(t, left, "data/"+markName, readFile(t, fs, "data/"+markName)) // nobody has synced it
	require.NoError(t, d.close())
	return left
}

func openDisk(t *testing.T, fs vfs.FS) *disk {
	t.Helper()
	db, err := pebble.Open("data", options(fs, func(err error) { t.Error(err) }))
	require.NoError(t, err)
	m, err := openMark(db, fs, "data")
	require.NoError(t, err)
	return newDisk(db, m, func(err error) { t.Error(err) })
}

func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return text
}

func writeFile(t *testing.T, fs vfs.FS, name string, text []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(text)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	dir, err := fs.OpenDir("data")
	require.NoError(t, err)
	require.NoError(t, dir.Sync())
	require.NoError(t, dir.Close())
}

// newestLog is its name.
func newestLog(t *testing.T, fs vfs.FS) string {
	t.Helper()
	names, err := fs.List("data")
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	return "data/" + slices.Max(names)
}

// reopen opens the data, and says how many of the writes are there.
func reopen(fs vfs.FS) (writes int, err error) {
	db, err := pebble.Open("data", options(fs, func(error) {}))
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	m, err := openMark(db, fs, "data")
	if err != nil {
		return 0, err
	}
	_ = m.file.Close()
	rows, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("key"), UpperBound: []byte("kez")})
	if err != nil {
		return 0, err
	}
	for ok := rows.First(); ok; ok = rows.Next() {
		writes++
	}
	return writes, rows.Close()
}

// Pebble itself notices some, and takes others for the end of the log.
func TestNoFlippedBitInTheLogTakesASyncedWriteAway(t *testing.T) {
	const writes = 12
	fs := wrote(t, writes)
	name := newestLog(t, fs)
	log := readFile(t, fs, name)
	for len(log) > 0 && log[len(log)-1] == 0 {
		log = log[:len(log)-1]
	}
	require.NotEmpty(t, log)
	lost := 0
	for at := 0; at < len(log); at += effort.Of(1, 3) {
		damaged := slices.Clone(log)
		damaged[at] ^= 1 << (at % 8)
		after := fs.CrashClone(vfs.CrashCloneCfg{})
		writeFile(t, after, name, damaged)
		for range 2 { // it does not heal
			found, err := reopen(after)
			switch {
			case errors.Is(err, ErrLost):
				lost++
			case err == nil:
				require.Equal(t, writes, found, "byte %d of %d", at, len(log))
			}
		}
	}
	t.Logf("of %d flipped bits %d look like the end of the log to pebble", len(log)/effort.Of(1, 3), lost/2)
	assert.Positive(t, lost, "pebble has noticed all itself")
}

// One after another, on the disk of the directory for temporary files.
func BenchmarkWrite(b *testing.B) {
	db, err := pebble.Open(b.TempDir(), options(nil, func(err error) { b.Error(err) }))
	require.NoError(b, err)
	m, err := openMark(db, vfs.Default, b.TempDir())
	require.NoError(b, err)
	d := newDisk(db, m, func(err error) { b.Error(err) })
	value := make([]byte, 100)
	for b.Loop() {
		done := make(chan struct{})
		d.write(func(b *pebble.Batch) error { return b.Set([]byte("key"), value, nil) }, func() { close(done) })
		<-done
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	require.NoError(b, d.close())
}
