// Nodes without beats beside others that exchange them: processes of an older version, or told so. An upgrade replaces one
// process after the other, and so does the way back, so leaders have bonded members and others in one quorum.

package simulation

// drawBeats strikes where nodes exchange beats.
func drawBeats(w *world, _ *Strike) bool { return w.options.Beats }

// withoutBeats has a node exchange no beats, from the beginning.
func withoutBeats(w *world, s *Strike) bool {
	w.struckBy(s).mute = true
	return w.options.Beats
}

// drawBeatsSwitch also replaces the next s.Count processes, one after the other.
func drawBeatsSwitch(w *world, s *Strike) bool {
	s.Count = w.swarm.random.Int64N(int64(w.options.Members))
	return w.options.Beats
}

// switchBeats replaces a process by one that exchanges beats if it did not, and does not if it did. The next one follows
// when this one is back.
func switchBeats(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if n.Alive {
		n.crash()
	}
	n.mute = !n.mute
	n.comesBack(s.Lasts)
	if s.Count > 0 {
		w.follow(s.Lasts, Strike{Fault: SwitchBeats, Node: (s.Node + 1) % len(w.nodes), Other: nobody, Lasts: s.Lasts, Count: s.Count - 1})
	}
	return w.options.Beats
}
