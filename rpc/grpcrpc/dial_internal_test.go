// The allowance of an outgoing connection during its handshake.

package grpcrpc

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"
)

// shaking are credentials whose handshake calls during.
type shaking struct {
	credentials.TransportCredentials
	during func()
}

func (s shaking) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	s.during()
	return c, nil, nil
}

// Anyone may listen at the address of a peer.
func TestACalledNodeIsAStrangerUntilItIsVerified(t *testing.T) {
	c, _ := net.Pipe()
	m := newMeter(c, func() {})
	var left []int
	looks := func() { left = append(left, m.left) }
	var verified error
	creds := clientCreds{TransportCredentials: shaking{during: looks}, keep: func(*meter, credentials.AuthInfo) error {
		looks()
		return verified
	}}
	verified = errors.New("not trusted")
	_, _, err := creds.ClientHandshake(t.Context(), "", m)
	require.ErrorIs(t, err, verified)
	looks()
	verified = nil
	_, _, err = creds.ClientHandshake(t.Context(), "", m)
	require.NoError(t, err)
	looks()
	const s = strangerBytes
	assert.Equal(t, []int{s, s, s, s, s, peerBytes}, left)
	require.NoError(t, m.Close())
}
