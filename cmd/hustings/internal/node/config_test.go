package node

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func voter() Config {
	return Config{
		Node: "n0", Group: "orders", Data: "data",
		Members: []Member{{ID: "n0", Address: "h0:1"}, {ID: "n1", Address: "h1:1"}, {ID: "n2", Address: "h2:1", Observer: true}},
	}
}

func contender() Config { return Config{Node: "n0", Lease: "sqlite:x.db", Name: "jobs"} }

// All problems of a configuration are reported at once, each with the name of its flag.
func TestProblemsOfAConfigurationAreNamedByTheirFlags(t *testing.T) {
	for want, wrong := range map[string]func(c *Config){
		"--node is not given":  func(c *Config) { c.Node, c.Members[0].ID = "", "" },
		"--group is not given": func(c *Config) { c.Group = "" },
		"--data is not given, and the node must store its votes": func(c *Config) { c.Data = "" },
		`--members do not include node "n9"`:                     func(c *Config) { c.Node = "n9" },
		"--drain-wait is -1ns, want 0s or more": func(c *Config) {
			before := -time.Nanosecond
			c.DrainWait = &before
		},
		`--timing is "slow", want "default" or "dledger"`:        func(c *Config) { c.Timing = "slow" },
		"--name has a meaning only with a lease in a database":   func(c *Config) { c.Name = "jobs" },
		"--ttl has a meaning only with a lease in a database":    func(c *Config) { c.TTL = time.Second },
		"--strict has a meaning only with a lease in a database": func(c *Config) { c.Strict = true },
		"--alive has a meaning only with --exec":                 func(c *Config) { c.Alive = "true" },
		"--notify has a meaning only with --exec":                func(c *Config) { c.Notify = true },
		"--vouch has a meaning only with --alive or --notify":    func(c *Config) { c.Exec, c.Vouch = "true", time.Second },
		"--vouch is 199.999999ms, want at least 200ms: twice the interval at which the election asks": func(c *Config) {
			c.Exec, c.Notify, c.Vouch = "true", true, 200*time.Millisecond-1
		},
		"--vouch is -1s, want at least 4s: twice the interval at which the election asks": func(c *Config) {
			c.Exec, c.Alive, c.Vouch, c.Timing = "true", "true", -time.Second, "dledger"
		},
		"--new is if-missing, but there is no other voter that could say whether this node is new": func(c *Config) {
			c.NewIfMissing, c.Members[1].Observer = true, true
		},
		`--node is "../n0", which cannot be the name of a file: the node's store is named after it`: func(c *Config) {
			c.Node, c.Members[0].ID = "../n0", "../n0"
		},
		"--group is not given\n--data is not given, and the node must store its votes": func(c *Config) { c.Group, c.Data = "", "" },
	} {
		c := voter()
		wrong(&c)
		assert.EqualError(t, c.check(), want)
	}
	for want, wrong := range map[string]func(c *Config){
		"--node is not given":                                       func(c *Config) { c.Node = "" },
		"--name is not given":                                       func(c *Config) { c.Name = "" },
		"--group has no meaning with a lease in a database":         func(c *Config) { c.Group = "orders" },
		"--members has no meaning with a lease in a database":       func(c *Config) { c.Members = voter().Members[:1] },
		"--observers has no meaning with a lease in a database":     func(c *Config) { c.Members = voter().Members[2:] },
		"--listen has no meaning with a lease in a database":        func(c *Config) { c.Listen = ":1" },
		"--data has no meaning with a lease in a database":          func(c *Config) { c.Data = "data" },
		"--new has no meaning with a lease in a database":           func(c *Config) { c.NewIfMissing = true },
		"--tls has no meaning with a lease in a database":           func(c *Config) { c.TLS = new(Files) },
		"--trust-network has no meaning with a lease in a database": func(c *Config) { c.TrustNetwork = true },
		"--timing has no meaning with a lease in a database":        func(c *Config) { c.Timing = "default" },
		"--leases has no meaning with a lease in a database":        func(c *Config) { c.Leases = true },
		"--preferred has no meaning with a lease in a database":     func(c *Config) { c.Preferred = []string{"n0"} },
		"--drain-wait has no meaning with a lease in a database":    func(c *Config) { c.DrainWait = new(time.Duration) },
		"--ttl is 99.999999ms, want 100ms to 8760h0m0s":             func(c *Config) { c.TTL = 100*time.Millisecond - 1 },
		"--ttl is 8760h0m0.000000001s, want 100ms to 8760h0m0s":     func(c *Config) { c.TTL = 365*24*time.Hour + 1 },
		"--vouch is 1s, want at least 2s: twice the interval at which the election asks": func(c *Config) {
			c.Exec, c.Alive, c.Vouch, c.TTL = "true", "true", time.Second, 3*time.Second
		},
		"--node is not given\n--name is not given": func(c *Config) { c.Node, c.Name = "", "" },
	} {
		c := contender()
		wrong(&c)
		assert.EqualError(t, c.check(), want)
	}
	c := contender()
	c.New = true
	assert.EqualError(t, c.check(), "--new has no meaning with a lease in a database")
}

// A valid configuration is accepted, and its defaults are filled in.
func TestAValidConfigurationIsCompleted(t *testing.T) {
	for name, change := range map[string]func(v, l *Config){
		"nothing":          func(_, _ *Config) {},
		"the shortest TTL": func(_, l *Config) { l.TTL = 100 * time.Millisecond },
		"the longest TTL":  func(_, l *Config) { l.TTL = 365 * 24 * time.Hour },
		"if missing":       func(v, _ *Config) { v.NewIfMissing = true },
		"no wait":          func(v, _ *Config) { v.DrainWait = new(30 * time.Second) },
		"pages":            func(v, l *Config) { v.HTTP, l.HTTP = ":1", ":1" },
		"strict":           func(_, l *Config) { l.Strict = true },
	} {
		v, l := voter(), contender()
		change(&v, &l)
		require.NoError(t, v.check(), name)
		assert.NoError(t, l.check(), name)
		assert.Equal(t, "h0:1", v.Listen, "where the others look for it")
		assert.Equal(t, 30*time.Second, *v.DrainWait)
		assert.Nil(t, l.DrainWait)
	}
	for _, vouches := range []func(*Config){func(c *Config) { c.Alive = "true" }, func(c *Config) { c.Notify = true }} {
		v, l := voter(), contender()
		for _, c := range []*Config{&v, &l} {
			c.Exec = "true"
			vouches(c)
			require.NoError(t, c.check())
			assert.Equal(t, 5*time.Second, c.Vouch)
			c.Vouch = 4 * time.Second
			require.NoError(t, c.check())
			assert.Equal(t, 4*time.Second, c.Vouch)
		}
		l.Vouch, l.TTL = 0, 60*time.Second
		require.NoError(t, l.check())
		assert.Equal(t, 40*time.Second, l.Vouch, "the election asks more rarely")
	}
	listens := voter()
	listens.Listen = ":7"
	require.NoError(t, listens.check())
	assert.Equal(t, ":7", listens.Listen)
	inFile := voter()
	inFile.File, inFile.Group, inFile.TrustNetwork = "n0.yaml", "", true
	assert.EqualError(t, inFile.check(), "--group (or group in n0.yaml) is not given")
}

// The election gets all members, the transport the other ones; the voters are asked whether
// they know the node.
func TestEveryPartOfANodeGetsTheRightMembers(t *testing.T) {
	c := voter()
	assert.Equal(t, []memberstate.Member{{ID: "n0"}, {ID: "n1"}, {ID: "n2", Observer: true}}, c.members())
	assert.Equal(t, map[string]string{"n1": "h1:1", "n2": "h2:1"}, c.peers())
	assert.Equal(t, []string{"n1"}, c.othersThatVote())
	c.Timing = "dledger"
	timing, err := c.timing()
	require.NoError(t, err)
	assert.Equal(t, elector.DLedgerTiming(), timing)
	assert.Nil(t, c.tls())
	c.TLS = &Files{CA: "ca", Cert: "cert", Key: "key"}
	assert.Equal(t, [3]string{"ca", "cert", "key"}, [3]string{c.tls().CA, c.tls().Cert, c.tls().Key})
}

// Without TLS a node listens on loopback only, unless --trust-network says that there are no
// strangers.
func TestListeningBeyondLoopbackNeedsTLSOrTrust(t *testing.T) {
	for address, reachable := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}:   false,
		&net.TCPAddr{IP: net.IPv6loopback}:         false,
		&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}:   true,
		&net.TCPAddr{IP: net.IPv6unspecified}:      true,
		&net.UnixAddr{Name: "socket", Net: "unix"}: false,
	} {
		plain, trusting, safe := Config{}, Config{TrustNetwork: true}, Config{TLS: new(Files)}
		assert.Equal(t, reachable, plain.reachable(address) != nil, address)
		require.NoError(t, trusting.reachable(address))
		require.NoError(t, safe.reachable(address))
	}
}

// A file with an unknown key or a wrong value is refused, in the words of the file.
func TestErrorsInAFileAreReportedInItsOwnWords(t *testing.T) {
	read := func(text string) (Config, error) {
		name := filepath.Join(t.TempDir(), "n0.yaml")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		c, err := ReadConfig(name)
		assert.Equal(t, name, c.File)
		c.File = ""
		return c, err
	}
	c, err := read("")
	require.NoError(t, err)
	assert.Equal(t, Config{}, c)
	c, err = read("node: n0\ngroup: orders\nttl: 6s\nmembers:\n- {id: n0, address: \"h:1\", observer: true}\ntls: {ca: a, cert: b, key: c}\n")
	require.NoError(t, err)
	assert.Equal(t, Config{
		Node: "n0", Group: "orders", TTL: 6 * time.Second, TLS: &Files{CA: "a", Cert: "b", Key: "c"},
		Members: []Member{{ID: "n0", Address: "h:1", Observer: true}},
	}, c)
	for text, says := range map[string]string{
		"nodes: n0":                `there is no key "nodes"`,
		"leases: perhaps":          "the value is not true or false",
		"ttl: long":                "the value is not a duration such as 6s",
		"preferred: {a: b}":        "the value is not a list of texts",
		"- n0":                     "the value is not a list of keys and values",
		"members: n0":              "is not a list of members, each as {id: n0",
		"leases: no way\nfoo: 1\n": `is not true or false; line 2: there is no key "foo"`,
		"node: [":                  "n0.yaml: yaml: ",
	} {
		_, err := read(text)
		assert.ErrorContains(t, err, says)
	}
	// What the file says may be a password.
	for text, says := range map[string]string{
		"lease: !!int postgres://u:S3CR3T@h":    "a value is not what its tag !!int says",
		"lease: !!bool \"S3CR3T\\n`S3CR3T\"":    "a value is not what its tag !!bool says",
		"leases: S3CR3T":                        "line 1: the value is not true or false",
		"leases: \"S3CR3T\\nS3CR3T\"":           "line 1: the value is not true or false",
		"S3CR3T":                                "line 1: the value is not a list of keys and values",
		"lease: *S3CR3T":                        "a value that begins with * needs quotes",
		"lease: &S3CR3T [*S3CR3T]":              "line 1: the value is not a text",
		"postgres://u:S3CR3T@h: x":              "line 1: there is no such key",
		"? \"u S3CR3T\\n\"\n: x":                "line 1: there is no such key",
		"{u:S3CR3T@h: 1, u:S3CR3T@h: 2}":        "line 1: such key is there already",
		"node: n0\nnode: S3CR3T":                "line 2: key \"node\" is there already at line 1",
		"lease: &a S3CR3T\nttl: *a":             "the value is not a duration",
		"lease: @S3CR3T":                        "yaml: found character that cannot start any token",
		"members: [{id: S3CR3T, address: [x]}]": "line 1: the value is not a text",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "S3CR3T", text)
	}
	_, err = ReadConfig(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// An elector's errors name flags, if all of them are about fields that flags set.
func TestErrorsOfAnElectorNameTheFlags(t *testing.T) {
	c := Config{File: "n0.yaml"}
	bad := func(fields ...string) error {
		var all []error
		for _, field := range fields {
			all = append(all, &elector.ConfigError{Field: field, Problem: "is bad"})
		}
		return errors.Join(all...)
	}
	err := c.inFlags(bad("Self", "Members"))
	require.ErrorAs(t, err, new(ConfigError))
	assert.EqualError(t, err, "--node (or node in n0.yaml) is bad; --members (or members in n0.yaml) is bad")
	for flag, field := range map[string]string{"name": "Name", "group": "Group", "preferred": "Preferred"} {
		assert.ErrorContains(t, c.inFlags(bad(field)), "--"+flag+" ")
	}
	assert.ErrorContains(t, c.inFlags(&elector.ConfigError{Field: "Name", Problem: "is bad"}), "--name ", "one alone")
	for _, other := range []error{bad("Name", "Timing"), assert.AnError, errors.Join(bad("Name"), assert.AnError)} {
		assert.Equal(t, other, c.inFlags(other))
	}
}
