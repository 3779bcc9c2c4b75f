// Which certificates a command uses.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// tlsFlags name a directory as "hustings certs" fills it, or files.
type tlsFlags struct {
	dir, ca, cert, key string
	whence             string // where the name comes from
}

func (f *tlsFlags) add(cmd *cobra.Command, whose, whence string) {
	f.whence = whence
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "tls", "", "the `directory` with ca.crt and the certificate and key of "+whose)
	flags.StringVar(&f.ca, "ca", "", "the `file` with the certificates of the authorities, instead of --tls")
	flags.StringVar(&f.cert, "cert", "", "the `file` with one's own certificate, instead of --tls")
	flags.StringVar(&f.key, "key", "", "the `file` with its key, instead of --tls")
}

func (f *tlsFlags) given() bool { return f.dir != "" || f.ca != "" || f.cert != "" || f.key != "" }

// files are those of a name.
func (f *tlsFlags) files(name string) (*grpcrpc.TLS, error) {
	files := grpcrpc.TLS{CA: f.ca, Cert: f.cert, Key: f.key}
	if f.dir != "" {
		found := certs.Files(f.dir, name)
		if _, err := os.Stat(found.Cert); f.cert == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--tls %s: there is no certificate of %q, for there is no %s; %s", f.dir, name, found.Cert, f.whence)
		}
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
