// Delta debugging.

package search

import "slices"

// Minimize takes parts away from a list, large ones first, as long as what remains is still good.
func Minimize[T any](items []T, good func([]T) bool) {
	for size := max(len(items), 1); size > 0; size /= 2 {
		for from := 0; from < len(items); {
			without := slices.Delete(slices.Clone(items), from, min(from+size, len(items)))
			if len(without) < len(items) && good(without) {
				items = without
			} else {
				from += size
			}
		}
	}
}
