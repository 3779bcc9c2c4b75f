package grpcrpc_test

import (
	"crypto/x509"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// A certificate names one identity, and nothing beside it.
func TestWhatACertificateNames(t *testing.T) {
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
		{[]string{"hustings://member/"}, "nobody"},
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
