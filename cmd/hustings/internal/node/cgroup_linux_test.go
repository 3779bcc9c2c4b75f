package node

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The directory of a control group is where the tree of version 2 is mounted, without what the mount leaves out.
func TestTheDirectoryOfAControlGroupIsFound(t *testing.T) {
	const (
		first   = "25 21 0:22 / /sys/fs/cgroup/memory rw,nosuid shared:4 - cgroup cgroup rw,memory\n"
		second  = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
		inside  = "31 24 0:26 /pod/a /sys/fs/cgroup ro - cgroup2 cgroup ro\n"
		another = "32 24 0:26 /other /mnt rw - cgroup2 cgroup rw\n"
	)
	for _, c := range []struct{ groups, mounts, directory string }{
		{"0::/user/one\n", first + second, "/sys/fs/cgroup/user/one"},
		{"4:memory:/user\n0::/\n", second, "/sys/fs/cgroup"},
		{"0::/pod/a/b\n", another + inside, "/sys/fs/cgroup/b"},
		{"0::/user\n", first, ""},
		{"0::/user\n", another, ""},
		{"4:memory:/user\n", second, ""},
		{"0::/user\n", "30 24 0:26 / - cgroup2 cgroup2 rw\n", ""},
		{"", second, ""},
	} {
		assert.Equal(t, c.directory, cgroupDirectory(c.groups, c.mounts), "%q %q", c.groups, c.mounts)
	}
}
