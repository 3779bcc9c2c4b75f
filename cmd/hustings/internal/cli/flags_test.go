// What flags set: each of them one thing, and nothing else.

package cli

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/cmd/hustings/internal/stress"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/explore/nodes"
)

// eachSets parses each of the flags by itself. Without a flag a command has its usual settings, and a flag sets what it sets and
// nothing else. All flags of the command must be there.
func eachSets[T any](t *testing.T, command func(*T) *cobra.Command, usual T, sets map[string]func(*T)) {
	t.Helper()
	var none T
	untried := map[string]bool{}
	command(&none).LocalFlags().VisitAll(func(f *pflag.Flag) { untried[f.Name] = true })
	assert.Equal(t, usual, none, "without flags")
	for flag, set := range sets {
		var given T
		require.NoError(t, command(&given).ParseFlags([]string{"--" + flag}), flag)
		want := usual
		set(&want)
		assert.Equal(t, want, given, flag)
		name, _, _ := strings.Cut(flag, "=")
		delete(untried, name)
	}
	assert.Empty(t, untried, "these are not tried")
}

func TestEachFlagOfStressSetsOneThing(t *testing.T) {
	usual := stressFlags{Options: stress.Options{Groups: 10_000, Nodes: 3, Idle: 10 * time.Second, Kill: true, Timing: elector.DefaultTiming()}, nodeBeats: true}
	usual.Timing.Leak = 10
	eachSets(t, (*stressFlags).command, usual, map[string]func(*stressFlags){
		"groups=11":        func(f *stressFlags) { f.Groups = 11 },
		"nodes=5":          func(f *stressFlags) { f.Nodes = 5 },
		"for=7s":           func(f *stressFlags) { f.Idle = 7 * time.Second },
		"kill=false":       func(f *stressFlags) { f.Kill = false },
		"tcp":              func(f *stressFlags) { f.TCP = true },
		"heartbeat=20ms":   func(f *stressFlags) { f.Timing.Heartbeat = 20 * time.Millisecond },
		"leak=6":           func(f *stressFlags) { f.Timing.Leak = 6 },
		"leases":           func(f *stressFlags) { f.Leases = true },
		"node-beats=false": func(f *stressFlags) { f.nodeBeats = false },
		"json":             func(f *stressFlags) { f.asJSON = true },
	})
}

// worldWith is a world as the flags describe it that are not given, except for strict, which differs.
func worldWith(strict string) worldFlags {
	return worldFlags{kind: votingWorld, timing: mixed, faults: "all", leak: mixed, leases: mixed, preVote: mixed, ranks: mixed, strict: strict, careless: "off"}
}

// inWorld adds the flags that describe a world to those of a command.
func inWorld[T any](world func(*T) *worldFlags, sets map[string]func(*T)) map[string]func(*T) {
	for flag, set := range map[string]func(*worldFlags){
		"world=lease":      func(f *worldFlags) { f.kind = leaseWorld },
		"members=3,5":      func(f *worldFlags) { f.members = []int{3, 5} },
		"groups=1,64":      func(f *worldFlags) { f.groups = []int{1, 64} },
		"duration=7s":      func(f *worldFlags) { f.duration = 7 * time.Second },
		"timing=dledger":   func(f *worldFlags) { f.timing = "dledger" },
		"leak=7":           func(f *worldFlags) { f.leak = "7" },
		"leases":           func(f *worldFlags) { f.leases = "on" },
		"pre-vote=off":     func(f *worldFlags) { f.preVote = "off" },
		"ranks":            func(f *worldFlags) { f.ranks = "on" },
		"strict":           func(f *worldFlags) { f.strict = "on" },
		"faults=network":   func(f *worldFlags) { f.faults = "network" },
		"careless":         func(f *worldFlags) { f.careless = "on" },
		"careless=overlap": func(f *worldFlags) { f.careless = "overlap" },
	} {
		sets[flag] = func(f *T) { set(world(f)) }
	}
	return sets
}

func TestEachFlagOfSimSetsOneThing(t *testing.T) {
	usual := simFlags{world: worldWith(mixed), seeds: 8000, out: "."}
	world := func(f *simFlags) *worldFlags { return &f.world }
	eachSets(t, (*simFlags).command, usual, inWorld(world, map[string]func(*simFlags){
		"seeds=11":      func(f *simFlags) { f.seeds = 11 },
		"first=12":      func(f *simFlags) { f.first = 12 },
		"shard=1/3":     func(f *simFlags) { f.shard = shardFlag{1, 3} },
		"until-failure": func(f *simFlags) { f.untilFailure = true },
		"guided":        func(f *simFlags) { f.guided = true },
		"shell":         func(f *simFlags) { f.shell = true },
		"seed=13":       func(f *simFlags) { f.seed = 13 },
		"json":          func(f *simFlags) { f.asJSON = true },
		"out=there":     func(f *simFlags) { f.out = "there" },
	}))
}

func TestEachFlagOfReplaySetsOneThing(t *testing.T) {
	usual := replayFlags{world: worldWith("off"), group: none}
	world := func(f *replayFlags) *worldFlags { return &f.world }
	eachSets(t, (*replayFlags).command, usual, inWorld(world, map[string]func(*replayFlags){
		"seed=13":        func(f *replayFlags) { f.seed = 13 },
		"branch=3.5s:17": func(f *replayFlags) { f.branches = []simulation.Branch{{At: 3500 * time.Millisecond, Seed: 17}} },
		"group=2":        func(f *replayFlags) { f.group = 2 },
		"html=file":      func(f *replayFlags) { f.html = "file" },
		"text":           func(f *replayFlags) { f.text = true },
		"step":           func(f *replayFlags) { f.step = true },
	}))
}

func TestEachFlagOfExploreSetsOneThing(t *testing.T) {
	usual := exploreFlags{
		options: explore.Options{Bounds: explore.Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1}, Workers: runtime.GOMAXPROCS(0)},
		budgets: explore.Budgets{InFlight: 3, Restarts: 1, Inabilities: 3}, features: features, out: ".",
	}
	eachSets(t, (*exploreFlags).command, usual, map[string]func(*exploreFlags){
		"members=2":                func(f *exploreFlags) { f.options.Members = 2 },
		"terms=7":                  func(f *exploreFlags) { f.options.Terms = 7 },
		"rounds=6":                 func(f *exploreFlags) { f.options.Beats = 6 },
		"ledger=5":                 func(f *exploreFlags) { f.options.Entries = 5 },
		"leak=4":                   func(f *exploreFlags) { f.options.Leak = 4 },
		"lag=2":                    func(f *exploreFlags) { f.options.Lag = 2 },
		"features=pre-vote,pauses": func(f *exploreFlags) { f.features = []string{"pre-vote", "pauses"} },
		"live":                     func(f *exploreFlags) { f.live = true },
		"in-flight=9":              func(f *exploreFlags) { f.budgets.InFlight = 9 },
		"drops=2":                  func(f *exploreFlags) { f.budgets.Drops = 2 },
		"duplicates=2":             func(f *exploreFlags) { f.budgets.Duplicates = 2 },
		"restarts=2":               func(f *exploreFlags) { f.budgets.Restarts = 2 },
		"inabilities=2":            func(f *exploreFlags) { f.budgets.Inabilities = 2 },
		"workers=77":               func(f *exploreFlags) { f.options.Workers = 77 },
		"max-states=9":             func(f *exploreFlags) { f.options.MaxStates = 9 },
		"memory=8":                 func(f *exploreFlags) { f.memory = 8 },
		"checkpoint=file":          func(f *exploreFlags) { f.options.Checkpoint = "file" },
		"out=there":                func(f *exploreFlags) { f.out = "there" },
		"json":                     func(f *exploreFlags) { f.asJSON = true },
	})
}

func TestEachFlagOfExploreBeatsSetsOneThing(t *testing.T) {
	usual := beatsFlags{options: nodes.Options{Bounds: nodes.Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4}}}
	eachSets(t, (*beatsFlags).command, usual, map[string]func(*beatsFlags){
		"members=3":           func(f *beatsFlags) { f.options.Members = 3 },
		"groups=2":            func(f *beatsFlags) { f.options.Groups = 2 },
		"terms=4":             func(f *beatsFlags) { f.options.Terms = 4 },
		"moments=6":           func(f *beatsFlags) { f.options.Moments = 6 },
		"calm=5":              func(f *beatsFlags) { f.options.Calm = 5 },
		"ends=1":              func(f *beatsFlags) { f.options.Ends = 1 },
		"inabilities=1":       func(f *beatsFlags) { f.options.Inabilities = 1 },
		"waits=1":             func(f *beatsFlags) { f.options.Waits = 1 },
		"slow-disks=1":        func(f *beatsFlags) { f.options.SlowDisks = 1 },
		"changes=1":           func(f *beatsFlags) { f.options.Changes = 1 },
		"leavings=1":          func(f *beatsFlags) { f.options.Leavings = 1 },
		"leader-restarts=1":   func(f *beatsFlags) { f.options.LeaderRestarts = 1 },
		"follower-restarts=1": func(f *beatsFlags) { f.options.FollowerRestarts = 1 },
		"max-states=9":        func(f *beatsFlags) { f.options.MaxStates = 9 },
		"json":                func(f *beatsFlags) { f.asJSON = true },
	})
}

func TestEachFlagOfServeSetsOneThing(t *testing.T) {
	usual := serveFlags{Config: node.Config{Group: "demo", Timing: "default"}, drainWait: node.DefaultDrainWait, log: "text"}
	usual.tls.chosen = "--node names another"
	eachSets(t, (*serveFlags).command, usual, map[string]func(*serveFlags){
		"config=file":      func(f *serveFlags) { f.file = "file" },
		"node=n0":          func(f *serveFlags) { f.Node = "n0" },
		"lease=url":        func(f *serveFlags) { f.Lease = "url" },
		"name=jobs":        func(f *serveFlags) { f.Name = "jobs" },
		"ttl=7s":           func(f *serveFlags) { f.TTL = 7 * time.Second },
		"strict":           func(f *serveFlags) { f.Strict = true },
		"group=orders":     func(f *serveFlags) { f.Group = "orders" },
		"members=n0=h:1":   func(f *serveFlags) { f.members = []string{"n0=h:1"} },
		"observers=n0=h:1": func(f *serveFlags) { f.observers = []string{"n0=h:1"} },
		"listen=h:2":       func(f *serveFlags) { f.Listen = "h:2" },
		"data=there":       func(f *serveFlags) { f.Data = "there" },
		"new":              func(f *serveFlags) { f.New = true },
		"new=if-missing":   func(f *serveFlags) { f.NewIfMissing = true },
		"tls=there":        func(f *serveFlags) { f.tls.dir = "there" },
		"ca=file":          func(f *serveFlags) { f.tls.ca = "file" },
		"cert=file":        func(f *serveFlags) { f.tls.cert = "file" },
		"key=file":         func(f *serveFlags) { f.tls.key = "file" },
		"trust-network":    func(f *serveFlags) { f.TrustNetwork = true },
		"http=h:3":         func(f *serveFlags) { f.HTTP = "h:3" },
		"drain-wait=7s":    func(f *serveFlags) { f.drainWait = 7 * time.Second },
		"leases":           func(f *serveFlags) { f.Leases = true },
		"preferred=n1,n2":  func(f *serveFlags) { f.Preferred = []string{"n1", "n2"} },
		"timing=dledger":   func(f *serveFlags) { f.Timing = "dledger" },
		"exec=true":        func(f *serveFlags) { f.Exec = "true" },
		"alive=true":       func(f *serveFlags) { f.Alive = "true" },
		"notify":           func(f *serveFlags) { f.Notify = true },
		"vouch=7s":         func(f *serveFlags) { f.Vouch = 7 * time.Second },
		"local=3":          func(f *serveFlags) { f.local = 3 },
		"json":             func(f *serveFlags) { f.asJSON = true },
		"verbose":          func(f *serveFlags) { f.verbose = true },
		"log=json":         func(f *serveFlags) { f.log = "json" },
	})
}
