//go:build unix

// Files that are replaced while they are read. A pipe with a name, which only Unix has, stops the reader between
// two of them.

package grpcrpc

import (
	"crypto/tls"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files are read when they are found changed, and the change goes on meanwhile.
func TestAFileThatIsReplacedAfterItWasReadIsReadAgain(t *testing.T) {
	r, files, next := filesOf(t)
	text, err := os.ReadFile(files.CA)
	require.NoError(t, err)
	complete := files.CA + ".complete"
	require.NoError(t, os.WriteFile(complete, text, 0o600))
	require.NoError(t, os.Remove(files.CA))
	require.NoError(t, syscall.Mkfifo(files.CA, 0o600))
	read := make(chan *tls.Certificate, 1)
	go func() {
		before, _ := r.newest()
		read <- before
	}()
	pipe, err := os.OpenFile(files.CA, os.O_WRONLY, 0) // waits for the reader, who has read the others then
	require.NoError(t, err)
	writeOwn(t, files, next)
	require.NoError(t, os.Rename(complete, files.CA))
	_, err = pipe.Write(text)
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	before := <-read
	require.NotEqual(t, next.Raw, before.Leaf.Raw, "it was read before that")
	own, _ := r.newest()
	assert.Equal(t, next.Raw, own.Leaf.Raw)
}
