// Connected peers, and the end of certificates.

package grpcrpc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestConnectedSaysWhichPeersAreConnected(t *testing.T) {
	w := newCluster(t, "n0", "n1", "n2")
	a, _ := w.serve("n0")
	assert.Equal(t, map[string]bool{"n1": false, "n2": false}, a.Connected())
	b, heard := w.serve("n1")
	w.reaches(a, "n1", heard)
	assert.Equal(t, map[string]bool{"n1": true, "n2": false}, a.Connected())
	w.eventually("n1 is connected, too", func() bool { return b.Connected()["n0"] })
	b.Close()
	w.eventually("n1 is gone", func() bool { return !a.Connected()["n1"] })
	a.SetPeers(map[string]string{"n2": w.addresses["n2"]})
	assert.Equal(t, map[string]bool{"n2": false}, a.Connected())
}

// Of the authorities in the file, the one counts that has signed the node's certificate. Replaced
// files count at once.
func TestCertificateEndsFollowsTheFiles(t *testing.T) {
	plain := newCluster(t, "n0")
	own, authority := plain.open("n0").CertificateEnds()
	assert.Zero(t, own)
	assert.Zero(t, authority)

	w := newClusterWithTLS(t, "n0")
	tr := w.open("n0")
	own, authority = tr.CertificateEnds()
	assert.WithinDuration(t, time.Now().Add(time.Hour), own, 10*time.Minute)
	assert.Equal(t, w.authority.Until().Unix(), authority.Unix())

	next, err := certs.NewAuthority(time.Now(), 1000*time.Hour)
	require.NoError(t, err)
	both := t.TempDir()
	require.NoError(t, next.WriteAuthority(both))
	ca := filepath.Join(w.dir, "ca.crt")
	text := bytes.Join([][]byte{read(t, filepath.Join(both, "ca.crt")), read(t, ca)}, []byte("not a certificate\n"))
	require.NoError(t, os.WriteFile(ca, text, 0o600))
	_, authority = tr.CertificateEnds()
	assert.Equal(t, w.authority.Until().Unix(), authority.Unix(), "the next authority has not signed the certificate yet")

	w.issue(next, grpcrpc.Member, "n0", "n0", 500*time.Hour)
	own, authority = tr.CertificateEnds()
	assert.WithinDuration(t, time.Now().Add(500*time.Hour), own, 10*time.Minute)
	assert.Equal(t, next.Until().Unix(), authority.Unix())

	require.NoError(t, os.Remove(ca))
	own, authority = tr.CertificateEnds()
	assert.NotZero(t, own, "the previous files are still used")
	assert.Zero(t, authority)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}
