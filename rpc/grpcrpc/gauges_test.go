// Connected peers, and the end of certificates.

package grpcrpc_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/url"
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
	unreadable := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("of a kind that Go cannot read")})
	text := bytes.Join([][]byte{read(t, filepath.Join(both, "ca.crt")), read(t, ca)}, append([]byte("not a certificate\n"), unreadable...))
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

// signer is an authority, or a node, of a chain that package certs does not make.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &signer{key: key}
}

// until gives a signer a certificate that ends then, by another one or by itself, and returns it in PEM.
func (s *signer) until(t *testing.T, end time.Time, by *signer, isCA bool, uris ...*url.URL) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: end, URIs: uris,
		IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	parent := template
	if by != s {
		parent = by.cert
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, s.key.Public(), by.key)
	require.NoError(t, err)
	s.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// The first of a chain to end makes all handshakes fail. An authority that was renewed with the same key is in the file twice
// for a while.
func TestCertificateEndsCountTheWholeChain(t *testing.T) {
	day := func(n int) time.Time { return time.Now().AddDate(0, 0, n).UTC().Truncate(time.Second) }
	w := newCluster(t, "n0")
	w.dir = t.TempDir()
	root, between, node := newSigner(t), newSigner(t), newSigner(t)
	older, newer := root.until(t, day(4), root, true), root.until(t, day(5), root, true)
	chain := between.until(t, day(2), root, true)
	chain = append(node.until(t, day(3), between, false, grpcrpc.Identity{Role: grpcrpc.Member, Name: "n0"}.URI()), chain...)
	key, err := x509.MarshalECPrivateKey(node.key)
	require.NoError(t, err)
	files := certs.Files(w.dir, "n0")
	for name, text := range map[string][]byte{files.Cert: chain, files.Key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})} {
		require.NoError(t, os.WriteFile(name, text, 0o600))
	}
	require.NoError(t, os.WriteFile(files.CA, older, 0o600))
	tr := w.open("n0")
	for _, c := range []struct {
		authorities [][]byte
		ends        time.Time
	}{{[][]byte{older}, day(4)}, {[][]byte{older, newer}, day(5)}, {[][]byte{newer, older}, day(5)}} {
		require.NoError(t, os.WriteFile(files.CA, bytes.Join(c.authorities, nil), 0o600))
		own, authority := tr.CertificateEnds()
		assert.WithinDuration(t, day(2), own, time.Minute, "that of the authority between")
		assert.WithinDuration(t, c.ends, authority, time.Minute)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}
