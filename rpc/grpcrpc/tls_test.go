// Which certificates are trusted, and when the files are read.

package grpcrpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
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
)

// signer is a certificate and its key.
type signer struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// signs makes a certificate like this one, with a key of its own. Nil signs by that key.
func (s *signer) signs(t *testing.T, like x509.Certificate) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	like.SerialNumber, like.NotBefore, like.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by := s
	if by == nil {
		by = &signer{&like, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &like, by.Certificate, key.Public(), by.key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &signer{c, key}
}

// authority is a template for an authority.
func authority() x509.Certificate {
	return x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
}

// member is a template for the certificate of node a.
func member(uses ...x509.ExtKeyUsage) x509.Certificate {
	return x509.Certificate{ExtKeyUsage: uses, URIs: []*url.URL{Identity{Member, "a"}.URI()}}
}

// trusting trusts one authority, and has no files.
func trusting(root *signer) *reloader {
	r := &reloader{now: time.Now, refuse: func(Refusal, ...any) {}, pool: x509.NewCertPool()}
	r.pool.AddCert(root.Certificate)
	return r
}

// shows is the state of a connection whose other side shows these certificates.
func shows(chain ...*signer) (s tls.ConnectionState) {
	for _, c := range chain {
		s.PeerCertificates = append(s.PeerCertificates, c.Certificate)
	}
	return s
}

// An installation may keep the key of its authority elsewhere, and sign by an intermediate one.
func TestACertificateMayBeSignedByAnIntermediateAuthority(t *testing.T) {
	root := (*signer)(nil).signs(t, authority())
	between := root.signs(t, authority())
	leaf := between.signs(t, member(x509.ExtKeyUsageClientAuth))
	r := trusting(root)
	who, err := r.verify(shows(leaf, between), x509.ExtKeyUsageClientAuth)
	require.NoError(t, err)
	assert.Equal(t, Identity{Member, "a"}, who)
	_, err = r.verify(shows(leaf), x509.ExtKeyUsageClientAuth)
	require.ErrorContains(t, err, "unknown authority", "the link to the authority is missing")
	_, err = r.verify(tls.ConnectionState{}, x509.ExtKeyUsageClientAuth)
	require.ErrorContains(t, err, "no certificate")
}

// A certificate for one end of a connection is none for the other end: an operator's is for the calling
// end, so that whoever has it cannot listen in the place of a node.
func TestACertificateIsForTheEndsThatItNames(t *testing.T) {
	root := (*signer)(nil).signs(t, authority())
	calls := shows(root.signs(t, member(x509.ExtKeyUsageClientAuth)))
	answers := shows(root.signs(t, member(x509.ExtKeyUsageServerAuth)))
	r := trusting(root)
	require.NoError(t, r.server().VerifyConnection(calls))
	require.ErrorContains(t, r.server().VerifyConnection(answers), "incompatible key usage")
	for _, member := range []string{"a", ""} {
		require.NoError(t, r.client(member).VerifyConnection(answers))
		require.ErrorContains(t, r.client(member).VerifyConnection(calls), "incompatible key usage")
	}
	require.ErrorContains(t, r.client("b").VerifyConnection(answers), "hustings://member/a, not hustings://member/b")
}

// Even if an authority does not keep to that.
func TestOnlyAMemberIsCalled(t *testing.T) {
	root := (*signer)(nil).signs(t, authority())
	operator := member(x509.ExtKeyUsageServerAuth)
	operator.URIs[0] = Identity{Operator, "a"}.URI()
	shown := shows(root.signs(t, operator))
	for _, member := range []string{"a", ""} {
		require.ErrorContains(t, trusting(root).client(member).VerifyConnection(shown), "the other side is hustings://operator/a")
	}
}

// write writes a certificate, or a key, in PEM.
func write(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// writeOwn writes a certificate and its key.
func writeOwn(t *testing.T, files TLS, own *signer) {
	t.Helper()
	key, err := x509.MarshalECPrivateKey(own.key)
	require.NoError(t, err)
	write(t, files.Cert, "CERTIFICATE", own.Raw)
	write(t, files.Key, "EC PRIVATE KEY", key)
}

// filesOf is a reloader of files of node a, and a new certificate for it.
func filesOf(t *testing.T) (r *reloader, files TLS, next *signer) {
	t.Helper()
	dir, root := t.TempDir(), (*signer)(nil).signs(t, authority())
	files = TLS{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "a.crt"), Key: filepath.Join(dir, "a.key")}
	write(t, files.CA, "CERTIFICATE", root.Raw)
	writeOwn(t, files, root.signs(t, member()))
	r, err := newReloader(files, Identity{Member, "a"}, time.Now, func(Refusal, ...any) {})
	require.NoError(t, err)
	longer := member() // so that it has another size
	longer.DNSNames = []string{"a.example.org"}
	return r, files, root.signs(t, longer)
}

// All connections are verified again when the files were read, which must not happen again and again.
func TestTheFilesAreReadOnceAfterEachChange(t *testing.T) {
	r, files, next := filesOf(t)
	first, _ := r.newest()
	again, _ := r.newest()
	assert.Same(t, first, again)
	assert.Empty(t, r.changed)
	writeOwn(t, files, next)
	second, _ := r.newest()
	assert.Equal(t, next.Raw, second.Leaf.Raw)
	assert.Len(t, r.changed, 1)
	<-r.changed
	again, _ = r.newest()
	assert.Same(t, second, again)
	assert.Empty(t, r.changed)
}

// In a secret of Kubernetes each name points to the file of the present version.
func TestFilesBehindSymbolicLinksAreReadAgain(t *testing.T) {
	r, files, next := filesOf(t)
	for _, name := range []string{files.CA, files.Cert, files.Key} {
		require.NoError(t, os.Rename(name, name+".data"))
		if err := os.Symlink(name+".data", name); err != nil {
			t.Skip("this system or this user has no symbolic links: ", err)
		}
	}
	r.newest()
	writeOwn(t, files, next)
	own, _ := r.newest()
	assert.Equal(t, next.Raw, own.Leaf.Raw)
}

// Otherwise half of a renewal could stay in use.
func TestFilesThatChangeWhileTheyAreReadAreReadAgain(t *testing.T) {
	r, files, next := filesOf(t)
	before, err := files.stamp()
	require.NoError(t, err)
	writeOwn(t, files, next)
	require.NoError(t, r.load(before))
	r.newest()
	assert.Len(t, r.changed, 1)
}

// An operator's client keeps its configuration for as long as it runs.
func TestAConfigurationShowsTheNewestCertificate(t *testing.T) {
	r, files, next := filesOf(t)
	calls, answers := r.client(""), r.server()
	writeOwn(t, files, next)
	own, err := calls.GetClientCertificate(nil)
	require.NoError(t, err)
	assert.Equal(t, next.Raw, own.Leaf.Raw)
	own, err = answers.GetCertificate(nil)
	require.NoError(t, err)
	assert.Equal(t, next.Raw, own.Leaf.Raw)
}

// The machine may trust many others, such as that of a company's proxy.
func TestOnlyTheAuthoritiesInTheFileAreTrusted(t *testing.T) {
	r, files, _ := filesOf(t)
	text, err := os.ReadFile(files.CA)
	require.NoError(t, err)
	those := x509.NewCertPool()
	require.True(t, those.AppendCertsFromPEM(text))
	_, trusted := r.newest()
	assert.True(t, trusted.Equal(those))
}

// The user's logger, which hears of it, may take its time, or ask the transport something. Handshakes need the certificates meanwhile.
func TestFilesThatCannotBeUsedAreReportedWithoutALock(t *testing.T) {
	r, files, _ := filesOf(t)
	require.NoError(t, os.Remove(files.CA))
	reported := 0
	r.refuse = func(why Refusal, _ ...any) {
		assert.Equal(t, RefusedReload, why)
		reported++
		if assert.True(t, r.mu.TryLock()) {
			r.mu.Unlock()
		}
	}
	own, _ := r.newest()
	assert.NotNil(t, own)
	assert.Equal(t, 1, reported)
}

// A new certificate may be of use with the new authorities only.
func TestTheFilesAreUsedTogetherOrNotAtAll(t *testing.T) {
	r, files, next := filesOf(t)
	first, trusted := r.newest()
	writeOwn(t, files, next)
	text, err := os.ReadFile(files.CA)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.CA, []byte("half of a fi"), 0o600))
	own, pool := r.newest()
	assert.Same(t, first, own)
	assert.Same(t, trusted, pool)
	assert.Empty(t, r.changed)
	require.NoError(t, os.WriteFile(files.CA, text, 0o600))
	own, _ = r.newest()
	assert.Equal(t, next.Raw, own.Leaf.Raw)
	assert.Len(t, r.changed, 1)
}
