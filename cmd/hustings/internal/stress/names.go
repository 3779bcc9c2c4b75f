// The names of groups and nodes, from which their numbers can be read: for a million groups that costs less
// than a map.

package stress

import (
	"fmt"
	"strconv"
)

// maxGroups keeps names short, and fits into the memory of few machines.
const maxGroups = 9_999_999

const groupPrefix, nodePrefix = "group-", "n"

func groupNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf(groupPrefix+"%07d", i)
	}
	return names
}

func nodeNames(count int) (names []string) {
	for i := range count {
		names = append(names, nodePrefix+strconv.Itoa(i))
	}
	return names
}

// numberIn returns the number at the end of a name.
func numberIn(name, prefix string) int {
	n, _ := strconv.Atoi(name[len(prefix):]) // made by the functions above
	return n
}
