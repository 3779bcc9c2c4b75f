// Tests of the conformance tests: decisions that DLedger did not take must conform to nothing, and
// decisions that it would take in rounds that were never recorded must conform like recorded ones.

package protocol

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An outcome that was tampered with agrees with nothing, and nothing excuses it.
func TestATamperedVectorConformsToNothing(t *testing.T) {
	outcomes := map[string][]string{
		"voteround":      {"PASSED", "REVOTE_IMMEDIATELY", "WAIT_TO_REVOTE", "WAIT_TO_VOTE_NEXT"},
		"heartbeatround": {"QUORUM_OK", "RESEND_NOW", "STEP_DOWN_LARGER_TERM", "STEP_DOWN_SAME_TERM", "WAIT_NEXT_INTERVAL"},
	}
	for _, d := range []decisions{voteRounds, beatRounds} {
		for line, v := range readVectors(t, d.kind) {
			if d.kind == "voteround" && !v.Voted {
				continue
			}
			for _, outcome := range outcomes[d.kind] {
				for _, wait := range []string{"unchanged", "base", "base+leak*heartbeat"} {
					other := *v
					if other.Outcome, other.NextVote = outcome, wait; d.kind != "voteround" {
						other.NextVote = v.NextVote
					}
					if other.Outcome == v.Outcome && other.NextVote == v.NextVote {
						continue
					}
					c := new(trial)
					if judged := d.replay(c, &other); len(c.problems) == 0 {
						t.Fatalf("%s, line %d: %s, %s passes as %q\n%s", d.kind, line+1, outcome, wait, judged, v.text)
					}
				}
			}
		}
	}
}

// That a round was lost early excuses only a difference that it has caused.
func TestConformanceExcusesForACause(t *testing.T) {
	falsified := 0
	for line, v := range readVectors(t, "voteround") {
		for _, outcome := range []string{"PASSED", "REVOTE_IMMEDIATELY", "WAIT_TO_REVOTE", "WAIT_TO_VOTE_NEXT"} {
			other := *v
			if other.Outcome = outcome; v.Voted && outcome != v.Outcome {
				falsified++
				assert.False(t, other.lostEarly(), "line %d, %s", line+1, outcome)
			}
		}
	}
	assert.NotZero(t, falsified)
}

// Rounds that were never recorded, judged by DLedger's rule.
func TestConformanceOfRoundsThatWereNotRecorded(t *testing.T) {
	random, found := rand.New(rand.NewPCG(1, 2)), map[verdict]int{}
	for round := range 4000 {
		v, c := drawRound(random), new(trial)
		judged := voteRounds.replay(c, v)
		if len(c.problems) > 0 {
			t.Fatalf("round %d, as %q: %s\n%+v", round, judged, c.problems[0], v)
		}
		found[judged]++
	}
	for _, judged := range []verdict{agrees, agreesInOrder, byD2, byD5, byD6Passed, byD6Lost, byD21} {
		assert.Positive(t, found[judged], judged)
	}
	t.Log(found)
}

// drawRound draws a round of votes, and lets DLedger's rule judge it.
func drawRound(random *rand.Rand) *vector {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	self, all := "n0", "allBeforeDecision"
	v := &vector{
		Voted: true, Peers: 2 + random.IntN(4), Arrival: pick(all, "ordered"), SelfVote: &dledgerAnswer{VoteResult: "ACCEPT"},
		State: dledgerState{
			Role: "CANDIDATE", LastParseResult: pick("WAIT_TO_REVOTE", "WAIT_TO_VOTE_NEXT", "REVOTE_IMMEDIATELY", "PASSED"),
			CurrTerm: 5, KnownMaxTermInGroup: random.IntN(8), LedgerEndTerm: 3, LedgerEndIndex: 10,
		},
	}
	if v.State.LastParseResult == "REVOTE_IMMEDIATELY" || random.IntN(2) == 0 {
		v.State.CurrVoteFor = &self
	}
	v.VoteRequest = &dledgerRequest{Term: v.asks()}
	for i := 1; i < v.Peers; i++ {
		v.Responses = append(v.Responses, dledgerAnswer{From: "n" + strconv.Itoa(i), Term: v.asks() + random.IntN(3), Result: pick(
			"ACCEPT", "ACCEPT", "REJECT_TERM_NOT_READY", "REJECT_EXPIRED_VOTE_TERM", "REJECT_ALREADY_HAS_LEADER", "REJECT_EXPIRED_LEDGER_TERM",
			"REJECT_SMALL_LEDGER_END_INDEX", "REJECT_TERM_SMALL_THAN_LEDGER", "REJECT_ALREADY_VOTED", "EXCEPTION", "NEVER",
		)})
	}
	if v.Arrival != all {
		seen := v.untilLatch()
		v.PeerResponsesSeen = &seen
	}
	p := v.whole()
	judged := p.byDLedger(v.quorum())
	v.Outcome, v.NextVote = judged.String(), p.waitsByDLedger(judged)
	v.After, v.Persisted = v.State, &struct{ CurrTerm int }{}
	v.After.CurrTerm, v.After.CurrVoteFor, v.After.KnownMaxTermInGroup = p.asked, &self, max(v.State.KnownMaxTermInGroup, p.told)
	if judged == Passed {
		v.After.Role, v.After.LeaderID = "LEADER", &self
	}
	return v
}

// untilLatch is how many answers DLedger waits for if they come one by one.
func (v *vector) untilLatch() int {
	p, quorum := v.blank(), v.quorum()
	came := v.orders()[0]
	for i, a := range came {
		if p.hasLeader || p.accepted >= quorum || p.accepted+p.notReady >= quorum {
			return i
		}
		if resultOf(a.Result) != 0 {
			p.count(a)
		}
	}
	return len(came)
}

// The recorded rounds confirm it: as many answers were seen wherever they came one by one.
func TestConformanceKnowsHowLongDLedgerWaits(t *testing.T) {
	for line, v := range readVectors(t, "voteround") {
		if v.Voted && v.Arrival == "ordered" {
			assert.Equal(t, *v.PeerResponsesSeen, v.untilLatch(), "line %d", line+1)
		}
	}
}
