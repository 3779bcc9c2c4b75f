// The known faults of DLedger's own election, by numbers, and the mutants that build them into this one. docs/dledger.md
// says what prevents each, and which tests show it.

package main

import (
	"fmt"
	"slices"
	"strings"
)

// dledgerFault is one of them.
type dledgerFault struct {
	number int
	what   string
	// mutants are those that have it; why gives the reason if there are none.
	mutants []string
	why     string
}

var dledgerFaults = []dledgerFault{
	{1, "a save that fails is not noticed, and the vote is given", []string{"failed-save-swallowed"}, ""},
	{2, "votes are not synced", []string{"store-not-synced"}, ""},
	{3, "the file of a vote is replaced without care", []string{"new-file-not-synced", "rename-not-synced"}, ""},
	{4, "a member leads a term twice", []string{"restart-in-the-same-term", "term-regained-with-its-quorum"}, ""},
	{5, "any term is believed", []string{"impossible-term-believed"}, ""},
	{6, "the engine's ledger may move back", []string{"ledger-moves-back"}, ""},
	{7, "a leader that has lost its quorum goes on for a while", []string{"leader-never-steps-down", "lapsed-lease-goes-on", "voters-not-sticky"}, ""},
	{8, "the ledger is compared before the term", []string{"ledger-checked-before-the-term"}, ""},
	{9, "a member with a larger term is not taken in", []string{"accused-leader-does-nothing"}, ""},
	{10, "any larger term deposes a leader", []string{"plain-requests-depose", "pre-vote-despite-a-leader", "pre-vote-changes-state"}, ""},
	{11, "the first candidate asks in the term that is over", []string{"asks-in-the-old-term"}, ""},
	{12, "a lost round waits for silent voters", []string{"silent-peer-waited-for"}, ""},
	{13, "a candidate that asks does not take a larger term", []string{"busy-candidate-keeps-its-term"}, ""},
	{14, "a leader gives up if its first beat is not answered", []string{"first-beat-must-succeed"}, ""},
	{15, "a follower raises its term without asking", []string{"silence-raises-the-term"}, ""},
	{16, "of the terms in refusals the last counts, not the largest", []string{"known-forgotten", "last-term-known-not-largest"}, ""},
	{17, "timers go by the wall clock", nil, "a machine has no clock and is only told how long to wait; what the clock of a process is, is up to the shell"},
	{18, "settings are not checked", nil, "they are refused before there is a machine"},
	{19, "a disk that is slow or dead does not end an office", []string{"slow-disk-prolongs-the-office", "failed-save-swallowed"}, ""},
	{20, "a refused candidate does not learn who leads", []string{"nobody-names-the-leader"}, ""},
	{21, "an heir that loses is stuck in its larger term", []string{"loser-of-a-handover-waits-for-ever", "heir-left-in-its-term"}, ""},
	{22, "handovers on command lack what those to preferred leaders have", []string{"only-offers-are-bounded"}, ""},
	{23, "nothing ends what a handover entitles to", []string{"heir-refuses-others-for-good", "transfer-mark-outlives-the-transfer"}, ""},
	{24, "a late heartbeat brings the heir back", []string{"heartbeat-of-an-older-term-obeyed"}, ""},
	{25, "a handover to one that is dead has no end", []string{"handover-never-given-up", "preferred-never-offered"}, ""},
	{26, "the voters cannot be changed, and observers do not learn who leads", []string{"observers-not-told"}, ""},
	{27, "nothing is encrypted, and nobody proves who it is", nil, "transports do that"},
	{28, "ids of members are restricted", nil, "a machine knows members by their seats"},
	{29, "callbacks run while locks are held, and get half of the information", nil, "it is about how the shell calls the engine"},
	{30, "a leader that shuts down does not resign", []string{"resignation-forgotten"}, ""},
}

// faultsOf lists the faults that a mutant has.
func faultsOf(mutant string) string {
	var of []string
	for _, f := range dledgerFaults {
		if slices.Contains(f.mutants, mutant) {
			of = append(of, fmt.Sprintf("fault %d: %s", f.number, f.what))
		}
	}
	return strings.Join(of, "; ")
}
