// Mutual TLS: this node's certificate and its trusted authorities, which may both change
// while it runs.

package grpcrpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLS names the PEM files with a node's or an operator's certificate and its trusted
// authorities. They are read again when they have changed, so a certificate can be
// replaced while the program runs.
type TLS struct {
	// CA holds the certificates of the trusted authorities.
	CA string
	// Cert and Key are this node's, or this operator's, own.
	Cert, Key string
}

// reloader has the newest usable content of the files.
type reloader struct {
	files  TLS
	self   Identity // an empty name: any name of this role
	now    func() time.Time
	refuse func(Refusal, ...any)

	changed chan struct{} // receives an element when the files were read again

	mu    sync.Mutex
	stamp stamp
	own   *tls.Certificate
	pool  *x509.CertPool
	live  map[*meter]func() error // verifies an open connection again
}

// stamp identifies a version of the files.
type stamp [3]struct {
	modified time.Time
	size     int64
}

// newReloader reads the files, which must be those of this identity.
func newReloader(files TLS, self Identity, now func() time.Time, refuse func(Refusal, ...any)) (*reloader, error) {
	r := &reloader{
		files: files, self: self, now: now, refuse: refuse,
		changed: make(chan struct{}, 1), live: make(map[*meter]func() error),
	}
	if err := files.validate(); err != nil {
		return nil, err
	}
	stamp, err := files.stamp()
	if err == nil {
		err = r.load(stamp)
	}
	if err != nil {
		return nil, fmt.Errorf("grpcrpc: TLS: %w", err)
	}
	return r, nil
}

// validate names the files that are missing.
func (f *TLS) validate() error {
	var problems []error
	for _, file := range []struct{ field, name, holds string }{
		{"CA", f.CA, "the certificates of the trusted authorities"},
		{"Cert", f.Cert, "the own certificate"},
		{"Key", f.Key, "the key of that certificate"},
	} {
		if file.name == "" {
			problems = append(problems, fmt.Errorf("grpcrpc: TLS.%s is empty: it names the file with %s", file.field, file.holds))
		}
	}
	return errors.Join(problems...)
}

// load reads the files, and uses them if all are valid.
func (r *reloader) load(now stamp) error {
	own, err := tls.LoadX509KeyPair(r.files.Cert, r.files.Key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", r.files.Cert, r.files.Key, err)
	}
	if err := r.isSelf(own.Leaf); err != nil {
		return fmt.Errorf("%s: %w", r.files.Cert, err)
	}
	ca, err := os.ReadFile(r.files.CA)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s holds no certificate in PEM", r.files.CA)
	}
	r.stamp, r.own, r.pool = now, &own, pool
	return nil
}

// isSelf refuses a certificate of another identity.
func (r *reloader) isSelf(c *x509.Certificate) error {
	got, err := IdentityOf(c)
	if err == nil && (got.Role != r.self.Role || r.self.Name != "" && got.Name != r.self.Name) {
		err = fmt.Errorf("the certificate is that of %v, not of %s %s", got, r.self.Role, r.self.Name)
	}
	return err
}

func (f *TLS) stamp() (s stamp, err error) {
	for i, name := range []string{f.CA, f.Cert, f.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return s, err
		}
		s[i].modified, s[i].size = info.ModTime(), info.Size()
	}
	return s, nil
}

// newest reads the files again if they have changed. If they cannot be used now, perhaps
// because they are being replaced, it returns the previous content.
func (r *reloader) newest() (*tls.Certificate, *x509.CertPool) {
	own, pool, err := r.reload()
	if err != nil {
		r.refuse(RefusedReload, "certificate", r.files.Cert, "error", err) // without mu, because it calls the user's logger
	}
	return own, pool
}

// reload is newest, and says why the files cannot be used.
func (r *reloader) reload() (*tls.Certificate, *x509.CertPool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := r.files.stamp()
	if err == nil && now != r.stamp {
		if err = r.load(now); err == nil {
			select {
			case r.changed <- struct{}{}:
			default: // an element is there already
			}
		}
	}
	return r.own, r.pool, err
}

// server is the configuration for incoming connections, of members and operators.
func (r *reloader) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAnyClientCert, // verified below, by the newest authorities
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			own, _ := r.newest()
			return own, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := r.verify(s, x509.ExtKeyUsageClientAuth)
			return err
		},
	}
}

// client is the configuration for a connection to a member; an empty name: to any member.
func (r *reloader) client(member string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Host names are not verified, because addresses may change. The certificate
		// names the node, which is verified below.
		InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			own, _ := r.newest()
			return own, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			who, err := r.verify(s, x509.ExtKeyUsageServerAuth)
			if err == nil && (who.Role != Member || member != "" && who.Name != member) {
				err = fmt.Errorf("the other side is %v, not %v", who, Identity{Member, member})
			}
			return err
		},
	}
}

// verify verifies the other's certificate by the newest authorities.
func (r *reloader) verify(s tls.ConnectionState, use x509.ExtKeyUsage) (Identity, error) {
	if len(s.PeerCertificates) == 0 {
		return Identity{}, errors.New("no certificate")
	}
	_, pool := r.newest()
	options := x509.VerifyOptions{
		Roots: pool, Intermediates: x509.NewCertPool(), CurrentTime: r.now(), KeyUsages: []x509.ExtKeyUsage{use},
	}
	for _, c := range s.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := s.PeerCertificates[0].Verify(options); err != nil {
		return Identity{}, err
	}
	return IdentityOf(s.PeerCertificates[0])
}
