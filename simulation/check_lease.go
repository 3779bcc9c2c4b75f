// Leases: at any instant of true time at most one node holds one.

package simulation

// leased looks at a lease that was just extended.
func (c *checker) leased(n *node) {
	c.counts[OneLease]++
	for i := range c.world.nodes {
		o := &c.world.nodes[i]
		if o != n && o.lease.term != 0 && o.lease.until > c.world.now && n.lease.until > c.world.now {
			c.violated(OneLease, n, "it holds a lease in term %d until %d, and n%d one in term %d until %d",
				n.lease.term, n.lease.until, o.index, o.lease.term, o.lease.until)
		}
	}
}
