// Package certs makes the certificates of an installation: an authority, and signed by it
// one certificate for every member and operator, in the form that rpc/grpcrpc needs.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"time"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Pair is a certificate and its key, both in PEM.
type Pair struct{ Cert, Key []byte }

// Authority signs certificates.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// skew is the largest difference between the clocks of an installation.
const skew = time.Hour

// NewAuthority makes an authority that is valid from now on, and a little before, for
// clocks that are behind.
func NewAuthority(now time.Time, lifetime time.Duration) (*Authority, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "hustings authority"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	pair, err := new(Authority).sign(template)
	if err != nil {
		return nil, err
	}
	return ParseAuthority(pair)
}

// ParseAuthority reads an authority.
func ParseAuthority(p Pair) (*Authority, error) {
	cert, err := ParseCert(p.Cert)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(p.Key)
	if block == nil {
		return nil, errors.New("the key is not in PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key: %w", err)
	case !key.PublicKey.Equal(cert.PublicKey):
		return nil, errors.New("the key is not that of the certificate")
	case !cert.IsCA:
		return nil, errors.New("the certificate is not that of an authority")
	}
	return &Authority{Pair: p, cert: cert, key: key}, nil
}

// ParseCert reads the first certificate in PEM.
func ParseCert(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("there is no certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Until is when the authority's certificate expires.
func (a *Authority) Until() time.Time { return a.cert.NotAfter }

// Request describes a certificate.
type Request struct {
	Identity grpcrpc.Identity
	// Hosts are a member's host names and addresses. Members do not need them; other
	// programs may.
	Hosts []string
	// Lifetime is counted from Now. No certificate outlives its authority.
	Now      time.Time
	Lifetime time.Duration
}

// Issue makes a certificate. A member's is valid for both ends of a connection, an
// operator's for the calling end.
func (a *Authority) Issue(r Request) (Pair, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: r.Identity.Name},
		NotBefore: r.Now.Add(-skew), NotAfter: r.Now.Add(r.Lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs: []*url.URL{r.Identity.URI()},
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	if r.Identity.Role == grpcrpc.Member {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

// sign makes a key and a certificate for it. An authority without a key signs with the new
// key.
func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Pair{}, err
	}
	parent, by := a.cert, a.key
	if by == nil {
		parent, by = template, key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}
