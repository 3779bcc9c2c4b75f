// The events of a world.

package leases

// event is something that happens.
type event struct {
	whose  *candidate // nil: the world as a whole
	number int        // of the incarnation that it happens to; 0: to any
	do     func()
}
