// What a store writes to its log.

package memberstate_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// opened is the log of a node that opens the file with this content, without a function for its metrics.
func opened(t *testing.T, text []byte) string {
	t.Helper()
	disk := new(crashdisk.Disk)
	disk.Set("dir/store", text)
	var log bytes.Buffer
	s, err := memberstate.OpenSmallWith(memberstate.FileOptions{
		Disk: disk, Logger: slog.New(slog.NewTextHandler(&log, nil)), Metrics: new(memberstate.FileMetrics),
	}, "dir/store", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	return log.String()
}

// Whoever reads the log of many nodes needs to know which disk to check, and where.
func TestAReportNamesNodeFileAndPlace(t *testing.T) {
	text, _ := whole(t)
	assert.Empty(t, opened(t, text))

	damaged := bytes.Clone(text)
	damaged[memberstate.PageSize+100] ^= 1
	damaged[3*memberstate.PageSize+100] ^= 1
	log := opened(t, damaged)
	assert.Contains(t, log, "level=WARN")
	assert.Contains(t, log, fmt.Sprintf("node=n0 store=dir/store sectors=2 first_offset=%d\n", memberstate.PageSize))

	other := bytes.Clone(text) // what is read first is damaged in the second half
	other[len(text)/2+memberstate.PageSize+100] ^= 1
	other[3*memberstate.PageSize+100] ^= 1
	assert.Contains(t, opened(t, other), fmt.Sprintf("sectors=2 first_offset=%d\n", 3*memberstate.PageSize))

	log = opened(t, spoil(text, 5*perPage))
	assert.Contains(t, log, "level=WARN")
	assert.Contains(t, log, fmt.Sprintf("node=n0 store=dir/store offset=%d\n", 5*memberstate.PageSize))

	old, _ := format1(t)
	log = opened(t, old)
	assert.Contains(t, log, "level=INFO")
	assert.Contains(t, log, "node=n0 store=dir/store format=1\n")
}

// Metrics are called for each attempt to prepare the next file, and the log tells of the failures, and of their end.
func TestAPreparationIsReported(t *testing.T) {
	disk, hears := new(crashdisk.Disk), new(listener)
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	s, err = memberstate.OpenSmallWith(hears.options(disk), "dir/store", "n0", room)
	require.NoError(t, err)
	failOp(disk, "sync", 1)
	run()
	disk.Before = nil
	require.Len(t, hears.outcomes, 1)
	require.ErrorIs(t, hears.outcomes[0], syscall.EIO)
	log := hears.log.String()
	assert.Contains(t, log, "level=WARN")
	assert.Contains(t, log, fmt.Sprintf("node=n0 store=dir/store error=%q saves_left=5\n", hears.outcomes[0]))
	hears.log.Reset()
	saves(t, s, 1, 1)
	run()
	require.Len(t, hears.outcomes, 2)
	require.NoError(t, hears.outcomes[1])
	assert.Contains(t, hears.log.String(), "level=INFO")
	hears.log.Reset()
	saves(t, s, 2, 5)
	run()
	require.Len(t, hears.outcomes, 3, "the full file has become the next one")
	require.NoError(t, hears.outcomes[2])
	assert.Empty(t, hears.log.String())
	closed(t, s)
}

// A disk that damages data may be full as well, or broken altogether. All the more somebody has to check it.
func TestDamageIsReportedEvenIfItCannotBeRepaired(t *testing.T) {
	text, _ := whole(t)
	text[memberstate.PageSize+100] ^= 1
	disk, mended := new(crashdisk.Disk), 0
	disk.Set("dir/store", text)
	failNth(disk, 1, syscall.ENOSPC)
	var log bytes.Buffer
	_, err := memberstate.OpenSmallWith(memberstate.FileOptions{
		Disk: disk, Logger: slog.New(slog.NewTextHandler(&log, nil)), Metrics: &memberstate.FileMetrics{Mended: func(n int) { mended += n }},
	}, "dir/store", "n0", room)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Contains(t, log.String(), "sectors=1")
	assert.Equal(t, 1, mended)
}

// A logger or a metric that waits would hold up saves that need the next file, and the votes that wait for them.
func TestAPreparationIsReportedUnderNoLock(t *testing.T) {
	disk, told := new(crashdisk.Disk), 0
	var s *memberstate.FileStore
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	run := putOff(disk)
	s, err = memberstate.OpenSmallWith(memberstate.FileOptions{
		Disk: disk, Logger: slog.New(slog.DiscardHandler), Metrics: &memberstate.FileMetrics{NextFile: func(error) {
			told++
			assert.False(t, s.NextIsLocked())
		}},
	}, "n0", "n0", room)
	require.NoError(t, err)
	failNth(disk, 1, syscall.EIO)
	run()
	disk.Before = nil
	saves(t, s, 1, 1)
	run()
	assert.Equal(t, 2, told, "of a failure, and of a success")
	closed(t, s)
}
