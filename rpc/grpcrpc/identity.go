// The identity in a certificate.

package grpcrpc

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/url"
	"strings"
)

// Role is what the holder of a certificate may do. Neither role includes the other.
type Role string

const (
	// Member takes part in elections, as the node that the certificate names.
	Member Role = "member"
	// Operator watches nodes and commands them.
	Operator Role = "operator"
)

// Identity is the identity of the holder of a certificate. It is a URI, such as
// hustings://member/n0, among the subject's alternative names.
type Identity struct {
	Role Role
	// Name is the id of a member's node, or an operator's name.
	Name string
}

const scheme = "hustings"

// String returns the identity as a URI, as it is in a certificate.
func (i Identity) String() string { return i.URI().String() }

// URI returns the identity as it is in a certificate.
func (i Identity) URI() *url.URL {
	return &url.URL{Scheme: scheme, Host: string(i.Role), Path: "/" + i.Name, RawPath: "/" + url.PathEscape(i.Name)}
}

// IdentityOf reads the identity in a certificate. It does not verify the certificate. A
// certificate with several identities is refused, because it is unclear which one is
// meant. So is an identity with a user, a query or a fragment, because their meaning is
// unknown.
func IdentityOf(c *x509.Certificate) (Identity, error) {
	var found []Identity
	for _, u := range c.URIs {
		if u.Scheme == scheme {
			if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
				return Identity{}, fmt.Errorf("the certificate of %q names %s, want %s://ROLE/NAME without a user, a query or a fragment", c.Subject, u.Redacted(), scheme)
			}
			found = append(found, Identity{Role(u.Host), strings.TrimPrefix(u.Path, "/")})
		}
	}
	if emptyFragment(c) {
		return Identity{}, fmt.Errorf("the certificate of %q names a %s: with an empty fragment, want %s://ROLE/NAME without a user, a query or a fragment",
			c.Subject, scheme, scheme)
	}
	if len(found) != 1 {
		return Identity{}, fmt.Errorf("the certificate of %q holds %d names of the form %s://ROLE/NAME, want one", c.Subject, len(found), scheme)
	}
	i := found[0]
	switch {
	case i.Role != Member && i.Role != Operator:
		return Identity{}, fmt.Errorf("the certificate of %q names the role %q, which is neither %s nor %s", c.Subject, i.Role, Member, Operator)
	case i.Name == "":
		return Identity{}, fmt.Errorf("the certificate of %q names a role without a name", c.Subject)
	}
	return i, nil
}

// emptyFragment says whether a name with our scheme ends in #. Parsing a URI loses that, so
// emptyFragment searches the raw certificate.
func emptyFragment(c *x509.Certificate) bool {
	for _, x := range c.Extensions {
		var names []asn1.RawValue
		if !x.Id.Equal(subjectAltName) {
			continue
		}
		if _, err := asn1.Unmarshal(x.Value, &names); err != nil {
			continue // then x509 has read no URIs from it, either
		}
		for _, n := range names {
			text := strings.ToLower(string(n.Bytes))
			if n.Class == asn1.ClassContextSpecific && n.Tag == uriTag && strings.HasPrefix(text, scheme+":") && strings.HasSuffix(text, "#") {
				return true
			}
		}
	}
	return false
}

// subjectAltName is the extension with the subject's alternative names, of which those with
// uriTag are URIs (RFC 5280, 4.2.1.6).
var subjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

const uriTag = 6
