// Probes of a peer whose address is a name.

package grpcrpc

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// nameServer lets every name stand for these addresses of version 4, in this order, for the rest of the
// test. It calls asked before each answer.
func nameServer(t *testing.T, asked func(), addresses ...net.IP) {
	t.Helper()
	usual := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = usual })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close() //nolint:errcheck // the resolver has closed it, too
			for {
				query, err := readQuery(theirs)
				if err != nil {
					return
				}
				asked()
				_, _ = theirs.Write(answerOf(query, addresses))
			}
		}()
		return ours, nil
	}}
}

const (
	dnsHead = 12 // bytes before the question
	dnsA    = 1  // the kind of question that asks for addresses of version 4
)

// readQuery reads a query, which follows its length.
func readQuery(from io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	query := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(from, query)
	return query, err
}

// answerOf answers a query with one question.
func answerOf(query []byte, addresses []net.IP) []byte {
	end := dnsHead
	for query[end] != 0 { // the labels of the name
		end += 1 + int(query[end])
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	if kind != dnsA {
		addresses = nil
	}
	a := append([]byte{}, query[:end+5]...)                                    // without what follows the question
	copy(a[2:], []byte{0x81, 0x80, 0, 1, 0, byte(len(addresses)), 0, 0, 0, 0}) // an answer, and how many parts it has
	for _, ip := range addresses {
		a = append(a, 0xc0, dnsHead, 0, dnsA, 0, 1, 0, 0, 0, 0, 0, net.IPv4len) // the name is that of the question
		a = append(a, ip.To4()...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)
}

// A peer may listen at one of the addresses of its machine only.
func TestAllAddressesOfANameAreProbed(t *testing.T) {
	one, other := net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)
	port := portOf(t, open(t))
	for _, order := range [][]net.IP{{one, other}, {other, one}} {
		nameServer(t, func() {}, order...)
		here, gone := probe(t.Context(), "peer.invalid."+port)
		assert.Equal(t, [2]bool{true, false}, [2]bool{here, gone}, order)
	}
}

// The peer connects again while its old address is looked up, and refuses there.
func TestAPeerThatConnectsDuringAProbeIsNotLost(t *testing.T) {
	l, told := linkTo(t)
	l.address = "peer.invalid." + portOf(t, deaf(t))
	l.end(connect(t, l, 7))
	again := &connection{number: l.number(), incarnation: 7, confirmed: true, hangUp: func(error) {}}
	connects := sync.OnceFunc(func() { assert.NoError(t, l.begin(again)) })
	nameServer(t, connects, net.IPv4(127, 0, 0, 1))
	assert.True(t, l.probePeer())
	assert.Same(t, again, l.current)
	assert.Empty(t, *told)
	assert.EqualValues(t, 7, l.incarnation, "its next process is another one")
}
