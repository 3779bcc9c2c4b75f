// The identity in a certificate.

package grpcrpc_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestACertificateNamesOneIdentity(t *testing.T) {
	for _, c := range []struct {
		uris []string
		says string // empty: it names n0
	}{
		{[]string{"hustings://member/n0"}, ""},
		{[]string{"spiffe://x/y", "hustings://member/n0"}, ""},
		{[]string{"hustings://member/n%30"}, ""},
		{nil, "holds 0 names"},
		{[]string{"hustings://member/n0", "hustings://operator/n0"}, "holds 2 names"},
		{[]string{"hustings://king/n0"}, `the role "king"`},
		{[]string{"hustings://member:7000/n0"}, `the role "member:7000"`},
		{[]string{"hustings:member/n0"}, `the role ""`},
		{[]string{"hustings://member/"}, "a role without a name"},
		{[]string{"hustings://operator@member/n0"}, "hustings://operator@member/n0, want hustings://ROLE/NAME without a user, a query or a fragment"},
		{[]string{"hustings://u:secret@member/n0"}, "hustings://u:xxxxx@member/n0, want"},
		{[]string{"hustings://member/n0?role=operator"}, "without a user, a query or a fragment"},
		{[]string{"hustings://member/n0?"}, "without a user, a query or a fragment"},
		{[]string{"hustings://member/n0#n1"}, "without a user, a query or a fragment"},
		{[]string{"hustings://member/n0#n1", "hustings://member/n0"}, "without a user, a query or a fragment"},
	} {
		var cert x509.Certificate
		for _, text := range c.uris {
			u, err := url.Parse(text)
			require.NoError(t, err)
			cert.URIs = append(cert.URIs, u)
		}
		who, err := grpcrpc.IdentityOf(&cert)
		if c.says == "" {
			require.NoError(t, err)
			assert.Equal(t, grpcrpc.Identity{Role: grpcrpc.Member, Name: "n0"}, who)
			continue
		}
		assert.ErrorContains(t, err, c.says)
	}
}

// A node may have any id, and none is another's.
func TestANameIsReadAsItWasWritten(t *testing.T) {
	for _, name := range []string{"n0", "n0/", "/n0", "a/b", "n 0", "n%30", "n0?", "n0#", "n\u00f6"} {
		u, err := url.Parse(grpcrpc.Identity{Role: grpcrpc.Member, Name: name}.String())
		require.NoError(t, err)
		who, err := grpcrpc.IdentityOf(&x509.Certificate{URIs: []*url.URL{u}})
		require.NoError(t, err)
		assert.Equal(t, name, who.Name)
	}
}

// Parsing a URI loses an empty fragment.
func TestAnEmptyFragmentIsRefused(t *testing.T) {
	for _, c := range []struct {
		text  string
		names bool
	}{
		{"hustings://member/n0", true},
		{"hustings://member/n0#", false},
		{"HUSTINGS://member/n0#", false},
	} {
		u, err := url.Parse(c.text)
		require.NoError(t, err)
		san, err := asn1.Marshal([]asn1.RawValue{
			{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte("host#")}, // a DNS name is none of ours
			{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte("spiffe://x/y#")},
			{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(c.text)},
		})
		require.NoError(t, err)
		_, err = grpcrpc.IdentityOf(&x509.Certificate{
			URIs: []*url.URL{u}, Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: san}},
		})
		if c.names {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, "empty fragment")
	}
}
