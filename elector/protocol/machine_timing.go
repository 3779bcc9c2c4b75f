// Members whose intervals differ, because they are being changed while the group runs (D27). That is
// done at one member after the other, so for a while a leader may be heard less often than the others
// expect.
//
//   - Each heartbeat says how long its sender may be silent. A follower waits that long, if it is
//     longer than its own detection time.
//   - A leader that is to be heard less often than before says so in a few heartbeats that come as
//     often as before. So does a new leader, compared with the one before it. If one of these is lost,
//     as one of the old ones could have been, the next one comes in time.
//   - A lease lasts as long as its heartbeat asked for (sent.go), because that is what the voters
//     promised.
//   - A promise lasts at least as long as it was given for, and so does the wait for a silent leader
//     in the term in which it was given. So after a change to shorter intervals a group with leases
//     notices a dead leader as late as before until its term ends.
//
// A leader that no quorum follows forgets what others expect: they may all have new intervals, because
// the network has become so slow that nobody can answer in time to heartbeats that come as often as
// before.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// mostHurried bounds the heartbeats that a leader sends in the time for which members wait that do not
// know yet that they are to wait for longer. There are not more than it may miss, because otherwise
// it would step down before that time is over.
const mostHurried = 4

func (r *Rules) hurried() uint8 { return uint8(min(r.Timing.Leak, mostHurried)) }

// expects is how long members wait for their leader, as far as this one knows.
func (m *Machine) expects() time.Duration { return time.Duration(m.expected) * time.Millisecond }

// expect notes how long members wait for their leader. An older version does not say it, and no valid
// timing is longer than maxDetection.
func (m *Machine) expect(detection time.Duration) {
	m.expected = uint32((min(detection, maxDetection) + time.Millisecond - 1) / time.Millisecond)
}

// hurry has a leader send its next heartbeats earlier, if others wait for it less long than it may be
// silent.
func (m *Machine) hurry(r *Rules) {
	m.hurried = 0
	if m.expected > 0 && m.expects() < r.Timing.Detection() {
		m.hurried = r.hurried()
	}
}

// interval is how long a leader waits before its next heartbeat.
func (m *Machine) interval(r *Rules) time.Duration {
	if m.hurried > 0 {
		m.hurried--
		return min(r.Timing.Heartbeat, m.expects()/time.Duration(r.hurried()))
	}
	m.expect(r.Timing.Detection())
	return r.Timing.Heartbeat
}

// retimed has a leader tell its new intervals at once, if it still leads. Other members go on waiting as
// they did.
func (m *Machine) retimed(r *Rules, in *Input, out *Output) {
	if m.Role == memberstate.Leader {
		m.hurry(r)
		m.onBeat(r, in, out)
	}
}
