package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// configured is what serve would run with these arguments.
func configured(t *testing.T, args ...string) (node.Config, error) {
	t.Helper()
	var f serveFlags
	cmd := f.command()
	require.NoError(t, cmd.ParseFlags(args))
	return f.config(cmd)
}

func TestFlagsComeBeforeTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
node: n0
group: orders
members:
  - {id: n0, address: "10.0.0.1:7000"}
  - {id: n1, address: "10.0.0.2:7000", observer: true}
data: /var/lib/hustings
tls: {ca: ca.crt, cert: n0.crt, key: n0.key}
leases: true
`), 0o600))
	c, err := configured(t, "--config", file)
	require.NoError(t, err)
	assert.Equal(t, node.Config{
		Node: "n0", Group: "orders", Data: "/var/lib/hustings", Leases: true,
		Members: []node.Member{{ID: "n0", Address: "10.0.0.1:7000"}, {ID: "n1", Address: "10.0.0.2:7000", Observer: true}},
		TLS:     &node.Files{CA: "ca.crt", Cert: "n0.crt", Key: "n0.key"},
	}, c)

	c, err = configured(t, "--config", file, "--group", "users", "--leases=false", "--members", "n0=h:1", "--observers", "n5=h:2",
		"--tls", "certs", "--new", "--timing", "dledger", "--preferred", "n0", "--exec", "true", "--trust-network")
	require.NoError(t, err)
	assert.Equal(t, node.Config{
		Node: "n0", Group: "users", Data: "/var/lib/hustings", New: true, Timing: "dledger", Preferred: []string{"n0"}, Exec: "true",
		Members: []node.Member{{ID: "n0", Address: "h:1"}, {ID: "n5", Address: "h:2", Observer: true}}, TrustNetwork: true,
		TLS: &node.Files{CA: "certs/ca.crt", Cert: "certs/n0.crt", Key: "certs/n0.key"},
	}, c)
}

func TestANodeMayContendForALease(t *testing.T) {
	c, err := configured(t, "--lease", "sqlite:x.db", "--name", "jobs", "--ttl", "3s", "--strict", "--exec", "true", "--node", "a", "--http", ":1")
	require.NoError(t, err)
	want := node.Config{Node: "a", Lease: "sqlite:x.db", Name: "jobs", TTL: 3 * time.Second, Strict: true, Exec: "true", HTTP: ":1"}
	assert.Equal(t, want, c)

	file := filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(file, []byte("lease: \"sqlite:x.db\"\nname: jobs\nttl: 3s\n"), 0o600))
	c, err = configured(t, "--config", file, "--name", "others")
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Equal(t, node.Config{Node: host, Lease: "sqlite:x.db", Name: "others", TTL: 3 * time.Second}, c)

	mixed := fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--members", "n0=h:1", "--group", "g")
	for _, says := range []string{"--name is not given", "--members has no meaning with a lease", "--group has no meaning with a lease"} {
		assert.Contains(t, mixed, says)
	}
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "a", "--ttl", "3s"), "--ttl has a meaning only with a lease")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--lease", "sqlite:x.db"), "local lease")
	looking := fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--observers", "n0=h:1")
	assert.Contains(t, looking, "--observers has no meaning with a lease")
	assert.NotContains(t, looking, "--members")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--ttl", "5ms"), "--ttl is 5ms, want 100ms to")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "foo", "--name", "jobs"), "--lease: not the URL of a database")
	long := strings.Repeat("x", 300)
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", long), "--name has 300 bytes")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--node", long), "--node has 300 bytes")
}

func TestWithoutAFileTheFlagsAreAll(t *testing.T) {
	c, err := configured(t, "--node", "n0", "--members", "n0=h:1,n1=h:2")
	require.NoError(t, err)
	assert.Equal(t, "demo", c.Group)
	assert.Len(t, c.Members, 2)
	assert.Nil(t, c.TLS)
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(file, []byte("node: n0\nleased: true\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "serve", "--config", file), "field leased not found")
	assert.Contains(t, fail(t, exitFailed, "serve", "--config", file+"x"), "no such file")
	assert.Contains(t, fail(t, exitUsage, "serve"), "--node is not given")
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--members", "n0"), `--members: "n0" is not of the form id=host:port`)
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--ca", "x"), "TLS needs")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "-1"), "--local is -1")
	all := fail(t, exitUsage, "serve", "--node", "n0", "--members", "n1=h:1", "--timing", "fast")
	assert.Equal(t, 2, strings.Count(all, "\n"), "one line, and where to get help")
	assert.Contains(t, all, "data is not given")
	assert.Contains(t, all, `members do not include node "n0"`)
	assert.Contains(t, all, `timing is "fast"`)
	data := t.TempDir()
	open := fail(t, exitFailed, "serve", "--new", "--node", "n0", "--members", "n0=h:1", "--listen", "0.0.0.0:0", "--data", data)
	assert.Contains(t, open, "not a loopback address")
	again := fail(t, exitFailed, "serve", "--new", "--node", "n0", "--members", "n0=h:1", "--data", data)
	assert.Contains(t, again, "leave out --new")
}

func TestOperatorsAreToldWhatIsMissing(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "resign", "--cert", "x"), "TLS needs")
	assert.Contains(t, fail(t, exitUsage, "watch", "-a", "h:1", "-a", "h:2"), "watch looks at one node")
	assert.Contains(t, fail(t, exitFailed, "resign", "--address", "127.0.0.1:1", "--timeout", "2s"), "127.0.0.1:1")
	code, stdout, stderr := run("status", "--address", "127.0.0.1:1", "--timeout", "2s")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, "refused")
	assert.Contains(t, stderr, "1 of 1 nodes did not answer")
}
