// Open connections whose certificates are no longer valid are closed, on both sides.

package grpcrpc_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// watched is a cluster in which a is connected to b. One of them has a CA file of its own, and
// verifies its connections when the test says so.
type watched struct {
	*besieged
	node  *grpcrpc.Transport // the one with the file
	ca    string             // its file
	later atomic.Int64       // by how much its clock is ahead
	ticks chan time.Time
}

func watch(t *testing.T, node string) *watched {
	t.Helper()
	w := newClusterWithTLS(t, "a", "b")
	s := &watched{besieged: &besieged{cluster: w}, ca: filepath.Join(t.TempDir(), "ca.crt"), ticks: make(chan time.Time)}
	s.believe(w.authority.Cert)
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait)
	for _, each := range []string{"a", "b"} {
		config := w.config(each)
		if each == node {
			config.TLS.CA = s.ca
		}
		tr, err := grpcrpc.NewWithClock(config, func() time.Time {
			if each != node {
				return time.Now()
			}
			return time.Now().Add(time.Duration(s.later.Load()))
		})
		require.NoError(t, err)
		t.Cleanup(tr.Close)
		if each == node {
			s.node = tr
			watching.Go(func() { tr.Watch(s.ticks) })
		}
		if each == "a" {
			s.a = tr
			w.listenTo(tr)
		} else {
			s.b, s.ear = tr, w.listenTo(tr)
		}
	}
	w.reaches(s.a, "b", s.ear)
	return s
}

// believe replaces the authority that the node trusts.
func (s *watched) believe(cert []byte) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.ca, cert, 0o600))
}

// isCut checks that the connection was closed, and that no other was made.
func (s *watched) isCut() {
	s.t.Helper()
	s.eventually("it is cut", func() bool { return s.node.Stats().Refused[grpcrpc.RefusedCertificate] > 0 })
	s.eventually("the other side notices", func() bool { return s.a.Kept() == 0 && s.b.Kept() == 0 })
	assert.Empty(s.t, s.ear.lost, "the other's process lives")
}

func TestConnectionsOfAnAuthorityThatWasReplacedAreCut(t *testing.T) {
	for name, node := range map[string]string{"accepted": "b", "dialled": "a"} {
		t.Run(name, func(t *testing.T) {
			s := watch(t, node)
			s.ticks <- time.Time{}
			s.ticks <- time.Time{}
			s.reaches(s.a, "b", s.ear)
			assert.Zero(t, s.node.Stats().Refused[grpcrpc.RefusedCertificate], "it is still good")
			assert.EqualValues(t, 1, s.b.Stats().Connected)
			s.believe(newAuthority(t).Cert)
			s.ticks <- time.Time{}
			s.isCut()
			s.believe(s.authority.Cert)
			s.reaches(s.a, "b", s.ear)
		})
	}
}

// A handshake that finds the files changed does not wait for the next tick.
func TestAHandshakeThatFindsNewFilesCutsAtOnce(t *testing.T) {
	s := watch(t, "b")
	s.believe(newAuthority(t).Cert)
	c, err := tls.Dial("tcp", s.addresses["b"], &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	require.NoError(t, err)
	s.isCut()
	assert.NoError(t, c.Close())
}

func TestConnectionsWhoseCertificateRunsOutAreCut(t *testing.T) {
	for name, node := range map[string]string{"accepted": "b", "dialled": "a"} {
		t.Run(name, func(t *testing.T) {
			s := watch(t, node)
			s.later.Store(int64(2 * time.Hour))
			s.ticks <- time.Time{}
			s.isCut()
		})
	}
}

// A refused handshake would be that of somebody else, whom an operator would look for.
func TestAConnectionThatIsCutIsNoRefusedHandshake(t *testing.T) {
	s := watch(t, "a")
	require.NoError(t, s.listeners["b"].Close()) // no other handshake follows
	s.later.Store(int64(2 * time.Hour))
	s.ticks <- time.Time{}
	s.isCut()
	assert.Zero(t, s.a.Stats().Refused[grpcrpc.RefusedHandshake])
}

func TestFilesThatCannotBeUsedCutNothing(t *testing.T) {
	s := watch(t, "b")
	s.believe([]byte("half of a fi"))
	s.ticks <- time.Time{}
	s.ticks <- time.Time{}
	s.holds(grpcrpc.RefusedReload, 1)
	assert.EqualValues(t, 1, s.b.Stats().Connected)
}

func TestClosedConnectionsAreNotVerified(t *testing.T) {
	s := watch(t, "b")
	assert.Equal(t, 1, s.a.Kept())
	assert.Equal(t, 1, s.b.Kept())
	s.a.Close()
	s.eventually("b forgets it", func() bool { return s.b.Kept() == 0 })
	assert.Zero(t, s.a.Kept())
}

// The fault in the files may be gone the next time.
func TestFilesThatCannotBeUsedAreTriedAgain(t *testing.T) {
	w := newClusterWithTLS(t, "a")
	tr := w.open("a")
	ca := filepath.Join(w.dir, "ca.crt")
	good, err := os.ReadFile(ca)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ca, nil, 0o600))
	for looks := uint64(1); looks <= 3; looks++ {
		tr.CertificateEnds()
		assert.Equal(t, looks, tr.Stats().Refused[grpcrpc.RefusedReload])
	}
	require.NoError(t, os.WriteFile(ca, good, 0o600))
	tr.CertificateEnds()
	assert.EqualValues(t, 3, tr.Stats().Refused[grpcrpc.RefusedReload])
}
