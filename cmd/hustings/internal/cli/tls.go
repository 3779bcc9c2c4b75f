// Which certificates a command uses.

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// tlsFlags name a directory as "hustings certs" fills it, or files.
type tlsFlags struct {
	dir, ca, cert, key string
}

func (f *tlsFlags) add(cmd *cobra.Command, whose string) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "tls", "", "the `directory` with ca.crt and the certificate and key of "+whose)
	flags.StringVar(&f.ca, "ca", "", "the `file` with the certificates of the authorities, instead of --tls")
	flags.StringVar(&f.cert, "cert", "", "the `file` with one's own certificate, instead of --tls")
	flags.StringVar(&f.key, "key", "", "the `file` with its key, instead of --tls")
}

func (f *tlsFlags) given() bool { return *f != tlsFlags{} }

// files are those of a name.
func (f *tlsFlags) files(name string) (*grpcrpc.TLS, error) {
	files := grpcrpc.TLS{CA: f.ca, Cert: f.cert, Key: f.key}
	if f.dir != "" {
		found := certs.Files(f.dir, name)
		for _, field := range []struct{ own, found *string }{{&files.CA, &found.CA}, {&files.Cert, &found.Cert}, {&files.Key, &found.Key}} {
			if *field.own == "" {
				*field.own = *field.found
			}
		}
	}
	if files.CA == "" || files.Cert == "" || files.Key == "" {
		return nil, errors.New("TLS needs --tls, or all of --ca, --cert and --key")
	}
	return &files, nil
}
