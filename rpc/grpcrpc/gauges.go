// What the transport is like now: which peers it is connected to, and how long its
// certificates are good.

package grpcrpc

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"
)

// Connected says of every peer whether there is a connection to it.
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

// CertificateEnds is when this node's certificate ends, or one before that which stands
// in its file between it and the authority; and when the authority's does: the last to
// end of those in the CA file that have signed one of these. Each is zero if there is none.
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

// authorities are the certificates in the CA file, as far as they can be read: it may be
// about to be replaced.
func (f *TLS) authorities() (all []*x509.Certificate) {
	text, _ := os.ReadFile(f.CA) // without one there are none
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
