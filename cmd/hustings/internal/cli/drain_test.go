package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

func TestProgressIsOneLine(t *testing.T) {
	p := elector.Progress{Moved: 7312, Led: 2688}
	p.Stuck[protocol.StuckBehind], p.Stuck[protocol.StuckNoVoter] = 2, 1
	p.Waiting = 2685
	assert.Equal(t, "drained 7,312 of 10,000, 3,656/s, 0.7 s left, 3 stuck: 1 no voter, 2 behind", progressText(&p, p.Moved, 2*time.Second))
	p = elector.Progress{Moved: 3, Led: 3}
	p.Stuck[protocol.StuckBehind] = 3
	assert.Equal(t, "drained 3 of 6, 3 stuck: 3 behind", progressText(&p, 3, 2*time.Second), "nothing is left that time would tell of")
	p.Led = 6
	assert.Equal(t, "drained 3 of 9, 2/s, 2.0 s left, 3 stuck: 3 behind", progressText(&p, 3, 2*time.Second))
	for want, p := range map[string]elector.Progress{
		"drained 0 of 0": {},
		"drained 0 of 5": {Led: 5},
		"drained 5 of 5": {Moved: 5},
		"drained 1,000,000 of 1,000,002, 500,000/s, 0.0 s left": {Moved: 1_000_000, Led: 2},
	} {
		assert.Equal(t, want, progressText(&p, p.Moved, 2*time.Second))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 999_999: "999,999", 1_234_567: "1,234,567"} {
		assert.Equal(t, want, thousands(n))
	}
	assert.Equal(t, "1 group", groupsText(1))
	assert.Equal(t, "2,000 groups", groupsText(2000))
}

func TestGroupsThatAreLeftAreListedWithWhatToDo(t *testing.T) {
	var left []protocol.StuckGroup
	for i := range 12 {
		left = append(left, protocol.StuckGroup{Group: fmt.Sprintf("o%02d", 11-i), Why: protocol.StuckBehind, Tries: 3})
	}
	left = append(left, protocol.StuckGroup{Group: "audit", Why: protocol.StuckNoVoter, Tries: 4})
	p := drainPrinter{address: "n0:7000", now: elector.Progress{Moved: 1000, Led: 1117, Standing: rpc.Standing{State: rpc.Draining}}}
	p.now.Stuck[protocol.StuckBehind], p.now.Stuck[protocol.StuckNoVoter] = 1112, 1
	p.now.Waiting, p.now.Moving = 3, 1
	assert.Equal(t, `n0:7000 has handed over 1,000 groups, and still leads 1,117 groups:
  4 groups to be handed over: wait longer (--wait)
  no voter: audit
    no other voter answers: start another node of the group, or mend the network
  behind: o00, o01, o02, o03, o04, o05, o06, o07, o08, o09 and 1,102 more
    the ledgers of the other voters are behind: wait until they have caught up
It leads these groups until others can take over. To have it serve again: hustings undrain -a n0:7000
`, p.leftText(left))
	var line strings.Builder
	p.out = &line
	p.printLast(assert.AnError, left[11:])
	assert.JSONEq(t, `{"address":"n0:7000","state":"draining","led":1117,"waiting":3,"moving":1,"moved":1000,"stuck":{"behind":1112,"no voter":1},
		"left":[{"group":"o00","reason":"behind","tries":3},{"group":"audit","reason":"no voter","tries":4}],"error":"`+assert.AnError.Error()+`"}`, line.String())
	for why := range protocol.Stucks {
		assert.NotEmpty(t, remedies[why], protocol.Stuck(why))
	}
}

func TestADrainThatFailsIsNoUnfinishedOne(t *testing.T) {
	var out strings.Builder
	p := drainPrinter{out: &out, address: "n0:7000"}
	err := p.end(assert.AnError)
	require.ErrorIs(t, err, assert.AnError)
	assert.NotErrorAs(t, err, new(unfinishedError))
	assert.Empty(t, out.String())
	assert.ErrorAs(t, p.end(&operator.StuckError{}), new(unfinishedError))
	assert.NoError(t, p.end(nil))
	p.out = fullDisk{}
	assert.ErrorAs(t, p.end(&operator.StuckError{}), new(unfinishedError), "that is more important")
	assert.ErrorIs(t, p.end(nil), assert.AnError)
	p.asJSON = true
	p.tick(time.Now())
	assert.ErrorIs(t, p.end(nil), assert.AnError)
}

// Whoever reads the lines misses one, so it does not matter that the later ones could be printed.
func TestALineOfADrainThatCouldNotBePrintedIsAnError(t *testing.T) {
	p := drainPrinter{asJSON: true, out: fullDisk{}}
	p.tick(time.Now())
	p.out = new(strings.Builder)
	p.tick(time.Now())
	assert.ErrorIs(t, p.end(nil), assert.AnError)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, assert.AnError }

func TestProgressIsPrintedForThoseWhoWatch(t *testing.T) {
	var out, lines strings.Builder
	began := time.Now()
	p := drainPrinter{out: &out, lines: &lines, address: "n0:7000", toldAt: began, now: elector.Progress{Moved: 4000, Led: 2000}}
	p.tick(began.Add(2 * time.Second))
	assert.Empty(t, lines.String())
	p.watched = true
	p.tick(began.Add(2 * time.Second))
	assert.Equal(t, "drained 4,000 of 6,000, 2,000/s, 1.0 s left\n", lines.String())
	assert.Empty(t, out.String())
	p.now.Moved, p.now.Led = 5000, 1000
	p.tick(began.Add(4 * time.Second))
	p.tick(began.Add(5 * time.Second))
	assert.Equal(t, "drained 4,000 of 6,000, 2,000/s, 1.0 s left\ndrained 5,000 of 6,000, 500/s, 2.0 s left\ndrained 5,000 of 6,000\n", lines.String(),
		"of the time since the last line")
	p.now.Moved, p.now.Led = 4000, 2000
	p.asJSON = true
	p.tick(began.Add(3 * time.Second))
	assert.JSONEq(t, `{"address":"n0:7000","state":"serving","led":2000,"waiting":0,"moving":0,"moved":4000}`, out.String())
	assert.Equal(t, 3, strings.Count(lines.String(), "\n"))
}

// leading is the address of the leader among nodes, as one of them says.
func leading(t *testing.T, addresses []string) (leader string, others []string) {
	t.Helper()
	for _, line := range succeed(t, "nodes", "-a", addresses[0], "--json") {
		var row nodeRow
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		if *row.Led > 0 {
			leader = row.Address
		} else {
			others = append(others, row.Address)
		}
	}
	require.NotEmpty(t, leader)
	return leader, others
}

func TestANodeIsDrainedAndServesAgain(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	leader, others := leading(t, addresses)
	assert.Equal(t, []string{leader + " leads nothing now: it has handed over 1 group"}, succeed(t, "drain", "-a", leader))
	lines := succeed(t, "nodes", "-a", addresses[0])
	require.Len(t, lines, 4)
	assert.Regexp(t, `^NODE +ADDRESS +STATE +GROUPS +LEADS +INCARNATION +HEARD +REMARKS$`, lines[0])
	at := slices.Index(addresses, leader)
	for i, line := range lines[1:] {
		if i == at {
			assert.Regexp(t, fmt.Sprintf(`^n%d +%s +drained +1 +0 +\d+ +(\d+ms|0s) ago by n\d +drained 1 of 1$`, i, addresses[i]), line)
		} else {
			assert.Regexp(t, fmt.Sprintf(`^n%d +%s +serving +1 +[01] +\d+ +(\d+ms|0s) ago by n\d *$`, i, addresses[i]), line)
		}
	}
	for _, other := range others {
		code, _, _ := run("drain", "-a", other)
		if code != exitOK { // the last one leads
			assert.Equal(t, exitUnfinished, code)
			stuck, stdout, stderr := run("drain", "-a", other, "--json")
			assert.Equal(t, exitUnfinished, stuck)
			assert.Contains(t, stdout, `"left":[{"group":"orders","reason":"all leaving","tries":`)
			assert.Contains(t, stderr, "hustings: "+other+" still leads 1 group, and goes on draining\n")
			_, stdout, _ = run("drain", "-a", other)
			assert.Contains(t, stdout, other+" has handed over 0 groups, and still leads 1 group:\n  all leaving: orders\n")
		}
	}
	assert.Equal(t, []string{fmt.Sprintf("n%d at %s takes its share of leading again", at, leader)}, succeed(t, "undrain", "-a", leader))
	require.Eventually(t, func() bool {
		for _, other := range others {
			if code, _, _ := run("drain", "-a", other); code != exitOK {
				return false
			}
		}
		return true
	}, enough, 10*time.Millisecond, "the others hand over to it")
	now, _ := leading(t, addresses)
	assert.Equal(t, leader, now)
	assert.Contains(t, succeed(t, "undrain", "-a", others[0], "--json")[0], `{"address":"`+others[0]+`","state":"serving",`)
}

func TestANodeIsKeptDrained(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	leader, others := leading(t, addresses)
	at := slices.Index(addresses, leader)
	assert.Equal(t, []string{leader + " leads nothing now, also after a restart: it has handed over 1 group"}, succeed(t, "drain", "-a", leader, "--keep"))
	assert.Regexp(t, ` drained +1 +0 .* drained 1 of 1, also after a restart$`, succeed(t, "nodes", "-a", others[0])[1+at])
	var row nodeRow
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "nodes", "-a", others[0], "--json")[at]), &row))
	assert.True(t, row.Kept)
	assert.True(t, row.Progress.Kept)
	assert.Contains(t, succeed(t, "drain", "-a", leader, "--json")[0], `"kept":true`, "another drain does not end it")
	succeed(t, "undrain", "-a", leader)
	assert.NotContains(t, succeed(t, "nodes", "-a", leader, "--json")[at], "kept")
	assert.NotContains(t, succeed(t, "drain", "-a", leader)[0], "restart")
}

// What is remembered for later processes is shown whatever this one does.
func TestANodeThatIsKeptDrainedSaysWhatThatMeans(t *testing.T) {
	for state, want := range map[rpc.NodeState]string{
		rpc.Serving: "drained after a restart", rpc.Starting: "drained once its engine is ready",
		rpc.Draining: "drained 3 of 3, also after a restart", rpc.Drained: "drained 3 of 3, also after a restart",
	} {
		r, a := nodeRow{}, nodeAnswer{now: operator.Nodes{Progress: elector.Progress{Standing: rpc.Standing{State: state}, Moved: 3, Kept: true}}}
		r.answered(&a)
		assert.Equal(t, want, r.columns()[7])
	}
}

func TestACommandForAnotherProcessIsRefused(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	var row nodeRow
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "nodes", "-a", addresses[1], "--json")[1]), &row))
	assert.Equal(t, "n1", row.Node)
	for _, what := range [][]string{{"drain"}, {"undrain"}, {"protect", "on"}, {"protect", "off"}, {"balance", "on"}, {"balance", "off"}, {"balance", "plan"}} {
		meant := func(incarnation uint64) []string {
			return append(what, "-a", addresses[1], "--incarnation", fmt.Sprint(incarnation))
		}
		stderr := fail(t, exitFailed, meant(row.Incarnation+1)...)
		assert.Contains(t, stderr, fmt.Sprintf(`node "n1" is process %d now, not %d`, row.Incarnation, row.Incarnation+1))
		succeed(t, meant(row.Incarnation)...)
	}
	for _, what := range [][]string{{"protect", "on"}, {"balance", "plan"}} {
		stderr := fail(t, exitUsage, append(what, "-a", addresses[0], "-a", addresses[1], "--incarnation", "7")...)
		assert.Contains(t, stderr, "--incarnation is that of one node, and --address names 2")
	}
}

func TestADrainIsOfOneNode(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"drain", "undrain"} {
		assert.Contains(t, fail(t, exitUsage, what, "-a", "n0:7000", "-a", "n1:7000"), "--address names 2 nodes, want one")
		assert.Contains(t, fail(t, exitUsage, what, "-a", "n0:7000", "--group", "orders"), "unknown flag: --group")
		assert.Contains(t, fail(t, exitUsage, what, "-a", "n0:7000", "--ca", "x"), "TLS needs --tls")
	}
	assert.Contains(t, fail(t, exitUsage, "drain", "--wait", "0s"), "--wait is 0s, want more than 0s")
	assert.Contains(t, fail(t, exitUsage, "drain", "--wait", "-1s"), "--wait is -1s, want more than 0s")
	assert.Contains(t, fail(t, exitUsage, "drain", "-a", "n0:7000", "--in-flight", "0"), "--in-flight is 0, want 1 to 2147483647")
	assert.Contains(t, fail(t, exitUsage, "drain", "-a", "n0:7000", "--in-flight", "2147483648"), "--in-flight is 2147483648, want 1 to 2147483647")
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	assert.Contains(t, fail(t, exitFailed, "drain", "-a", gone[0]), "connection refused")
	assert.Contains(t, fail(t, exitFailed, "undrain", "-a", gone[0]), "connection refused")
	assert.Contains(t, fail(t, exitFailed, "undrain", "-a", hanging(t), "--timeout", "10ms"), "no answer in time")
	assert.Contains(t, fail(t, exitFailed, "drain", "-a", hanging(t), "--timeout", "10ms"), "no answer in time; it drains if it has been told to")
}

func TestADrainThatIsInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	address := hanging(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newDrain()
	cmd.SetArgs([]string{"-a", address})
	cmd.SetOut(new(page))
	cmd.SetErr(new(page))
	time.AfterFunc(10*time.Millisecond, cancel)
	err := cmd.ExecuteContext(ctx)
	require.ErrorAs(t, err, new(unfinishedError))
	assert.EqualError(t, err, "stopped waiting for "+address+", which drains if it has been told to. To have it serve again: hustings undrain -a "+address)
}

// A node that has said that it drains goes on.
func TestADrainThatWasBegunIsInterrupted(t *testing.T) {
	t.Parallel()
	s := &slow{times: 1, hangs: true, asked: make(chan *electorpb.DrainRequest, 1)}
	address := s.at(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newDrain()
	cmd.SetArgs([]string{"-a", address, "--json"})
	cmd.SetErr(new(page))
	cmd.SetOut(begun(cancel))
	err := cmd.ExecuteContext(ctx)
	require.ErrorAs(t, err, new(unfinishedError))
	assert.EqualError(t, err, "stopped waiting for "+address+", which goes on draining. To have it serve again: hustings undrain -a "+address)
}

// begun is a reader of output who has seen enough at the first line.
type begun func()

func (b begun) Write(p []byte) (int, error) {
	b()
	return len(p), nil
}

// A node that does not answer is shown as the others know it, and nobody is shown twice.
func TestNodesThatDoNotAnswerAreShown(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	code, stdout, stderr := run("nodes", "-a", addresses[0], "-a", addresses[2], "-a", hanging(t), "--timeout", "1s")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "1 of 3 nodes did not answer")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 5)
	assert.Regexp(t, `^- +127\.0\.0\.1:\d+ +- +- +- +- +- +no answer in time$`, lines[1])

	silence := 3 * time.Second
	peer := func(id string, known bool, heard time.Duration) operator.Peer {
		p := operator.Peer{Peer: protocol.Peer{ID: id, Known: known, Heard: heard > 0, Silence: heard, Lost: true, Follow: 4, Lead: 5}, Address: id + ":7000"}
		if id == "n2" {
			p.Address = ""
		}
		p.Standing.State = rpc.Drained
		return p
	}
	answers := []nodeAnswer{
		{address: "10.0.0.1:7000", now: operator.Nodes{Self: "n0", Groups: 2000, Incarnation: 7, Peers: []operator.Peer{peer("n1", true, silence), peer("n2", false, 0)}}},
		{address: "n0:7000", now: operator.Nodes{Self: "n0"}},
		{address: "n1:7000", err: fmt.Errorf("n1:7000: %w", assert.AnError)},
		{address: "n3:7000", now: operator.Nodes{Self: "n3", Peers: []operator.Peer{peer("n1", false, 2*silence), peer("n2", false, 0)}}},
	}
	assert.Empty(t, unasked(answers))
	assert.Equal(t, []string{"n1:7000"}, unasked(answers[:1]))
	assert.Equal(t, []string{"n1:7000"}, unasked([]nodeAnswer{answers[0], answers[3]}), "once")
	elsewhere := nodeAnswer{now: operator.Nodes{Self: "n4", Peers: []operator.Peer{peer("n3", true, 0), peer("n0", true, 0), peer("n1", true, 0)}}}
	assert.Equal(t, []string{"n1:7000", "n3:7000"}, unasked([]nodeAnswer{elsewhere, answers[0]}), "n0 has answered at another address")
	var table, text strings.Builder
	require.NoError(t, printNodes(&table, nodeRows(answers), false))
	assert.Equal(t, `NODE  ADDRESS        STATE    GROUPS  LEADS  INCARNATION  HEARD         REMARKS
n0    10.0.0.1:7000  serving  2,000   0      7            -             
n1    n1:7000        drained  -       -      -            3s ago by n0  `+assert.AnError.Error()+`
n2    -              -        -       -      -            -             its address is not known
n3    n3:7000        serving  0       0      0            -             
`, table.String())
	require.NoError(t, printNodes(&text, nodeRows(answers), true))
	lines = strings.Split(text.String(), "\n")
	assert.JSONEq(t, `{"node":"n0","address":"10.0.0.1:7000","state":"serving","groups":2000,"led":0,"incarnation":7}`, lines[0])
	assert.JSONEq(t, `{"node":"n1","address":"n1:7000","state":"drained","error":"`+assert.AnError.Error()+`","heard_by":[
		{"node":"n0","state":"drained","silence_nanos":3000000000,"lost":true,"follow":4,"lead":5},
		{"node":"n3","silence_nanos":6000000000,"lost":true,"follow":4,"lead":5}]}`, lines[1])
	assert.ErrorIs(t, printNodes(fullDisk{}, nodeRows(answers), true), assert.AnError)
	assert.ErrorIs(t, printNodes(fullDisk{}, nodeRows(answers), false), assert.AnError)
}

// What a drain has done is shown for as long as it goes on.
func TestANodeThatDrainsSaysHowFarItIs(t *testing.T) {
	r := nodeRow{}
	a := nodeAnswer{now: operator.Nodes{Progress: elector.Progress{Standing: rpc.Standing{State: rpc.Draining}, Moved: 4000, Led: 6, Waiting: 1, Moving: 2}}}
	a.now.Progress.Stuck[protocol.StuckBehind] = 3
	r.answered(&a)
	assert.Equal(t, "drained 4,000 of 4,006, 3 stuck", r.columns()[7])
	a.now.Progress.Standing.State = rpc.Serving
	r = nodeRow{}
	r.answered(&a)
	assert.Empty(t, r.columns()[7])
}
