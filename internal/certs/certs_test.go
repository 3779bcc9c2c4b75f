// Certificates and their files.

package certs_test

import (
	"crypto/x509"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T) *certs.Authority {
	t.Helper()
	a, err := certs.NewAuthority(noon, 100*day)
	require.NoError(t, err)
	return a
}

func issue(t *testing.T, a *certs.Authority, role grpcrpc.Role, name string, lifetime time.Duration) *x509.Certificate {
	t.Helper()
	pair, err := a.Issue(certs.Request{
		Identity: grpcrpc.Identity{Role: role, Name: name}, Hosts: []string{"localhost", "::1"}, Now: noon, Lifetime: lifetime,
	})
	require.NoError(t, err)
	c, err := certs.ParseCert(pair.Cert)
	require.NoError(t, err)
	return c
}

// verify checks a certificate as the other end of a connection would.
func verify(t *testing.T, c *x509.Certificate, by *certs.Authority, at time.Time, use x509.ExtKeyUsage) error {
	t.Helper()
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(by.Cert))
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

func TestACertificateIsValidForItsRoleAuthorityAndTime(t *testing.T) {
	a, other := authority(t), authority(t)
	member := issue(t, a, grpcrpc.Member, "n0", 10*day)
	operator := issue(t, a, grpcrpc.Operator, "alice", 10*day)
	assert.NoError(t, verify(t, member, a, noon, x509.ExtKeyUsageServerAuth))
	assert.NoError(t, verify(t, member, a, noon, x509.ExtKeyUsageClientAuth))
	assert.NoError(t, verify(t, operator, a, noon, x509.ExtKeyUsageClientAuth))
	assert.Error(t, verify(t, operator, a, noon, x509.ExtKeyUsageServerAuth), "no node calls an operator")
	assert.Error(t, verify(t, member, other, noon, x509.ExtKeyUsageClientAuth))
	assert.Error(t, verify(t, member, a, noon.Add(11*day), x509.ExtKeyUsageClientAuth))
	assert.NoError(t, verify(t, member, a, noon.Add(-time.Minute), x509.ExtKeyUsageClientAuth), "clocks differ")
	assert.NoError(t, member.VerifyHostname("localhost"))
	assert.NoError(t, member.VerifyHostname("::1"))
}

func TestACertificateNamesItsHolder(t *testing.T) {
	a := authority(t)
	for _, name := range []string{"n0", "a b", "ü/..?#%2F", "host:7000"} {
		who, err := grpcrpc.IdentityOf(issue(t, a, grpcrpc.Member, name, day))
		require.NoError(t, err)
		assert.Equal(t, grpcrpc.Identity{Role: grpcrpc.Member, Name: name}, who)
	}
}

func TestNoCertificateOutlivesItsAuthority(t *testing.T) {
	a := authority(t)
	assert.Equal(t, a.Until(), issue(t, a, grpcrpc.Member, "n0", 1000*day).NotAfter)
}

// directory has the files of an authority, and of a certificate for n0.
func directory(t *testing.T) (dir string, pair certs.Pair) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, authority(t).WriteAuthority(dir))
	a, err := certs.ReadAuthority(dir)
	require.NoError(t, err)
	pair, err = a.Issue(certs.Request{Identity: grpcrpc.Identity{Role: grpcrpc.Member, Name: "n0"}, Now: noon, Lifetime: day})
	require.NoError(t, err)
	require.NoError(t, pair.Write(dir, "n0", false))
	return dir, pair
}

func TestFilesAreProtectedAndNotReplaced(t *testing.T) {
	dir, pair := directory(t)
	for _, name := range []string{certs.KeyFile(dir, "ca"), certs.KeyFile(dir, "n0")} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
	}
	assert.ErrorIs(t, pair.Write(dir, "n0", false), fs.ErrExist)
	assert.NoError(t, pair.Write(dir, "n0", true))
	assert.ErrorIs(t, authority(t).WriteAuthority(dir), fs.ErrExist, "an authority is never replaced")
	for _, name := range []string{"", "ca", "CA", "../n0", ".hidden", "a\\b", "a\nb"} {
		assert.ErrorContains(t, pair.Write(dir, name, true), "cannot be the name of a file", "%q", name)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 4, "nothing else is left behind")
}

// A node's directory has ca.crt and no ca.key. Making an authority there by mistake once left
// a new key beside the old certificate.
func TestAHalfOfAPairIsNotCompleted(t *testing.T) {
	dir, pair := directory(t)
	for _, name := range []string{"ca", "n0"} {
		require.NoError(t, os.Remove(certs.KeyFile(dir, name)))
	}
	assert.ErrorIs(t, authority(t).WriteAuthority(dir), fs.ErrExist)
	assert.ErrorIs(t, pair.Write(dir, "n0", false), fs.ErrExist)
	assert.NoFileExists(t, certs.KeyFile(dir, "ca"))
	assert.NoFileExists(t, certs.KeyFile(dir, "n0"))
}

func TestAnAuthorityNeedsItsOwnKeyAndCertificate(t *testing.T) {
	a, b := authority(t), authority(t)
	_, err := certs.ParseAuthority(certs.Pair{Cert: a.Cert, Key: b.Key})
	assert.ErrorContains(t, err, "not that of the certificate")
	leaf, err := a.Issue(certs.Request{Identity: grpcrpc.Identity{Role: grpcrpc.Member, Name: "n0"}, Now: noon, Lifetime: day})
	require.NoError(t, err)
	_, err = certs.ParseAuthority(leaf)
	assert.ErrorContains(t, err, "not that of an authority")
	_, err = certs.ParseAuthority(certs.Pair{Cert: a.Cert})
	assert.ErrorContains(t, err, "not in PEM")
	_, err = certs.ParseAuthority(certs.Pair{Cert: a.Key, Key: a.Key})
	assert.ErrorContains(t, err, "no certificate")
}

// Nobody would look for a key under a hidden name.
func TestNoCopyOfAKeyIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(certs.KeyFile(dir, "n0"), 0o700)) // which no file can replace
	require.Error(t, certs.Pair{Cert: []byte("cert"), Key: []byte("key")}.Write(dir, "n0", true))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.True(t, left[0].IsDir())
}
