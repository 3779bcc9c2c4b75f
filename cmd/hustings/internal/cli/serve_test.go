package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// configured returns the configuration that serve would run with these arguments.
func configured(t *testing.T, args ...string) (node.Config, error) {
	t.Helper()
	var f serveFlags
	cmd := f.command()
	require.NoError(t, cmd.ParseFlags(args))
	return f.config(cmd)
}

func TestFlagsOverrideTheFile(t *testing.T) {
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
drain_wait: 7s
`), 0o600))
	c, err := configured(t, "--config", file)
	require.NoError(t, err)
	kept := 7 * time.Second
	assert.Equal(t, node.Config{
		File: file, Node: "n0", Group: "orders", Data: "/var/lib/hustings", Leases: true, DrainWait: &kept,
		Members: []node.Member{{ID: "n0", Address: "10.0.0.1:7000"}, {ID: "n1", Address: "10.0.0.2:7000", Observer: true}},
		TLS:     &node.Files{CA: "ca.crt", Cert: "n0.crt", Key: "n0.key"},
	}, c)

	wait := 3 * time.Second
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("certs", 0o700))
	require.NoError(t, os.WriteFile("certs/n0.crt", nil, 0o600))
	c, err = configured(t, "--config", file, "--group", "users", "--leases=false", "--members", "n0=h:1", "--observers", "n5=h:2",
		"--tls", "certs", "--new", "--timing", "dledger", "--preferred", "n0", "--exec", "true", "--trust-network",
		"--alive", "false", "--notify", "--vouch", "7s", "--drain-wait", "3s", "--listen", "h:9", "--data", "elsewhere", "--http", "h:10")
	require.NoError(t, err)
	assert.Equal(t, node.Config{
		File: file, Node: "n0", Group: "users", Listen: "h:9", Data: "elsewhere", HTTP: "h:10", New: true, Timing: "dledger", Preferred: []string{"n0"}, Exec: "true",
		Alive: "false", Notify: true, Vouch: 7 * time.Second, DrainWait: &wait,
		Members: []node.Member{{ID: "n0", Address: "h:1"}, {ID: "n5", Address: "h:2", Observer: true}}, TrustNetwork: true,
		TLS: &node.Files{CA: "certs/ca.crt", Cert: "certs/n0.crt", Key: "certs/n0.key"},
	}, c)

	c, err = configured(t, "--config", file, "--observers", "n5=h:2")
	require.NoError(t, err)
	assert.Equal(t, []node.Member{{ID: "n5", Address: "h:2", Observer: true}}, c.Members, "the file's list is replaced as a whole")

	c, err = configured(t, "--config", file, "--new=if-missing")
	require.NoError(t, err)
	assert.True(t, c.NewIfMissing)
	assert.False(t, c.New)
}

// Files that are named one by one need not be in the directory, nor need the others of it be there.
func TestAFileOfACertificateReplacesThatOfItsDirectory(t *testing.T) {
	alone := []string{"--node", "n0", "--members", "n0=h:1", "--tls", "certs"}
	for _, c := range []struct {
		more []string
		want node.Files
	}{
		{[]string{"--cert", "x", "--key", "y"}, node.Files{CA: filepath.Join("certs", "ca.crt"), Cert: "x", Key: "y"}},
		{[]string{"--ca", "z", "--cert", "x"}, node.Files{CA: "z", Cert: "x", Key: filepath.Join("certs", "n0.key")}},
		{[]string{"--ca", "z", "--cert", "x", "--key", "y"}, node.Files{CA: "z", Cert: "x", Key: "y"}},
	} {
		got, err := configured(t, append(c.more, alone...)...)
		require.NoError(t, err)
		assert.Equal(t, &c.want, got.TLS)
	}
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
	assert.Equal(t, node.Config{File: file, Node: host, Lease: "sqlite:x.db", Name: "others", TTL: 3 * time.Second}, c)

	mixed := fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--members", "n0=h:1", "--group", "g")
	for _, says := range []string{"--name is not given", "--members has no meaning with a lease", "--group has no meaning with a lease"} {
		assert.Contains(t, mixed, says)
	}
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "a", "--ttl", "3s"), "--ttl has a meaning only with a lease")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--drain-wait", "3s"), "--drain-wait has no meaning with a lease")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--lease", "sqlite:x.db"), "--local does not go with --lease")
	looking := fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--observers", "n0=h:1")
	assert.Contains(t, looking, "--observers has no meaning with a lease")
	assert.NotContains(t, looking, "--members")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--ttl", "5ms"), "--ttl is 5ms, want 100ms to")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "foo", "--name", "jobs"), "--lease: not the URL of a database")
	long := strings.Repeat("x", 300)
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", long), "--name has 300 bytes")
	assert.Contains(t, fail(t, exitUsage, "serve", "--lease", "sqlite:x.db", "--name", "jobs", "--node", long), "--node has 300 bytes")
}

func TestFlagsAloneConfigureANode(t *testing.T) {
	c, err := configured(t, "--node", "n0", "--members", "n0=h:1,n1=h:2")
	require.NoError(t, err)
	assert.Equal(t, "demo", c.Group)
	assert.Len(t, c.Members, 2)
	assert.Nil(t, c.TLS)
	assert.Nil(t, c.DrainWait, "the default")
	c, err = configured(t, "--node", "n0", "--members", "n0=h:1,n1=h:2", "--drain-wait", "0")
	require.NoError(t, err)
	assert.Equal(t, new(time.Duration), c.DrainWait)
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(file, []byte("node: n0\nleased: true\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "serve", "--config", file), `line 2: there is no key "leased"`)
	require.NoError(t, os.WriteFile(file, []byte("node: n0\nleases: maybe\nmembers: n0=h:1\nttl: soon\ntls: x\npreferred: {a: b}\n"), 0o600))
	wrong := fail(t, exitFailed, "serve", "--config", file)
	for _, says := range []string{
		"line 2: the value is not true or false", `line 3: the value is not a list of members, each as {id: n0, address: "host:port"}`,
		"line 4: the value is not a duration such as 6s", "line 5: the value is not three files", "line 6: the value is not a list of texts",
	} {
		assert.Contains(t, wrong, says)
	}
	assert.NotContains(t, wrong, "unmarshal")
	assert.Contains(t, fail(t, exitFailed, "serve", "--config", file+"x"), "no such file")
	require.NoError(t, os.WriteFile(file, []byte("node: n0\ngroup: g\ndata: d\nmembers: [{id: n0, address: \"h:1\"}]\ntiming: fast\n"), 0o600))
	assert.Contains(t, fail(t, exitUsage, "serve", "--config", file), `--timing (or timing in `+file+`) is "fast"`)
	assert.Contains(t, fail(t, exitUsage, "serve"), "--node is not given")
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--members", "n0=h:1", "--data", "d", "--drain-wait", "-1s"), "--drain-wait is -1s, want 0s or more")
	for _, entry := range []string{"n0", "n0=h", "h:1", "n0=h:1:2"} {
		assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--members", entry), `--members: "`+entry+`" is not of the form id=host:port`)
		assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--observers", entry), `--observers: "`+entry+`" is not of the form id=host:port`)
	}
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--ca", "x"), "TLS needs")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "-1"), "--local is -1")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "0"), "--local is 0, want 1 to 64")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "65"), "--local is 65, want 1 to 64")
	unused := fail(t, exitUsage, "serve", "--local", "3", "--data", "d", "--http", ":1", "--config", file, "--tls", "d", "--members", "n0=h:1", "--exec", "true", "--new")
	assert.Contains(t, unused, "--local does not go with --config, --data, --http, --members, --new, --tls, only with "+
		"--group, --leases, --preferred, --timing, --exec, --alive, --notify, --vouch, --json, --verbose, --log\n")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "64", "--leases", "--group", "g", "--timing", "fast"), `--timing is "fast"`)
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--alive", "true"), "--alive has a meaning only with --exec")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--vouch", "5s"), "--vouch has a meaning only with --alive or --notify")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--exec", "true", "--notify", "--vouch", "1ms"), "--vouch is 1ms, want at least 200ms")
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--timing", "fast"), `--timing is "fast"`)
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--preferred", "n7"), `--preferred names "n7", which is none of n0 to n2`)
	assert.Contains(t, fail(t, exitUsage, "serve", "--local", "3", "--log", "xml"), `--log is "xml"`)
	esc := fail(t, exitUsage, "serve", "--node", "../esc", "--members", "../esc=h:1", "--data", t.TempDir(), "--new")
	assert.Contains(t, esc, `--node is "../esc", which cannot be the name of a file`)
	assert.Contains(t, fail(t, exitUsage, "serve", "--node", "n0", "--members", "n0=h:1", "--data", "d", "--new=if-missing"), "there is no other voter that could say")
	assert.Contains(t, fail(t, exitUsage, "serve", "--new=maybe"), `want no value, or "if-missing"`)
	stranger := fail(t, exitUsage, "serve", "--node", "n0", "--members", "n0=127.0.0.1:0", "--data", t.TempDir(), "--new", "--preferred", "n9")
	assert.Contains(t, stranger, `--preferred names "n9", which is no voter`)
	gone := fail(t, exitFailed, "serve", "--node", "n0", "--members", "n0=h:1", "--data", filepath.Join(t.TempDir(), "unmounted"))
	assert.Contains(t, gone, "there is no store")
	assert.Contains(t, gone, "is the disk mounted?")
	all := fail(t, exitUsage, "serve", "--node", "n0", "--members", "n1=h:1", "--timing", "fast")
	assert.Equal(t, 2, strings.Count(all, "\n"), "one line of errors, and one about help")
	assert.Contains(t, all, "data is not given")
	assert.Contains(t, all, `members do not include node "n0"`)
	assert.Contains(t, all, `timing is "fast"`)
	data := t.TempDir()
	open := fail(t, exitUsage, "serve", "--new", "--node", "n0", "--members", "n0=h:1", "--listen", "0.0.0.0:0", "--data", data)
	assert.Contains(t, open, "not a loopback address")
	assert.Contains(t, open, "Give --tls, or --trust-network")
	succeed(t, "store", "create", "--node", "n0", "--data", data)
	again := fail(t, exitFailed, "serve", "--new", "--node", "n0", "--members", "n0=h:1", "--data", data)
	assert.Contains(t, again, "leave out --new")
}

func TestOperatorsReadWhichCertificateOrNodeIsMissing(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "resign", "--cert", "x"), "TLS needs")
	assert.Contains(t, fail(t, exitUsage, "status", "--as", "bob"), "--as bob names a certificate in the directory of --tls, which is not given")
	assert.Contains(t, fail(t, exitUsage, "status", "--as", "bob", "--ca", "x", "--cert", "y", "--key", "z"), "--as bob names a certificate in the directory of --tls", "another would be used")
	assert.Contains(t, fail(t, exitUsage, "status", "--as", "bob", "--tls", "certs"), `--tls certs: there is no certificate of "bob"`)
	assert.Contains(t, fail(t, exitUsage, "status", "--tls", "certs"), `--tls certs: there is no certificate of "operator"`)
	assert.Contains(t, fail(t, exitFailed, "watch", "-a", "127.0.0.1:1"), "127.0.0.1:1: dial tcp")
	assert.Contains(t, fail(t, exitFailed, "resign", "--address", "127.0.0.1:1", "--timeout", "2s"), "127.0.0.1:1")
	code, stdout, stderr := run("status", "--address", "127.0.0.1:1", "--timeout", "2s")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, "refused")
	assert.Contains(t, stderr, "1 of 1 nodes did not answer")
}

func TestTheLogIsTextOrJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags serveFlags
		wrote string
	}{
		{serveFlags{log: "text"}, `^time=\S+ level=WARN msg=w\n$`},
		{serveFlags{log: "text", verbose: true}, `^time=\S+ level=DEBUG msg=d\ntime=\S+ level=WARN msg=w\n$`},
		{serveFlags{log: "json"}, `^\{"time":"[^"]+","level":"WARN","msg":"w"\}\n$`},
	} {
		var out strings.Builder
		log, err := c.flags.logger(&out)
		require.NoError(t, err)
		log.Debug("d")
		log.Warn("w")
		assert.Regexp(t, c.wrote, out.String())
	}
	_, err := (&serveFlags{log: "xml"}).logger(io.Discard)
	require.ErrorAs(t, err, new(usageError))
	assert.ErrorContains(t, err, `--log is "xml", want "text" or "json"`)
}

func TestTheFlagNewShowsWhatItIs(t *testing.T) {
	t.Parallel()
	var n newness
	for _, value := range []string{"true", "if-missing", "false", "if-missing", "true"} {
		require.NoError(t, n.Set(value))
		assert.Equal(t, value, n.String())
		assert.Equal(t, value == "true", n.New)
	}
	assert.ErrorContains(t, n.Set("maybe"), `want no value, or "if-missing"`)
}
