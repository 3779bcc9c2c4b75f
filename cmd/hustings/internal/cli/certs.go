// Making certificates.

package cli

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
		Short: "Make the certificates of an installation",
		Long: `Make the certificates of an installation: an authority, and one certificate for
every member and operator. Copy to each node ca.crt and its own .crt and .key, and
nothing else; ca.key stays where certificates are made.`,
	}
	cmd.AddCommand(newAuthority(), newLeaf(grpcrpc.Member, "NODE"), newLeaf(grpcrpc.Operator, "NAME"), newShow())
	return cmd
}

func newAuthority() *cobra.Command {
	var dir string
	var days int
	cmd := &cobra.Command{
		Use:     "ca",
		Short:   "Make the authority",
		Example: `  hustings certs ca --dir certs`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := certs.NewAuthority(time.Now(), time.Duration(days)*day)
			if err != nil {
				return err
			}
			if err := a.WriteAuthority(dir); err != nil {
				if errors.Is(err, fs.ErrExist) {
					err = fmt.Errorf("%w: an authority is never replaced; all that it has signed would be worth nothing", err)
				}
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", certs.CAFile(dir), certs.KeyFile(dir, "ca"))
			return err
		},
	}
	certFlags(cmd, &dir, &days, 3650)
	return cmd
}

func certFlags(cmd *cobra.Command, dir *string, days *int, lifetime int) {
	cmd.Flags().StringVar(dir, "dir", ".", "the `directory` of the authority")
	cmd.Flags().IntVar(days, "days", lifetime, "how many `days` it is good for")
}

func newLeaf(role grpcrpc.Role, arg string) *cobra.Command {
	var dir string
	var days int
	var hosts []string
	var renew bool
	cmd := &cobra.Command{
		Use:     fmt.Sprintf("%s %s", role, arg),
		Short:   fmt.Sprintf("Make the certificate of a %s", role),
		Example: fmt.Sprintf("  hustings certs %s %s --dir certs", role, map[grpcrpc.Role]string{grpcrpc.Member: "n0", grpcrpc.Operator: "alice"}[role]),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := certs.ReadAuthority(dir)
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					err = fmt.Errorf("%w; 'hustings certs ca --dir %s' makes the authority", err, dir)
				}
				return err
			}
			pair, err := a.Issue(certs.Request{
				Identity: grpcrpc.Identity{Role: role, Name: args[0]}, Hosts: hosts, Now: time.Now(), Lifetime: time.Duration(days) * day,
			})
			if err != nil {
				return err
			}
			if err := pair.Write(dir, args[0], renew); err != nil {
				if errors.Is(err, fs.ErrExist) {
					err = fmt.Errorf("%w; --renew replaces it", err)
				}
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", certs.CertFile(dir, args[0]), certs.KeyFile(dir, args[0]))
			return err
		},
	}
	certFlags(cmd, &dir, &days, 365)
	cmd.Flags().BoolVar(&renew, "renew", false, "replace the one that there is; a running node takes it over")
	if role == grpcrpc.Member {
		cmd.Flags().StringSliceVar(&hosts, "host", []string{"localhost", "127.0.0.1", "::1"}, "`names` and addresses of the node, for other programs than hustings")
	}
	return cmd
}

func newShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show FILE...",
		Short:   "Say whose certificates these are, and until when",
		Example: `  hustings certs show certs/*.crt`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				c, err := certs.ParseCert(text)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				s := shownCertOf(name, c)
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(s)
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  until %s  %s\n", s.File, s.Identity, s.Until, strings.Join(s.Hosts, " "))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

type shownCert struct {
	File     string   `json:"file"`
	Identity string   `json:"identity"`
	Hosts    []string `json:"hosts"`
	From     string   `json:"from"`
	Until    string   `json:"until"`
	Issuer   string   `json:"issuer"`
}

func shownCertOf(name string, c *x509.Certificate) shownCert {
	s := shownCert{
		File: name, Identity: "authority", Hosts: append([]string{}, c.DNSNames...),
		From: c.NotBefore.UTC().Format(time.RFC3339), Until: c.NotAfter.UTC().Format(time.RFC3339), Issuer: c.Issuer.CommonName,
	}
	for _, ip := range c.IPAddresses {
		s.Hosts = append(s.Hosts, ip.String())
	}
	if !c.IsCA {
		who, err := grpcrpc.IdentityOf(c)
		if s.Identity = who.String(); err != nil {
			s.Identity = "nobody: " + err.Error()
		}
	}
	return s
}
