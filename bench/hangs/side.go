// The compared libraries, each with its configurations.

package hangs

import "github.com/hustings/hustings/bench/adapter/etcd"

// Side is a library with a configuration.
type Side struct {
	Name  string
	Found Founder
	// Watchdog says that the application watches each member, see watch.
	Watchdog bool
}

const (
	own       = "ours"
	unvouched = own + " without Vouch"
	watched   = ", watchdog"
	hashicorp = "hashicorp/raft 1.8"
	// Dragonboat is run by the program bubble, because it is a module of its own.
	Dragonboat = "dragonboat 4"
)

// sides are those that need no module of their own.
var sides = []Side{
	{Name: own, Found: foundOurs(Detection)},
	{Name: unvouched, Found: foundOurs(0)},
	{Name: etcd.Newer + ", one loop", Found: foundEtcd(oneLoop)},
	{Name: etcd.Newer + ", as etcd has it", Found: foundEtcd(server)},
	{Name: etcd.Newer + ", as etcd has it" + watched, Found: foundEtcd(server), Watchdog: true},
	{Name: etcd.Newer + ", AsyncStorageWrites", Found: foundEtcd(async)},
	{Name: etcd.Newer + ", AsyncStorageWrites" + watched, Found: foundEtcd(async), Watchdog: true},
	{Name: hashicorp, Found: foundHashicorp},
	{Name: hashicorp + watched, Found: foundHashicorp, Watchdog: true},
}

// With returns a library as it is, and with a watchdog.
func With(name string, found Founder) []Side {
	return []Side{{Name: name, Found: found}, {Name: name + watched, Found: found, Watchdog: true}}
}

// peers are the names of the sides beside which ours stands under a fault. What watches a member is
// stopped with its process, and for a whole engine that hangs no peer has more callbacks to hang.
func peers(f Fault) (names []string) {
	for _, s := range append(sides[1:len(sides):len(sides)], With(Dragonboat, nil)...) {
		if f != AllHangs && (f != ProcessStops || !s.Watchdog && s.Name != unvouched) {
			names = append(names, s.Name)
		}
	}
	return names
}
