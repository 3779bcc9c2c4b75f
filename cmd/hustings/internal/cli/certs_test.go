package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// succeed runs a command that must, and returns its lines.
func succeed(t *testing.T, args ...string) []string {
	t.Helper()
	code, stdout, stderr := run(args...)
	require.Equal(t, exitOK, code, stderr)
	return strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
}

// fail runs a command that must, and returns what it says.
func fail(t *testing.T, code int, args ...string) string {
	t.Helper()
	got, stdout, stderr := run(args...)
	assert.Equal(t, code, got, stderr)
	assert.Empty(t, stdout)
	return stderr
}

func TestCertificatesAreMadeAndShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	assert.Contains(t, fail(t, exitFailed, "certs", "member", "n0", "--dir", dir), "hustings certs ca --dir "+dir)
	assert.Equal(t, []string{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")}, succeed(t, "certs", "ca", "--dir", dir))
	assert.Contains(t, fail(t, exitFailed, "certs", "ca", "--dir", dir), "never replaced")
	made := succeed(t, "certs", "member", "n0", "--dir", dir, "--host", "n0.example.org")
	assert.Equal(t, []string{filepath.Join(dir, "n0.crt"), filepath.Join(dir, "n0.key")}, made)
	assert.Contains(t, fail(t, exitFailed, "certs", "member", "n0", "--dir", dir), "--renew replaces it")
	succeed(t, "certs", "member", "n0", "--dir", dir, "--renew")
	succeed(t, "certs", "operator", "alice", "--dir", dir)

	lines := succeed(t, "certs", "show", "--json", filepath.Join(dir, "n0.crt"), filepath.Join(dir, "alice.crt"), filepath.Join(dir, "ca.crt"))
	require.Len(t, lines, 3)
	for i, identity := range []string{"hustings://member/n0", "hustings://operator/alice", "authority"} {
		var c shownCert
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &c))
		assert.Equal(t, identity, c.Identity)
		assert.Less(t, c.From, c.Until)
	}
	assert.Contains(t, succeed(t, "certs", "show", filepath.Join(dir, "n0.crt"))[0], "hustings://member/n0  until 20")
	assert.Contains(t, fail(t, exitFailed, "certs", "show", filepath.Join(dir, "n0.key")), "no certificate in PEM")
}

func TestCertsNeedsACommand(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "certs"), "no command given")
	assert.Contains(t, fail(t, exitUsage, "certs", "membr"), "did you mean member?")
	assert.Contains(t, fail(t, exitUsage, "certs", "member"), "accepts 1 arg")
}
