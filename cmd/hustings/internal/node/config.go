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
	// File is the file that it was read from; empty: none.
	File string `yaml:"-"`

	// Node is the id of this node, Group the name of its group.
	Node  string `yaml:"node"`
	Group string `yaml:"group"`
	// Members lists all nodes, this one included.
	Members []Member `yaml:"members"`
	// Listen is the address to listen on; empty: that of this node in Members.
	Listen string `yaml:"listen"`
	// Data is the directory of the store.
	Data string `yaml:"data"`
	// New says that this node has never run before. The file has no key for it, because
	// the file stays and a node is new only once.
	New bool `yaml:"-"`
	// NewIfMissing makes the store if there is none and no other voter has ever heard
	// from this node. The file has no key for it either.
	NewIfMissing bool `yaml:"-"`
	// TLS names the files of the certificates; none: no TLS.
	TLS          *Files `yaml:"tls"`
	TrustNetwork bool   `yaml:"trust_network"`
	// HTTP is the address of /healthz, /readyz, /drained, /leader and /metrics; empty: none.
	HTTP string `yaml:"http"`
	// Timing is "default" or "dledger".
	Timing    string   `yaml:"timing"`
	Leases    bool     `yaml:"leases"`
	Preferred []string `yaml:"preferred"`
	// Exec is a shell command that runs while this node leads.
	Exec string `yaml:"exec"`
	// Alive is a shell command whose exit status says whether this node is able to lead.
	Alive string `yaml:"alive"`
	// Notify says that the program vouches for itself, as systemd's services do.
	Notify bool `yaml:"notify"`
	// Vouch is how long the word of either counts; 0: DefaultVouch.
	Vouch time.Duration `yaml:"vouch"`

	// DrainWait is how long the node tries to hand over when it is told to stop; nil: DefaultDrainWait, zero:
	// it does not wait.
	DrainWait *time.Duration `yaml:"drain_wait"`
	// Hurry, when it is closed, ends that wait; nil: nothing does.
	Hurry <-chan struct{} `yaml:"-"`

	// Lease is the URL of a database that keeps leases; empty: the node votes. With a
	// Lease, only Node, HTTP, Exec with what vouches for it, and the fields below have a meaning.
	Lease string `yaml:"lease"`
	// Name is the name of the lease.
	Name string `yaml:"name"`
	// TTL is how long the lease lasts; 0: as lease.DefaultTiming says.
	TTL time.Duration `yaml:"ttl"`
	// Strict makes safety independent of the database's clock.
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

// ReadConfig reads a YAML file. An unknown key is an error, so that a misspelt key does not
// silently leave a default in place.
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

// inFile says the decoder's errors in words for users: without the names of Go types, and without what the file says,
// because that may have a password in it, and the log is read by others. A line has to do, and the names of keys.
func inFile(err error) error {
	bad, is := errors.AsType[*yaml.TypeError](err)
	if !is {
		text := wrongTag.ReplaceAllString(err.Error(), "a value is not what its tag $1 says")
		text = anchor.ReplaceAllString(text, "an anchor is unknown, or contains itself (a value that begins with * needs quotes)")
		return ConfigError{errors.New(text)}
	}
	var problems []error
	for _, text := range bad.Errors {
		text = unknownKey.ReplaceAllStringFunc(text, func(found string) string {
			return "there is no " + asKey(unknownKey.FindStringSubmatch(found)[1])
		})
		text = twice.ReplaceAllStringFunc(text, func(found string) string {
			return asKey(strings.Trim(twice.FindStringSubmatch(found)[1], `"`)) + " is there already"
		})
		text = wrongType.ReplaceAllStringFunc(text, func(found string) string {
			return "the value is not " + cmp.Or(kinds[wrongType.FindStringSubmatch(found)[1]], "of the right kind")
		})
		problems = append(problems, errors.New(text))
	}
	return ConfigError{errors.Join(problems...)}
}

// asKey names a key, unless it may be a value that stands in its place.
func asKey(text string) string {
	if key.MatchString(text) {
		return fmt.Sprintf("key %q", text)
	}
	return "such key"
}

var (
	key        = regexp.MustCompile(`^[\w-]{1,20}$`)
	unknownKey = regexp.MustCompile(`(?s)field (.*) not found in type \S+`)
	twice      = regexp.MustCompile(`(?s)mapping key (.*) already defined`)
	wrongType  = regexp.MustCompile("(?s)cannot unmarshal !!\\S+ ?(?:`.*`)? into (\\S+)")
	wrongTag   = regexp.MustCompile("(?s)cannot decode \\S+ `.*` as a (\\S+)")
	anchor     = regexp.MustCompile(`(?s)unknown anchor '.*' referenced|anchor '.*' value contains itself`)
	kinds      = map[string]string{
		"bool": "true or false", "string": "a text", "[]string": "a list of texts", "time.Duration": "a duration such as 6s",
		"[]node.Member": "a list of members, each as {id: n0, address: \"host:port\"}",
		"node.Member":   "a member, as {id: n0, address: \"host:port\"}",
		"node.Files":    "three files, as {ca: FILE, cert: FILE, key: FILE}",
		"node.Config":   "a list of keys and values",
	}
)

// A ConfigError is about a Config, not about an event while the node ran.
type ConfigError struct{ error }

// Error lists all problems on one line.
func (e ConfigError) Error() string { return oneLine(e.error) }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (e ConfigError) Unwrap() error { return e.error }

// check finds the problems that the packages below cannot, and fills in defaults.
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
	problems = append(problems, c.checkVouching()...)
	if c.Lease != "" {
		if c.Name == "" {
			bad("name", "is not given")
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
		bad("data", "is not given, and the node must store its votes")
	}
	self := slices.IndexFunc(c.Members, func(m Member) bool { return m.ID == c.Node })
	if self < 0 {
		bad("members", "do not include node %q", c.Node)
	} else if c.Listen == "" {
		c.Listen = c.Members[self].Address
	}
	if c.DrainWait == nil {
		usual := DefaultDrainWait
		c.DrainWait = &usual
	} else if *c.DrainWait < 0 {
		bad("drain_wait", "is %v, want 0s or more", *c.DrainWait)
	}
	if c.NewIfMissing && len(c.othersThatVote()) == 0 {
		bad("new", "is if-missing, but there is no other voter that could say whether this node is new")
	}
	if _, err := c.timing(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// DefaultVouch is how long a word for a program counts if nothing else is said.
const DefaultVouch = 5 * time.Second

// checkVouching finds the problems of what vouches for the program, and fills in the default.
func (c *Config) checkVouching() (problems []error) {
	vouches := given([]field{{"alive", c.Alive != ""}, {"notify", c.Notify}})
	if c.Exec == "" {
		for _, field := range vouches {
			problems = append(problems, fmt.Errorf("%s has a meaning only with %s", c.written(field), c.written("exec")))
		}
	}
	switch least := c.leastVouch(); {
	case len(vouches) > 0 && c.Vouch == 0:
		c.Vouch = max(DefaultVouch, least)
	case len(vouches) == 0 && c.Vouch != 0:
		problems = append(problems, fmt.Errorf("%s has a meaning only with %s or %s", c.written("vouch"), c.written("alive"), c.written("notify")))
	case len(vouches) > 0 && c.Vouch < least:
		problems = append(problems, fmt.Errorf("%s is %v, want at least %v: twice the interval at which the election asks", c.written("vouch"), c.Vouch, least))
	}
	return problems
}

// leastVouch is the shortest time for which a word may count.
func (c *Config) leastVouch() time.Duration {
	if c.Lease != "" {
		return 2 * leaseTiming(c.TTL).Renew
	}
	timing, _ := c.timing() // an unknown one is reported elsewhere
	return 2 * timing.Heartbeat
}

// written names a field by its flag, and by its key if there is a file.
func (c *Config) written(field string) string {
	flag := "--" + strings.ReplaceAll(field, "_", "-")
	if c.File == "" {
		return flag
	}
	return fmt.Sprintf("%s (or %s in %s)", flag, field, c.File)
}

// ofVoters lists the given fields that only have a meaning for voting.
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
		{"drain_wait", c.DrainWait != nil},
	})
}

// ofContenders lists the given fields that only have a meaning with a lease.
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

// peers returns the addresses of the other members.
func (c *Config) peers() map[string]string {
	peers := make(map[string]string)
	for _, m := range c.Members {
		if m.ID != c.Node {
			peers[m.ID] = m.Address
		}
	}
	return peers
}

// reachable refuses to listen without TLS where strangers could connect.
func (c *Config) reachable(at net.Addr) error {
	if tcp, is := at.(*net.TCPAddr); c.TLS != nil || c.TrustNetwork || !is || tcp.IP.IsLoopback() {
		return nil
	}
	return ConfigError{fmt.Errorf("--tls is not given, and %v is not a loopback address: anyone who can reach it could lead. "+
		"Give --tls, or --trust-network if only members can reach it", at)}
}

// othersThatVote returns the other voters.
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
	case strings.HasPrefix(id, "."): // as for certificates
		return fmt.Sprintf("is %q, and begins with a dot: the node's store is named after it, and would be a hidden file", id)
	}
	return ""
}

func (c *Config) tls() *grpcrpc.TLS {
	if c.TLS == nil {
		return nil
	}
	return &grpcrpc.TLS{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key}
}

// inFlags rewrites an elector's errors about its configuration in terms of the flags.
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
