// The services of all leases of a keeper, judged by one function.
//
// A process with many leases often knows in one place which of its services cannot work. The keeper asks
// that function once a Renew, whatever the number of leases. A candidate is not able to lead with the
// leases that it names; and with none of them if it does not return within a TTL.

package protocol

import (
	"slices"
	"time"
)

// judge is a keeper's knowledge of that function.
type judge struct {
	never  bool          // there is no such function
	asking bool          // it has not answered
	asked  time.Duration // when it was asked last
	looked time.Duration // when the keeper last looked whether it had to be asked
	named  []string      // in its last answer, sorted
}

// judgeAll asks which services cannot work, if that is due. If the keeper has not looked for long, the process
// may have stood still, and the function with it. Then it has some time left, unless it was overdue before.
func (k *Keeper) judgeAll() {
	j, t := &k.judge, &k.rules.Timing
	if j.never || len(k.sessions) == 0 {
		return
	}
	if lasts := t.TTL / 2; j.asking && k.now-j.looked > lasts && j.looked-j.asked <= t.TTL {
		j.asked = max(j.asked, k.now-lasts)
	}
	j.looked = k.now
	if j.asking || j.asked != 0 && k.now-j.asked < t.Renew {
		return
	}
	if j.asking = k.fx.AskStalled(t.TTL); !j.asking {
		j.never = true
		return
	}
	j.asked = max(k.now, 1)
}

// judged notes which services cannot work. All others can. The names are copied, because the function may use its
// list again.
func (k *Keeper) judged(stalled []string) {
	k.judge.asking, k.judge.named = false, slices.Sorted(slices.Values(stalled))
	for _, s := range k.sessions {
		k.lookAt(s)
	}
}

// overdue says that the function has not returned for longer than a TTL.
func (j *judge) overdue(now, ttl time.Duration) bool { return j.asking && now-j.asked > ttl }

// begins forgets an answer from before the keeper rested, unless it still counts: the function is asked again soon.
func (j *judge) begins(now, renew time.Duration) {
	if now-j.asked >= renew {
		j.named = nil
	}
}

// names says whether the last answer named a service. Its lease may have joined since.
func (j *judge) names(name string) bool {
	_, named := slices.BinarySearch(j.named, name)
	return named
}
