package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	voting "github.com/hustings/hustings/elector/protocol"
)

// judged is a keeper whose process has a function that judges all services, or has none.
type judged struct {
	roulette
	keeper *Keeper
	has    bool
	asked  int
	within time.Duration
	now    time.Duration
}

func (j *judged) AskStalled(within time.Duration) bool {
	j.asked++
	j.within = within
	return j.has
}

func newJudged(has bool) *judged {
	j := &judged{roulette: roulette{random: rand.New(rand.NewPCG(1, 1))}, keeper: NewKeeper(Rules{ID: "me", Timing: timing, Limits: DefaultLimits()}), has: has, now: time.Hour}
	for _, name := range []string{"a", "b"} {
		j.keeper.Step(j.now, Enter{Name: name}, j)
	}
	return j
}

// after lets time pass in ticks, as long as the last one, and returns the abilities of both.
func (j *judged) after(d time.Duration) (a, b Inability) {
	step := timing.Renew / 4
	for ; d > step; d -= step {
		j.now += step
		j.keeper.Step(j.now, Tick{}, j)
	}
	return j.stoodStill(d)
}

// stoodStill lets time pass in one tick.
func (j *judged) stoodStill(d time.Duration) (a, b Inability) {
	j.now += d
	j.keeper.Step(j.now, Tick{}, j)
	return j.keeper.sessions[0].view.Inability, j.keeper.sessions[1].view.Inability
}

func (j *judged) says(names ...string) (a, b Inability) {
	j.keeper.Step(j.now, Stalled{Names: names}, j)
	return j.keeper.sessions[0].view.Inability, j.keeper.sessions[1].view.Inability
}

func TestOneFunctionJudgesAllServices(t *testing.T) {
	j := newJudged(true)
	j.after(0)
	assert.Equal(t, 1, j.asked, "it is asked once for all leases")
	assert.Equal(t, timing.TTL, j.within)
	a, b := j.says("b", "unknown", "b")
	assert.Equal(t, voting.Able, a)
	assert.Equal(t, voting.NotAbleUnhealthy, b)
	j.after(timing.Renew - 1)
	assert.Equal(t, 1, j.asked)
	j.after(1)
	assert.Equal(t, 2, j.asked, "once a Renew")
	a, b = j.says("a")
	assert.Equal(t, voting.NotAbleUnhealthy, a)
	assert.Equal(t, voting.NotAbleHold, b, "it is named no more")
}

// A service that cannot work from the start must not lead first.
func TestANewKeeperAsksItsJudgeAtOnce(t *testing.T) {
	j := &judged{roulette: roulette{random: rand.New(rand.NewPCG(1, 1))}, keeper: NewKeeper(Rules{ID: "me", Timing: timing, Limits: DefaultLimits()}), has: true}
	j.keeper.Step(0, Enter{Name: "a"}, j)
	j.keeper.Step(0, Tick{}, j)
	assert.Equal(t, 1, j.asked)
	j.keeper.Step(0, Stalled{}, j)
	j.keeper.Step(timing.Renew-1, Tick{}, j)
	assert.Equal(t, 1, j.asked, "the first question counts like all others")
	j.keeper.Step(timing.Renew+1, Tick{}, j)
	assert.Equal(t, 2, j.asked)
}

// What the judge said last holds for a lease that joins before it is asked again, or its service would lead first.
func TestALeaseThatJoinsIsJudgedByTheLastAnswer(t *testing.T) {
	j := newJudged(true)
	j.after(0)
	names := []string{"d", "c"}
	j.says(names...)
	clear(names) // the function uses its list again
	for _, name := range []string{"c", "d", "e"} {
		j.keeper.Step(j.now, Enter{Name: name}, j)
	}
	j.after(1)
	assert.Equal(t, 1, j.asked)
	var shown []Inability
	for _, s := range j.keeper.sessions {
		shown = append(shown, s.view.Inability)
	}
	assert.Equal(t, []Inability{voting.Able, voting.Able, voting.NotAbleUnhealthy, voting.NotAbleUnhealthy, voting.Able}, shown)
}

// While a keeper has no leases it does not ask, so what the judge said before holds only for a Renew.
func TestAKeeperThatRestedForgetsWhatItsJudgeSaid(t *testing.T) {
	for rested, want := range map[time.Duration]Inability{
		timing.Renew - 1: voting.NotAbleUnhealthy,
		timing.Renew:     voting.Able,
	} {
		j := newJudged(true)
		j.after(0)
		j.says("a")
		for _, name := range []string{"a", "b"} {
			j.keeper.Step(j.now, Retire{Name: name}, j)
		}
		assert.Empty(t, j.keeper.sessions)
		j.now += rested
		for _, name := range []string{"a", "b"} {
			j.keeper.Step(j.now, Enter{Name: name}, j)
		}
		a, _ := j.stoodStill(0)
		assert.Equal(t, want, a, "%v", rested)
	}
}

func TestAJudgeThatDoesNotReturnMakesAllUnable(t *testing.T) {
	j := newJudged(true)
	j.after(0)
	a, b := j.after(timing.TTL)
	assert.Equal(t, [2]Inability{voting.Able, voting.Able}, [2]Inability{a, b})
	a, b = j.after(1)
	assert.Equal(t, [2]Inability{voting.NotAbleSilent, voting.NotAbleSilent}, [2]Inability{a, b})
	a, _ = j.stoodStill(time.Hour)
	assert.Equal(t, voting.NotAbleSilent, a, "it was overdue before")
	assert.Equal(t, 1, j.asked, "it is not asked again before it has answered")
	a, b = j.says()
	assert.Equal(t, [2]Inability{voting.NotAbleHold, voting.NotAbleHold}, [2]Inability{a, b})
}

// If the process has not run for a while, the function has not either.
func TestAProcessThatStoodStillWaitsForItsJudge(t *testing.T) {
	j := newJudged(true)
	j.after(0)
	a, _ := j.stoodStill(time.Hour)
	assert.Equal(t, voting.Able, a)
	a, _ = j.after(timing.TTL / 2)
	assert.Equal(t, voting.Able, a)
	a, _ = j.after(1)
	assert.Equal(t, voting.NotAbleSilent, a)
}

func TestAKeeperWithoutAJudgeAsksOnce(t *testing.T) {
	j := newJudged(false)
	a, _ := j.after(time.Hour)
	assert.Equal(t, voting.Able, a)
	assert.Equal(t, 1, j.asked)
}

// A verdict that comes late counts: a service that it names cannot work, and is not only on hold like the others.
func TestALateVerdictCounts(t *testing.T) {
	j := newJudged(true)
	j.after(0)
	j.after(timing.TTL + 1)
	a, b := j.says("b")
	assert.Equal(t, [2]Inability{voting.NotAbleHold, voting.NotAbleUnhealthy}, [2]Inability{a, b})
}
