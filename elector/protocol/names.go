// Names of reasons, judgements and phases, for logs and metrics.

package protocol

// named is the name of a value; what is beyond the list is unknown.
func named[T ~uint8](names []string, value T, unknown string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return unknown
}
