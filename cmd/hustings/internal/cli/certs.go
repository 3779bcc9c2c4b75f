// Making and showing certificates.

package cli

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

const day = 24 * time.Hour

func newCerts() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Make and show the certificates of an installation",
		Long: `Make and show the certificates of an installation: an authority, and one certificate
for every member and operator. Copy ca.crt and the node's own .crt and .key to each node,
and nothing else; ca.key stays where certificates are made.`,
		Example: `  hustings certs ca --dir certs
  hustings certs member n0 --dir certs
  hustings certs operator alice --dir certs`,
	}
	cmd.AddCommand(newAuthority(), newMember(), newOperator(), newShow())
	return cmd
}

// certFlags are the flags of every command that makes a certificate.
type certFlags struct {
	dir    string
	days   int
	asJSON bool
}

func (f *certFlags) add(cmd *cobra.Command, days int) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "the `directory` of the authority")
	flags.IntVar(&f.days, "days", days, "how many `days` the certificate is valid")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
}

// lifetime refuses lifetimes that make no valid certificate. Beyond the upper bound a
// time.Duration would overflow, and the certificate would expire in the past.
func (f *certFlags) lifetime() (time.Duration, error) {
	const most = 100 * 365
	if f.days < 1 || f.days > most {
		return 0, usageError{fmt.Errorf("--days is %d, want 1 to %d", f.days, most)}
	}
	return time.Duration(f.days) * day, nil
}

// madeCert names the files of a new certificate.
type madeCert struct {
	Cert  string `json:"cert"`
	Key   string `json:"key"`
	Until string `json:"until"`
}

func (f *certFlags) print(w io.Writer, m madeCert) error {
	if f.asJSON {
		return json.NewEncoder(w).Encode(m)
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", m.Cert, m.Key)
	return err
}

func newAuthority() *cobra.Command {
	var f certFlags
	cmd := &cobra.Command{
		Use:     "ca",
		Short:   "Make the authority",
		Example: `  hustings certs ca --dir certs`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lifetime, err := f.lifetime()
			if err != nil {
				return err
			}
			a, err := certs.NewAuthority(time.Now(), lifetime)
			if err != nil {
				return err
			}
			if err := a.WriteAuthority(f.dir); err != nil {
				if errors.Is(err, fs.ErrExist) {
					err = fmt.Errorf("%w: an authority is never replaced, because every certificate that it has signed would become invalid", err)
				}
				return err
			}
			return f.print(cmd.OutOrStdout(), madeCert{certs.CAFile(f.dir), certs.KeyFile(f.dir, "ca"), calendar(a.Until())})
		},
	}
	f.add(cmd, 3650)
	return cmd
}

// leafFlags are the flags of the commands that make certificates signed by the authority.
type leafFlags struct {
	certFlags
	out   string
	hosts []string
	renew bool
}

func newMember() *cobra.Command {
	f, cmd := newLeaf(grpcrpc.Member, "member NODE")
	cmd.Short = "Make the certificate of a member"
	cmd.Example = `  hustings certs member n0 --dir certs
  hustings certs member n0 --dir certs --renew
  hustings certs member n1 --dir certs --host n1.example.org --host 10.0.0.2`
	cmd.Flags().StringSliceVar(&f.hosts, "host", []string{"localhost", "127.0.0.1", "::1"}, "`names` and addresses of the node, for programs other than hustings")
	return cmd
}

func newOperator() *cobra.Command {
	_, cmd := newLeaf(grpcrpc.Operator, "operator NAME")
	cmd.Short = "Make the certificate of an operator"
	cmd.Example = `  hustings certs operator alice --dir certs`
	return cmd
}

// newLeaf returns a command that makes certificates for a role.
func newLeaf(role grpcrpc.Role, use string) (*leafFlags, *cobra.Command) {
	f := new(leafFlags)
	cmd := &cobra.Command{
		Use:  use,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, grpcrpc.Identity{Role: role, Name: args[0]})
		},
	}
	f.add(cmd)
	return f, cmd
}

func (f *leafFlags) add(cmd *cobra.Command) {
	f.certFlags.add(cmd, 365)
	cmd.Flags().StringVar(&f.out, "out", "", "the `directory` to write to (default: that of the authority)")
	cmd.Flags().BoolVar(&f.renew, "renew", false, "replace an existing certificate; a running node reloads it")
}

// run makes a certificate and its key.
func (f *leafFlags) run(cmd *cobra.Command, who grpcrpc.Identity) error {
	lifetime, err := f.lifetime()
	if err == nil {
		err = checkHosts(f.hosts)
	}
	if err != nil {
		return err
	}
	a, err := f.authority()
	if err != nil {
		return err
	}
	now := time.Now()
	if !now.Before(a.Until()) {
		return fmt.Errorf("%s: the authority expired at %s; make another one in another directory", certs.CAFile(f.dir), calendar(a.Until()))
	}
	pair, err := a.Issue(certs.Request{Identity: who, Hosts: f.hosts, Now: now, Lifetime: lifetime})
	if err != nil {
		return err
	}
	made, err := f.write(pair, who.Name)
	if err != nil {
		return err
	}
	made.Until = calendar(now.Add(lifetime))
	if a.Until().Before(now.Add(lifetime)) {
		made.Until = calendar(a.Until())
		stderr := cmd.ErrOrStderr() // not stdout: scripts read the names of files there
		fmt.Fprintf(stderr, "%s: valid only until %s, when the authority expires\n", made.Cert, made.Until)
	}
	return f.print(cmd.OutOrStdout(), made)
}

func (f *leafFlags) authority() (*certs.Authority, error) {
	a, err := certs.ReadAuthority(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; 'hustings certs ca --dir %s' makes the authority", err, f.dir)
	}
	return a, err
}

func (f *leafFlags) write(pair certs.Pair, name string) (madeCert, error) {
	dir := f.dir
	if f.out != "" {
		dir = f.out
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return madeCert{}, err
		}
	}
	err := pair.Write(dir, name, f.renew)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w; --renew replaces it", err)
	}
	return madeCert{Cert: certs.CertFile(dir, name), Key: certs.KeyFile(dir, name)}, err
}

// checkHosts refuses a host, such as an address with its port, that would be written
// into the certificate and never match.
func checkHosts(hosts []string) error {
	for _, host := range hosts {
		if net.ParseIP(host) == nil && (host == "" || strings.ContainsAny(host, ":[]/ ")) {
			return usageError{fmt.Errorf("--host: %q is neither a name nor an address; leave out the port", host)}
		}
	}
	return nil
}

func newShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show FILE...",
		Short:   "Show whose certificates these are, and until when they are valid",
		Example: `  hustings certs show certs/*.crt`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				found, err := readCerts(name)
				if err != nil {
					return err
				}
				for _, c := range found {
					if err := shownCertOf(name, c).print(cmd.OutOrStdout(), asJSON); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// readCerts reads all certificates of a file, because ca.crt holds two while the authority
// is being replaced.
func readCerts(name string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: it holds no certificate in PEM form", name)
	}
	return found, nil
}

// shownCert is a certificate as it is printed. Role and Name are empty if it names neither
// a member nor an operator; an authority's does not.
type shownCert struct {
	File     string   `json:"file"`
	Identity string   `json:"identity"`
	Role     string   `json:"role"`
	Name     string   `json:"name"`
	Hosts    []string `json:"hosts"`
	From     string   `json:"from"`
	Until    string   `json:"until"`
	Issuer   string   `json:"issuer"`
}

func shownCertOf(name string, c *x509.Certificate) shownCert {
	s := shownCert{
		File: name, Identity: "authority", Hosts: append([]string{}, c.DNSNames...),
		From: calendar(c.NotBefore), Until: calendar(c.NotAfter), Issuer: c.Issuer.CommonName,
	}
	for _, ip := range c.IPAddresses {
		s.Hosts = append(s.Hosts, ip.String())
	}
	if c.IsCA {
		return s
	}
	who, err := grpcrpc.IdentityOf(c)
	if err != nil {
		s.Identity = "nobody: " + err.Error()
		return s
	}
	s.Identity, s.Role, s.Name = who.String(), string(who.Role), who.Name
	return s
}

func (s shownCert) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintf(w, "%s  %s  from %s  until %s  by %q  %s\n", s.File, s.Identity, s.From, s.Until, s.Issuer, strings.Join(s.Hosts, " "))
	return err
}

// calendar formats a time in UTC to the second, as certificates hold it.
func calendar(t time.Time) string { return t.UTC().Format(time.RFC3339) }
