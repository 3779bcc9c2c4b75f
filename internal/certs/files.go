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

// CertFile is the file of a name's certificate.
func CertFile(dir, name string) string { return filepath.Join(dir, name+".crt") }

// KeyFile is the file of a name's key.
func KeyFile(dir, name string) string { return filepath.Join(dir, name+".key") }

// CAFile is the file of the authority's certificate.
func CAFile(dir string) string { return CertFile(dir, authorityName) }

// Files are the files of a name, for the transport's configuration.
func Files(dir, name string) grpcrpc.TLS {
	return grpcrpc.TLS{CA: CAFile(dir), Cert: CertFile(dir, name), Key: KeyFile(dir, name)}
}

// Write writes a pair. It replaces files only if replace is set.
func (p Pair) Write(dir, name string, replace bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	return p.write(dir, name, replace)
}

func (p Pair) write(dir, name string, replace bool) error {
	// Check both files before writing either, because a new key beside an old certificate
	// would look like a pair, and be none.
	for _, file := range []string{KeyFile(dir, name), CertFile(dir, name)} {
		if _, err := os.Lstat(file); err == nil && !replace {
			return fmt.Errorf("%s: %w", file, fs.ErrExist)
		}
	}
	// Write the key first. If the second write fails, the old certificate does not fit the
	// new key, which every program reports.
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

// checkName refuses names that are no plain file names.
func checkName(name string) error {
	// On some file systems CA.key is the same file as ca.key.
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
