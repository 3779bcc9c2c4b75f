package cli

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
)

// succeed runs a command that must succeed, and returns the lines that it prints.
func succeed(t *testing.T, args ...string) []string {
	t.Helper()
	code, stdout, stderr := run(args...)
	require.Equal(t, exitOK, code, stderr)
	return strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
}

// fail runs a command that must fail with a code, and returns what it prints to stderr.
func fail(t *testing.T, code int, args ...string) string {
	t.Helper()
	got, stdout, stderr := run(args...)
	assert.Equal(t, code, got, stderr)
	assert.Empty(t, stdout)
	return stderr
}

// authorityIn makes an authority, and returns its directory.
func authorityIn(t *testing.T, more ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	succeed(t, append([]string{"certs", "ca", "--dir", dir}, more...)...)
	return dir
}

// show reads certificates back, as a script would.
func show(t *testing.T, files ...string) []shownCert {
	t.Helper()
	var shown []shownCert
	for _, line := range succeed(t, append([]string{"certs", "show", "--json"}, files...)...) {
		var c shownCert
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		shown = append(shown, c)
	}
	return shown
}

func TestCertificatesAreMadeAndShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	assert.Contains(t, fail(t, exitFailed, "certs", "member", "n0", "--dir", dir), "hustings certs ca --dir "+dir)
	assert.Equal(t, []string{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")}, succeed(t, "certs", "ca", "--dir", dir))
	assert.Contains(t, fail(t, exitFailed, "certs", "ca", "--dir", dir), "never replaced")
	made := succeed(t, "certs", "member", "n0", "--dir", dir, "--host", "n0.example.org,10.0.0.1")
	assert.Equal(t, []string{filepath.Join(dir, "n0.crt"), filepath.Join(dir, "n0.key")}, made)
	succeed(t, "certs", "operator", "alice", "--dir", dir)

	shown := show(t, filepath.Join(dir, "n0.crt"), filepath.Join(dir, "alice.crt"), filepath.Join(dir, "ca.crt"))
	require.Len(t, shown, 3)
	for i, want := range []shownCert{
		{File: certs.CertFile(dir, "n0"), Identity: "hustings://member/n0", Role: "member", Name: "n0", Hosts: []string{"n0.example.org", "10.0.0.1"}},
		{File: certs.CertFile(dir, "alice"), Identity: "hustings://operator/alice", Role: "operator", Name: "alice", Hosts: []string{}},
		{File: certs.CAFile(dir), Identity: "authority", Hosts: []string{}},
	} {
		got := shown[i]
		assert.Less(t, got.From, got.Until)
		assert.Equal(t, "hustings authority", got.Issuer)
		got.From, got.Until, got.Issuer = "", "", ""
		assert.Equal(t, want, got)
	}
	line := succeed(t, "certs", "show", filepath.Join(dir, "n0.crt"))[0]
	assert.True(t, strings.HasPrefix(line, filepath.Join(dir, "n0.crt")+"  hustings://member/n0"), line)
	for _, s := range []string{"hustings://member/n0  from 20", "until 20", `by "hustings authority"`, "n0.example.org 10.0.0.1"} {
		assert.Contains(t, line, s)
	}
}

// The handbook promises this: ten years of an authority, one of the others, and a node's own name for programs that ask for it.
func TestACertificateWithoutFlagsIsAsTheHandbookSays(t *testing.T) {
	dir := authorityIn(t)
	succeed(t, "certs", "member", "n0", "--dir", dir)
	succeed(t, "certs", "operator", "alice", "--dir", dir)
	for file, days := range map[string]int{certs.CAFile(dir): 3650, certs.CertFile(dir, "n0"): 365, certs.CertFile(dir, "alice"): 365} {
		c := show(t, file)[0]
		from, err := time.Parse(time.RFC3339, c.From)
		require.NoError(t, err)
		until, err := time.Parse(time.RFC3339, c.Until)
		require.NoError(t, err)
		assert.InDelta(t, days, until.Sub(from).Hours()/24, 0.5, file)
	}
	assert.Equal(t, []string{"localhost", "127.0.0.1", "::1"}, show(t, certs.CertFile(dir, "n0"))[0].Hosts)
}

// A certificate of another program is nobody's.
func TestACertificateWithoutAnIdentityIsNobodys(t *testing.T) {
	c := shownCertOf("web.crt", &x509.Certificate{Subject: pkix.Name{CommonName: "n0"}, DNSNames: []string{"n0"}})
	assert.Regexp(t, "^nobody: .", c.Identity)
	assert.Equal(t, "web.crt", c.File)
	assert.Empty(t, c.Role)
	assert.Empty(t, c.Name)
}

func TestACertificateIsReplacedOnlyWithRenew(t *testing.T) {
	dir := authorityIn(t)
	succeed(t, "certs", "member", "n0", "--dir", dir)
	read := func() string {
		text, err := os.ReadFile(certs.KeyFile(dir, "n0"))
		require.NoError(t, err)
		return string(text)
	}
	first := read()
	said := fail(t, exitFailed, "certs", "member", "n0", "--dir", dir)
	assert.Contains(t, said, certs.KeyFile(dir, "n0"))
	assert.Contains(t, said, "--renew replaces it")
	assert.Equal(t, first, read())
	succeed(t, "certs", "member", "n0", "--dir", dir, "--renew")
	assert.NotEqual(t, first, read())
}

func TestANewCertificateIsPrintedAsOneJSONObject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	for _, args := range [][]string{{"ca"}, {"member", "n0"}, {"operator", "alice"}} {
		lines := succeed(t, append(append([]string{"certs"}, args...), "--dir", dir, "--json")...)
		require.Len(t, lines, 1)
		var made madeCert
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &made))
		name := args[len(args)-1]
		cert := certs.CertFile(dir, name)
		assert.Equal(t, madeCert{cert, certs.KeyFile(dir, name), show(t, cert)[0].Until}, made)
	}
}

func TestACertificateCanBeWrittenElsewhere(t *testing.T) {
	dir, out := authorityIn(t), filepath.Join(t.TempDir(), "new", "n0")
	assert.Equal(t, []string{certs.CertFile(out, "n0"), certs.KeyFile(out, "n0")}, succeed(t, "certs", "member", "n0", "--dir", dir, "--out", out))
	for name, mode := range map[string]fs.FileMode{out: 0o700, certs.KeyFile(out, "n0"): 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
	assert.NoFileExists(t, certs.KeyFile(dir, "n0"))
}

func TestACertificateThatWouldOutliveItsAuthorityIsShortened(t *testing.T) {
	dir := authorityIn(t, "--days", "10")
	code, stdout, stderr := run("certs", "member", "n0", "--dir", dir, "--days", "11")
	require.Equal(t, exitOK, code, stderr)
	until := show(t, certs.CAFile(dir))[0].Until
	assert.Equal(t, certs.CertFile(dir, "n0")+": valid only until "+until+", when the authority expires\n", stderr)
	assert.Equal(t, 2, strings.Count(stdout, "\n"), "stdout has only the names of files")
	assert.Equal(t, until, show(t, certs.CertFile(dir, "n0"))[0].Until)

	code, _, stderr = run("certs", "member", "n1", "--dir", dir, "--days", "9")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stderr)
}

func TestAnExpiredAuthoritySignsNothing(t *testing.T) {
	dir := t.TempDir()
	long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	a, err := certs.NewAuthority(long, day)
	require.NoError(t, err)
	require.NoError(t, a.WriteAuthority(dir))
	said := fail(t, exitFailed, "certs", "operator", "alice", "--dir", dir)
	assert.Contains(t, said, certs.CAFile(dir)+": the authority expired at 2001-01-02T00:00:00Z")
	assert.NoFileExists(t, certs.KeyFile(dir, "alice"))
}

func TestAFlagThatWouldMakeAUselessCertificateIsRefused(t *testing.T) {
	dir := authorityIn(t)
	for _, days := range []string{"0", "-5", "200000"} { // the last overflows a time.Duration
		assert.Contains(t, fail(t, exitUsage, "certs", "member", "n0", "--dir", dir, "--days", days), "--days is "+days)
		assert.Contains(t, fail(t, exitUsage, "certs", "ca", "--dir", t.TempDir(), "--days", days), "--days is "+days)
	}
	for _, host := range []string{"n0:7000", "[::1]", "a b", "http://n0", "n0,,n1"} {
		assert.Contains(t, fail(t, exitUsage, "certs", "member", "n0", "--dir", dir, "--host", host), "neither a name nor an address", host)
	}
	assert.Contains(t, fail(t, exitUsage, "certs", "operator", "alice", "--dir", dir, "--host", "n0"), "unknown flag: --host")
	assert.NoFileExists(t, certs.KeyFile(dir, "n0"))
}

func TestANameThatCannotBeAFileIsRefused(t *testing.T) {
	dir := authorityIn(t)
	for _, name := range []string{"a/b", `a\b`, "..", "", "ca", "host:7000"} {
		assert.Contains(t, fail(t, exitFailed, "certs", "member", name, "--dir", dir), "cannot be the name of a file", name)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "the authority's files and nothing else")
}

// ca.crt holds two authorities while one replaces the other.
func TestAllCertificatesOfAFileAreShown(t *testing.T) {
	both := filepath.Join(t.TempDir(), "both.crt")
	var text, until []string
	for _, days := range []string{"10", "20"} {
		ca := certs.CAFile(authorityIn(t, "--days", days))
		one, err := os.ReadFile(ca)
		require.NoError(t, err)
		text, until = append(text, string(one)), append(until, show(t, ca)[0].Until)
	}
	require.NoError(t, os.WriteFile(both, []byte(strings.Join(text, "")), 0o600))
	shown := show(t, both)
	require.Len(t, shown, 2)
	assert.Equal(t, until[0], shown[0].Until)
	assert.Equal(t, until[1], shown[1].Until)
}

func TestAFileWithoutACertificateIsRefused(t *testing.T) {
	dir := authorityIn(t)
	assert.Contains(t, fail(t, exitFailed, "certs", "show", certs.KeyFile(dir, "ca")), "no certificate in PEM")
	assert.Contains(t, fail(t, exitFailed, "certs", "show", filepath.Join(dir, "n9.crt")), "n9.crt")
	torn := filepath.Join(dir, "torn.crt")
	require.NoError(t, os.WriteFile(torn, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "certs", "show", torn), torn)
}

func TestCertsNeedsACommand(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "certs"), "no command given")
	assert.Contains(t, fail(t, exitUsage, "certs", "membr"), "did you mean member?")
	assert.Contains(t, fail(t, exitUsage, "certs", "member"), "accepts 1 arg")
}

func TestHelpOnCertsHasExamples(t *testing.T) {
	for _, args := range [][]string{{}, {"ca"}, {"member"}, {"operator"}, {"show"}} {
		help := strings.Join(succeed(t, append([]string{"help", "certs"}, args...)...), "\n")
		assert.Contains(t, help, "Examples:\n  hustings certs "+strings.Join(args, ""), args)
	}
}
