// The counters of a machine. They number alarms, rounds of votes and beats, and wrap around to
// zero; with a heartbeat of a millisecond they do so after 50 days.

package protocol

// newer is the beat that was sent later, if neither is very old. Zero is none.
func newer(a, b uint32) uint32 {
	if a == 0 || int32(b-a) > 0 {
		return b
	}
	return a
}

// CountFrom sets the counters, before the first step. It is for tests of what happens when they
// wrap around.
func (m *Machine) CountFrom(n uint32) { m.alarm, m.ballot, m.office.beat = n, n, n }
