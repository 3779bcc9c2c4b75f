// Package node is a standalone elector node: what "hustings serve" runs.
package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Config describes a node. It can be read from a YAML file.
type Config struct {
	// File is the one that it was read from; empty: none.
	File string `yaml:"-"`

	// Node is the id of this node, Group the one that it takes part in.
	Node  string `yaml:"node"`
	Group string `yaml:"group"`
	// Members lists all nodes, this one included.
	Members []Member `yaml:"members"`
	// Listen is the address to listen on; empty: that of this node in Members.
	Listen string `yaml:"listen"`
	// Data is the directory of the store.
	Data string `yaml:"data"`
	// New says that this node has never run before. It is no key of the file: a
	// file stays, and a node is new once.
	New bool `yaml:"-"`
	// NewIfMissing has the store made if there is none, and no other voter has ever
	// heard of this node. It is no key of the file either.
	NewIfMissing bool `yaml:"-"`
	// TLS names the files of the certificates; none: no TLS.
	TLS          *Files `yaml:"tls"`
	TrustNetwork bool   `yaml:"trust_network"`
	// HTTP is the address of /healthz, /leader and /metrics; empty: none.
	HTTP string `yaml:"http"`
	// Timing is "default" or "dledger".
	Timing    string   `yaml:"timing"`
	Leases    bool     `yaml:"leases"`
	Preferred []string `yaml:"preferred"`
	// Exec is a shell command that runs while this node leads.
	Exec string `yaml:"exec"`

	// Lease is the URL of a database that keeps leases; empty: the node votes. With
	// one, of the fields above it Node, HTTP and Exec have a meaning, and these.
	Lease string `yaml:"lease"`
	// Name is that of the lease.
	Name string `yaml:"name"`
	// TTL is how long the lease lasts; 0: as lease.DefaultTiming says.
	TTL time.Duration `yaml:"ttl"`
	// Strict has nothing depend on the database's clock.
	Strict bool `yaml:"strict"`
}

// Member is a node of the group.
type Member struct {
	ID       string `yaml:"id"`
	Address  string `yaml:"address"`
	Observer bool   `yaml:"observer"`
}

// Files names the files of the certificates.
type Files struct {
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// ReadConfig reads a YAML file. What it does not know is an error, so that a typing
// mistake is not a default.
func ReadConfig(name string) (Config, error) {
	c := Config{File: name}
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%s: %w", name, inFile(err))
	}
	return c, nil
}

// inFile says in words of the file what the decoder says in those of Go.
func inFile(err error) error {
	bad, is := errors.AsType[*yaml.TypeError](err)
	if !is {
		return err
	}
	var problems []error
	for _, text := range bad.Errors {
		text = unknownKey.ReplaceAllString(text, `there is no key "$1"`)
		text = wrongType.ReplaceAllStringFunc(text, func(found string) string {
			parts := wrongType.FindStringSubmatch(found)
			return cmp.Or(parts[1], "what stands there") + " is not " + cmp.Or(kinds[parts[2]], "what is wanted there")
		})
		problems = append(problems, errors.New(text))
	}
	return ConfigError{errors.Join(problems...)}
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongType  = regexp.MustCompile("cannot unmarshal !!\\S+ ?(`.*`)? into (\\S+)")
	kinds      = map[string]string{
		"bool": "true or false", "string": "a text", "[]string": "a list of texts", "time.Duration": "a duration such as 6s",
		"[]node.Member": "a list of members, each as {id: n0, address: \"host:port\"}",
		"node.Member":   "a member, as {id: n0, address: \"host:port\"}",
		"node.Files":    "three files, as {ca: FILE, cert: FILE, key: FILE}",
		"node.Config":   "a list of keys and values",
	}
)

// A ConfigError is one in a Config, and none that the node met when it ran.
type ConfigError struct{ error }

// Error says on one line all that is wrong.
func (e ConfigError) Error() string { return oneLine(e.error) }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (e ConfigError) Unwrap() error { return e.error }

// check finds what the packages below cannot, and fills in what follows.
func (c *Config) check() error {
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s "+format, append([]any{c.written(field)}, args...)...))
	}
	if c.Node == "" {
		bad("node", "is not given")
	}
	if c.Exec != "" && runtime.GOOS != "linux" {
		bad("exec", "works on Linux only")
	}
	if c.Lease != "" {
		if c.Name == "" {
			bad("name", "is not given: which lease?")
		}
		for _, field := range c.ofVoters() {
			bad(field, "has no meaning with a lease in a database")
		}
		if c.TTL != 0 && (c.TTL < shortestTTL || c.TTL > longestTTL) {
			bad("ttl", "is %v, want %v to %v", c.TTL, shortestTTL, longestTTL)
		}
		return errors.Join(problems...)
	}
	for _, field := range c.ofContenders() {
		bad(field, "has a meaning only with a lease in a database")
	}
	if problem := notAFileName(c.Node); problem != "" && c.Node != "" {
		bad("node", "%s", problem)
	}
	if c.Group == "" {
		bad("group", "is not given")
	}
	if c.Data == "" {
		bad("data", "is not given: the votes must be kept somewhere")
	}
	self := slices.IndexFunc(c.Members, func(m Member) bool { return m.ID == c.Node })
	if self < 0 {
		bad("members", "do not include node %q", c.Node)
	} else if c.Listen == "" {
		c.Listen = c.Members[self].Address
	}
	if c.NewIfMissing && len(c.othersThatVote()) == 0 {
		bad("new", "is if-missing, but there is no other voter that could tell whether this node is new")
	}
	if _, err := c.timing(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// written is a field as who configured the node has written it, or could have.
func (c *Config) written(field string) string {
	flag := "--" + strings.ReplaceAll(field, "_", "-")
	if c.File == "" {
		return flag
	}
	return fmt.Sprintf("%s (or %s in %s)", flag, field, c.File)
}

// ofVoters are the fields that were given and are for those who vote.
func (c *Config) ofVoters() []string {
	return given([]field{
		{"group", c.Group != ""},
		{"members", slices.ContainsFunc(c.Members, func(m Member) bool { return !m.Observer })},
		{"observers", slices.ContainsFunc(c.Members, func(m Member) bool { return m.Observer })},
		{"listen", c.Listen != ""},
		{"data", c.Data != ""},
		{"new", c.New || c.NewIfMissing},
		{"tls", c.TLS != nil},
		{"trust_network", c.TrustNetwork},
		{"timing", c.Timing != ""},
		{"leases", c.Leases},
		{"preferred", len(c.Preferred) > 0},
	})
}

// ofContenders are those that were given and are for those who contend for a lease.
func (c *Config) ofContenders() []string {
	return given([]field{{"name", c.Name != ""}, {"ttl", c.TTL != 0}, {"strict", c.Strict}})
}

type field struct {
	name  string
	given bool
}

func given(fields []field) (names []string) {
	for _, f := range fields {
		if f.given {
			names = append(names, f.name)
		}
	}
	return names
}

func (c *Config) timing() (elector.Timing, error) {
	switch c.Timing {
	case "", "default":
		return elector.DefaultTiming(), nil
	case "dledger":
		return elector.DLedgerTiming(), nil
	}
	return elector.Timing{}, fmt.Errorf(`%s is %q, want "default" or "dledger"`, c.written("timing"), c.Timing)
}

func (c *Config) members() []memberstate.Member {
	list := make([]memberstate.Member, len(c.Members))
	for i, m := range c.Members {
		list[i] = memberstate.Member{ID: m.ID, Observer: m.Observer}
	}
	return list
}

// peers has the addresses of the others.
func (c *Config) peers() map[string]string {
	peers := make(map[string]string)
	for _, m := range c.Members {
		if m.ID != c.Node {
			peers[m.ID] = m.Address
		}
	}
	return peers
}

// reachable refuses to listen where strangers could speak.
func (c *Config) reachable(at net.Addr) error {
	if tcp, is := at.(*net.TCPAddr); c.TLS != nil || c.TrustNetwork || !is || tcp.IP.IsLoopback() {
		return nil
	}
	return ConfigError{fmt.Errorf("--tls is not given, and %v is not a loopback address: anyone who can reach it could lead. "+
		"Give --tls, or --trust-network if only members can reach it", at)}
}

// othersThatVote are the voters but this node.
func (c *Config) othersThatVote() (ids []string) {
	for _, m := range c.Members {
		if m.ID != c.Node && !m.Observer {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// notAFileName says why an id cannot name files in the data directory; empty if it can.
func notAFileName(id string) string {
	switch file := id + ".store"; {
	case id == "":
		return "is not given"
	case filepath.Base(file) != file || !filepath.IsLocal(file) || strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Sprintf("is %q, which cannot be the name of a file: the node's store is named after it", id)
	}
	return ""
}

func (c *Config) tls() *grpcrpc.TLS {
	if c.TLS == nil {
		return nil
	}
	return &grpcrpc.TLS{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key}
}

// inFlags names the flags that have what an elector complains of, if they are to blame.
func (c *Config) inFlags(err error) error {
	flags := map[string]string{"Name": "name", "Self": "node", "Group": "group", "Members": "members", "Preferred": "preferred"}
	all := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		all = joined.Unwrap()
	}
	var problems []error
	for _, e := range all {
		bad, is := errors.AsType[*elector.ConfigError](e)
		if !is || flags[bad.Field] == "" {
			return err
		}
		problems = append(problems, fmt.Errorf("%s %s", c.written(flags[bad.Field]), bad.Problem))
	}
	return ConfigError{errors.Join(problems...)}
}
