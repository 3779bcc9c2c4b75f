// The counters of a machine: they number alarms, rounds of votes and beats, and begin again
// from zero when they are full. With a heartbeat of a millisecond that is so after 50 days.

package protocol

// newer is the beat that was sent later, of two of which neither is very old. Zero is none.
func newer(a, b uint32) uint32 {
	if a == 0 || int32(b-a) > 0 {
		return b
	}
	return a
}

// CountFrom has the counters begin at a number. Only those need it who want to see them
// begin again. It comes before the first step.
func (m *Machine) CountFrom(n uint32) { m.alarm, m.ballot, m.office.beat = n, n, n }
