// The transport's present condition: connected peers, and the end of its certificates.

package grpcrpc

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"
)

// Connected says for every peer whether it is connected.
func (t *Transport) Connected() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]bool, len(t.links))
	for peer, l := range t.links {
		all[peer] = l.connected()
	}
	return all
}

func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil
}

// CertificateEnds returns when the certificates of this node and of its authority end. own is
// the earliest end in the chain in the node's file. authority is the latest end of those
// certificates in the CA file that have signed one of the chain. Each is zero if there is none.
func (t *Transport) CertificateEnds() (own, authority time.Time) {
	if t.tls == nil {
		return own, authority
	}
	certificate, _ := t.tls.newest()
	own = certificate.Leaf.NotAfter
	chain := []*x509.Certificate{certificate.Leaf}
	for _, der := range certificate.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain = append(chain, c)
		}
	}
	for _, c := range chain {
		if c.NotAfter.Before(own) {
			own = c.NotAfter
		}
	}
	for _, ca := range t.tls.files.authorities() {
		for _, c := range chain {
			if c.CheckSignatureFrom(ca) == nil && ca.NotAfter.After(authority) {
				authority = ca.NotAfter
			}
		}
	}
	return own, authority
}

// authorities returns the certificates in the CA file. It skips those that it cannot read,
// because the file may be about to be replaced.
func (f *TLS) authorities() (all []*x509.Certificate) {
	text, _ := os.ReadFile(f.CA) // no file, no certificates
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
}
