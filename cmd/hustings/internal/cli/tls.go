// The flags that choose a command's certificate.

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

// tlsFlags name a directory that "hustings certs" has filled, or single files.
type tlsFlags struct {
	dir, ca, cert, key string
	chosen             string // says which flag chooses the certificate
}

func (f *tlsFlags) add(cmd *cobra.Command, whose, chosen string) {
	f.chosen = chosen
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "tls", "", "the `directory` with ca.crt and the certificate and key of "+whose)
	flags.StringVar(&f.ca, "ca", "", "the `file` with the certificates of the authorities, instead of --tls")
	flags.StringVar(&f.cert, "cert", "", "the `file` with the own certificate, instead of --tls")
	flags.StringVar(&f.key, "key", "", "the `file` with the key of --cert, instead of --tls")
}

func (f *tlsFlags) given() bool { return f.dir != "" || f.ca != "" || f.cert != "" || f.key != "" }

// files returns the files of the named certificate.
func (f *tlsFlags) files(name string) (*grpcrpc.TLS, error) {
	files := grpcrpc.TLS{CA: f.ca, Cert: f.cert, Key: f.key}
	if f.dir != "" {
		found := certs.Files(f.dir, name)
		if _, err := os.Stat(found.Cert); f.cert == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--tls %s: there is no certificate of %q: %s is missing; %s", f.dir, name, found.Cert, f.chosen)
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
