// Certificates in a directory: ca.crt and ca.key, and NAME.crt and NAME.key.

package certs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

const authorityName = "ca"

// CertFile and KeyFile are where the certificate and the key of a name are.
func CertFile(dir, name string) string { return filepath.Join(dir, name+".crt") }

// KeyFile is where the key of a name is.
func KeyFile(dir, name string) string { return filepath.Join(dir, name+".key") }

// CAFile is where the authority's certificate is.
func CAFile(dir string) string { return CertFile(dir, authorityName) }

// Files are those of a name, as the transport wants to be told.
func Files(dir, name string) grpcrpc.TLS {
	return grpcrpc.TLS{CA: CAFile(dir), Cert: CertFile(dir, name), Key: KeyFile(dir, name)}
}

// Write writes a pair. What is there is only replaced if that is said.
func (p Pair) Write(dir, name string, replace bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	return p.write(dir, name, replace)
}

func (p Pair) write(dir, name string, replace bool) error {
	// Both are looked for before either is written: a new key beside a certificate
	// that was there would look like a pair, and be none.
	for _, file := range []string{KeyFile(dir, name), CertFile(dir, name)} {
		if _, err := os.Lstat(file); err == nil && !replace {
			return fmt.Errorf("%s: %w", file, fs.ErrExist)
		}
	}
	// The key first: a certificate without its key is of no use to anyone, and
	// says so; the other way round a new key would go with an old certificate.
	for _, f := range []struct {
		name string
		text []byte
		mode fs.FileMode
	}{{KeyFile(dir, name), p.Key, 0o600}, {CertFile(dir, name), p.Cert, 0o644}} {
		if err := write(f.name, f.text, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses what is no plain file name.
func checkName(name string) error {
	// Some file systems take CA.key for ca.key.
	if name == "" || strings.EqualFold(name, authorityName) || strings.HasPrefix(name, ".") ||
		strings.ContainsAny(name, "/\\:") || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%q cannot be the name of a file; take another name", name)
	}
	return nil
}

// write replaces a file as a whole, or not at all.
func write(name string, text []byte, mode fs.FileMode) error {
	aside, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = aside.Write(text)
	err = errors.Join(err, aside.Chmod(mode), aside.Sync(), aside.Close())
	if err == nil {
		err = os.Rename(aside.Name(), name)
	}
	if err != nil {
		_ = os.Remove(aside.Name())
	}
	return err
}

// WriteAuthority writes an authority into a directory that has none.
func (a *Authority) WriteAuthority(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return a.write(dir, authorityName, false)
}

// ReadAuthority reads the authority of a directory.
func ReadAuthority(dir string) (*Authority, error) {
	cert, err := os.ReadFile(CAFile(dir))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(KeyFile(dir, authorityName))
	if err != nil {
		return nil, err
	}
	a, err := ParseAuthority(Pair{Cert: cert, Key: key})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return a, nil
}
