// The mutants that were written by hand: what a tired engineer might do to a protocol,
// what DLedger and others have done, and what the rules D1 to D14 are there to prevent.

package main

// handwritten are the mutants, by what they break.
var handwritten = []mutant{
	// Quorums.
	{"quorum-less-one", "memberstate/members.go", "return voters.Len()/2 + 1", "return max(1, voters.Len()/2)", ""},
	{"quorum-more-one", "memberstate/members.go", "return voters.Len()/2 + 1", "return min(voters.Len(), voters.Len()/2+2)", ""},
	{"observers-answer-for-voters", "elector/machine_lead.go", "case !r.Voters.Has(q.From):\n\t\treturn", "case false:\n\t\treturn", ""},
	{"not-ready-counts-as-accept", "elector/machine_campaign.go", "case m.accepted.Len() >= quorum:\n\t\treturn Passed", "case (m.accepted | m.notReady).Len() >= quorum:\n\t\treturn Passed", ""},
	{"answered-counts-as-accept", "elector/machine_campaign.go", "case m.accepted.Len() >= quorum:\n\t\treturn Passed", "case m.answered.Len() >= quorum:\n\t\treturn Passed", ""},
	{"refusals-counted", "elector/machine_campaign.go", "m.answered = m.answered.With(q.From)\n\tswitch", "m.answered, m.accepted = m.answered.With(q.From), m.accepted.With(q.From)\n\tswitch", ""},
	{"duplicate-answers-counted-twice", "elector/machine_campaign.go", "\t\tm.accepted = m.accepted.With(q.From)\n\tcase rpc.RejectTermNotReady", "\t\tm.accepted |= m.accepted << 1\n\tcase rpc.RejectTermNotReady", ""},
	{"self-vote-counted-twice", "elector/machine_campaign.go", "== rpc.Accept {\n\t\treturn true", "== rpc.Accept {\n\t\tm.accepted |= m.accepted << 1\n\t\treturn true", ""},

	// Votes, and what must be durable.
	{"said-before-saved", "elector/execution.go", "\t\tif x.Output.Save {\n\t\t\tx.need = NeedSave\n\t\t} else {\n\t\t\tx.finish(fx)\n\t\t}", "\t\tx.finish(fx)\n\t\tif x.Output.Save {\n\t\t\tx.need = NeedSave\n\t\t}", ""},
	{"vote-not-saved", "elector/machine_vote.go", "\t\tout.Save = true\n\t\tif m.Role == memberstate.Candidate && !self", "\t\tif m.Role == memberstate.Candidate && !self", ""},
	{"term-not-saved", "elector/machine.go", "m.hinted, m.doubtful, m.judged = false, false, WaitToRevote\n\tout.Save = true", "m.hinted, m.doubtful, m.judged = false, false, WaitToRevote", ""},
	{"promise-not-saved", "elector/machine_follow.go", "\t\tm.did(out, m.PromiseFor(lease))\n\t\tout.Save = true", "\t\tm.did(out, m.PromiseFor(lease))", ""},
	{"votes-twice", "elector/machine_vote.go", "case m.Vote == memberstate.Nobody || m.Vote == q.From:", "case true:", ""},
	{"vote-not-cleared-on-raise", "memberstate/state.go", "s.HardState = HardState{Term: term, Promise: promise}", "s.HardState = HardState{Term: term, Vote: s.Vote, Promise: promise}", ""},
	{"vote-forgotten-on-standing-down", "memberstate/state.go", "\ts.Leader, s.Spent = Nobody, true\n\tif s.Role != Observer {\n\t\ts.Role = Candidate", "\ts.Leader, s.Spent, s.Vote = Nobody, true, Nobody\n\tif s.Role != Observer {\n\t\ts.Role = Candidate", ""},
	{"votes-in-an-older-term", "elector/machine_vote.go", "case q.Term < m.Term:\n\t\treturn rpc.RejectExpiredVoteTerm", "case q.Term+1 < m.Term:\n\t\treturn rpc.RejectExpiredVoteTerm", ""},
	{"restart-forgets-the-vote", "memberstate/state.go", "s := State{HardState: hard, Spent: true}", "hard.Vote = Nobody\n\ts := State{HardState: hard, Spent: true}", ""},
	{"restart-in-the-same-term", "memberstate/state.go", "s := State{HardState: hard, Spent: true}", "s := State{HardState: hard, Spent: hard.Term == 0}", ""},
	{"vote-goes-to-the-leader", "elector/machine_follow.go", "\tm.did(out, m.Follow(leader))", "\tm.did(out, m.Follow(leader))\n\tif m.Role == memberstate.Follower {\n\t\tm.Vote, out.Save = leader, true\n\t}", ""},
	{"store-not-synced", "memberstate/filestore.go", "if err := s.file.Sync(); err != nil {\n\t\treturn s.failed(\"sync\", at, err)\n\t}\n\ts.tail", "s.tail", ""},
	{"self-vote-skipped", "elector/machine_campaign.go", "if m.arbitrate(r, &own, out, true) == rpc.Accept {", "if m.arbitrate(r, &own, out, true) == rpc.Accept || true {", ""},

	// Ledgers.
	{"ledger-not-compared", "elector/machine_vote.go", "case q.Ledger.Term < mine.Term:", "case true:\n\t\treturn 0\n\tcase q.Ledger.Term < mine.Term:", ""},
	{"ledger-reversed", "elector/machine_vote.go", "case q.Ledger.Term < mine.Term:", "case q.Ledger.Term > mine.Term:", ""},
	{"ledger-by-index-only", "elector/machine_vote.go", "\tcase q.Ledger.Term < mine.Term:\n\t\treturn rpc.RejectExpiredLedgerTerm\n\tcase q.Ledger.Term == mine.Term && q.Ledger.Index < mine.Index:", "\tcase q.Ledger.Index < mine.Index:", ""},
	{"ledger-by-term-only", "elector/machine_vote.go", "case q.Ledger.Term == mine.Term && q.Ledger.Index < mine.Index:", "case false:", ""},
	{"ledger-index-reversed", "elector/machine_vote.go", "q.Ledger.Index < mine.Index:", "q.Ledger.Index > mine.Index:", ""},
	{"promise-of-the-engine-skipped", "elector/machine.go", "if !in.HasLedger || in.LedgerTerm < m.Term {", "if !in.HasLedger {", "a step asks for the ledger of two terms only in a group of one, which has nobody to lose an entry to"},
	{"ledger-asked-for-the-old-term", "elector/machine.go", "out.NeedLedger, out.LedgerTerm = true, m.Term", "out.NeedLedger, out.LedgerTerm = true, m.Term-1", ""},
	{"taker-not-held-to-the-ledger", "elector/machine_handover.go", "case end.Compare(q.Ledger) < 0:", "case end.Compare(q.Ledger) < -9:", ""},

	// Engines: the other side of the contract.
	{"late-append-acknowledged", "simulation/engine.go", "if e.promised > p.message.Term && !n.world.options.Careless {", "if false {", ""},

	// Answers of the wrong round.
	{"stale-answers-count", "elector/machine_campaign.go", "if m.phase == idle || !m.answers(q) {", "if m.phase == idle {", ""},
	{"answers-of-older-rounds-count", "elector/machine_campaign.go", "return q.Round == m.ballot && q.Mark == m.mark && q.Asked == m.asked", "return q.Mark == m.mark && q.Asked == m.asked", ""},
	{"answers-of-another-mark-count", "elector/machine_campaign.go", "return q.Round == m.ballot && q.Mark == m.mark && q.Asked == m.asked", "return q.Asked == m.asked", ""},
	{"beat-answers-of-older-terms-count", "elector/machine_lead.go", "q.Asked != m.Term || m.beat-q.Round >= recentBeats", "m.beat-q.Round >= recentBeats", ""},
	{"beat-answers-credited-to-the-newest", "elector/machine_lead.go", "acks := &m.acks[q.Round%recentBeats]\n\t*acks = acks.With(q.From)\n\tm.heardBy(r, q.Round)", "acks := &m.acks[m.beat%recentBeats]\n\t*acks = acks.With(q.From)\n\tm.heardBy(r, m.beat)", ""},
	{"beats-never-expire", "elector/machine_lead.go", "|| m.beat-q.Round >= recentBeats:", ":", ""},
	{"acks-kept-over-beats", "elector/machine_lead.go", "m.acks[m.beat%recentBeats] = memberstate.SetOf(r.Self)\n\tm.inconsistent", "m.acks[m.beat%recentBeats] |= memberstate.SetOf(r.Self)\n\tm.inconsistent", ""},

	// Terms.
	{"larger-term-not-adopted-by-voter", "elector/machine_vote.go", "\t\tm.adopt(r, out, q.Term)\n\t\tm.armVoteWait(r, out)", "\t\tm.armVoteWait(r, out)", ""},
	{"heartbeat-of-an-older-term-obeyed", "elector/machine_follow.go", "case q.Term < m.Term:\n\t\tm.reply(in, out, rpc.ExpiredTerm)\n\t\treturn", "case q.Term+1 < m.Term:\n\t\tm.reply(in, out, rpc.ExpiredTerm)\n\t\treturn", ""},
	{"second-leader-of-a-term-followed", "elector/machine_follow.go", "case m.hasOtherLeader(q.From):\n\t\tm.reply(in, out, rpc.InconsistentLeader)\n\t\treturn", "case false:", "there is never a second leader of a term: the check is a second line of defence"},
	{"known-forgotten", "elector/machine_campaign.go", "term = max(m.Term, m.known) + 1", "term = m.Term + 1", ""},
	{"term-raised-by-a-pre-vote", "elector/machine_campaign.go", "\tm.openRound(r, out, preVoting, rpc.PreVote, term)", "\tif term > m.Term {\n\t\tm.adopt(r, out, term)\n\t}\n\tm.openRound(r, out, preVoting, rpc.PreVote, term)", ""},
	{"heard-of-an-older-term", "elector/machine_follow.go", "|| in.Term < m.Term ||", "||", ""},
	{"leader-clings-to-its-term", "elector/machine.go", "\tif m.Role == memberstate.Leader {\n\t\tout.Lost = true", "\tif m.Role == memberstate.Leader {\n\t\tout.Lost = false", ""},
	{"greater-or-equal-for-greater-in-votes", "elector/machine_vote.go", "\tif q.Term > m.Term {\n\t\tif m.standsByLeader", "\tif q.Term >= m.Term {\n\t\tif m.standsByLeader", ""},
	{"greater-or-equal-for-greater-in-heartbeats", "elector/machine_follow.go", "\tcase q.Term > m.Term:\n\t\tif m.learnsOfLeader", "\tcase q.Term >= m.Term:\n\t\tif m.learnsOfLeader", ""},
	{"own-term-refused", "elector/machine_vote.go", "case q.Term < m.Term:\n\t\treturn rpc.RejectExpiredVoteTerm", "case q.Term <= m.Term:\n\t\treturn rpc.RejectExpiredVoteTerm", ""},

	// Leaders.
	{"leader-never-steps-down", "elector/machine_lead.go", "silent := m.beat-m.heardBeat >= uint32(r.Timing.Leak)", "silent := false", ""},
	{"leads-while-an-old-lead-runs", "elector/machine_campaign.go", "if m.serving {", "if false {", ""},
	{"takes-over-while-an-old-lead-runs", "elector/machine_handover.go", "|| m.Term != q.Term || heir && m.serving:", "|| m.Term != q.Term:", ""},
	{"first-beat-not-sent", "elector/machine_lead.go", "\tm.courtesy = m.beat + uint32(r.Timing.Leak)\n\tm.sendBeat(r, out)", "\tm.courtesy = m.beat + uint32(r.Timing.Leak)\n\tm.arm(out, r.Timing.Heartbeat, r.Timing.Heartbeat)", ""},
	{"accused-leader-does-nothing", "elector/machine_lead.go", "\tm.learn(in.Message.Term)\n\tm.renew(r, in, out)", "\tm.learn(in.Message.Term)", ""},
	{"lead-without-own-vote", "elector/machine_campaign.go", "m.accepted, m.answered = memberstate.SetOf(r.Self), memberstate.SetOf(r.Self)\n\tm.notReady", "m.accepted, m.answered = memberstate.SetOf(r.Self)|memberstate.SetOf(1), memberstate.SetOf(r.Self)\n\tm.notReady", ""},

	// Alarms.
	{"stale-alarm-obeyed", "elector/machine.go", "\tif in.Number != m.alarm {\n\t\tout.Dropped = DropStaleAlarm\n\t\treturn\n\t}\n", "", ""},
	{"no-alarm-after-a-lost-round", "elector/machine_campaign.go", "\tdefault:\n\t\tm.armVoteWait(r, out)\n\t}\n\tm.hurries = 0", "\tdefault:\n\t}\n\tm.hurries = 0", ""},
	{"no-alarm-after-silence", "elector/machine_follow.go", "\t\tm.armSlot(r, out, last)", "\t\t_ = last", ""},
	{"no-alarm-after-following", "elector/machine_follow.go", "\tpromised := m.promise(r, out, q.Lease)\n\tm.armSilence(r, out)", "\tpromised := m.promise(r, out, q.Lease)", ""},
	{"silence-half-as-long", "elector/machine_follow.go", "wait := max(r.Timing.Detection(), m.Promise)", "wait := r.Timing.Detection() / 2", ""},

	// Pre-votes.
	{"pre-vote-changes-state", "elector/machine_vote.go", "\tq := &in.Message\n\tif refusal := m.refuseCandidate(r, q, false); refusal != 0 {\n\t\treturn refusal\n\t}\n\tswitch {\n\tcase m.fasting", "\tq := &in.Message\n\tif refusal := m.refuseCandidate(r, q, false); refusal != 0 {\n\t\treturn refusal\n\t}\n\tif q.Term > m.Term {\n\t\tm.adopt(r, out, q.Term)\n\t\tm.armVoteWait(r, out)\n\t}\n\tswitch {\n\tcase m.fasting", ""},
	{"pre-vote-despite-a-leader", "elector/machine_vote.go", "case m.fasting || m.hasOtherLeader(q.From):", "case m.fasting:", ""},
	{"pre-vote-off", "elector/machine_campaign.go", "\tif r.PreVote {\n\t\tm.askPreVotes(r, in, out, term)\n\t} else {", "\tif false {\n\t\tm.askPreVotes(r, in, out, term)\n\t} else {", ""},
	{"plain-request-claims-a-pre-vote", "elector/machine_campaign.go", "\t\tm.askVotes(r, in, out, term, rpc.Plain, memberstate.Nobody)", "\t\tm.askVotes(r, in, out, term, rpc.Won, memberstate.Nobody)", ""},
	{"plain-requests-depose", "elector/machine_vote.go", "return r.PreVote && q.Mark != rpc.Won && m.hasOtherLeader(q.From)", "return false", ""},
	{"veto-not-awaited", "elector/machine_campaign.go", "return m.doubtful && m.phase == preVoting", "return false", ""},
	{"veto-of-the-leader-ignored", "elector/machine_campaign.go", "m.vetoed = m.vetoed || q.Leader == q.From", "m.vetoed = false", ""},
	{"pre-vote-mark-outlives-its-round", "elector/machine_campaign.go", "\tif r.PreVote {\n\t\tm.askPreVotes(r, in, out, term)\n\t} else {", "\tif m.mark == rpc.Won {\n\t\tm.askVotes(r, in, out, term, rpc.Won, memberstate.Nobody)\n\t} else if r.PreVote {\n\t\tm.askPreVotes(r, in, out, term)\n\t} else {", ""},

	// Leases.
	{"voters-not-sticky", "elector/machine_vote.go", "return r.Lease > 0 || m.Promise > 0 }", "return false }", ""},
	{"no-fasting", "elector/machine.go", "fasting: hard.Promise > 0 && !observer,", "fasting: false,", ""},
	{"fasting-voter-votes", "elector/machine_vote.go", "case m.fasting, m.bound(r) && m.hasOtherLeader(q.From):", "case m.bound(r) && m.hasOtherLeader(q.From):", "who fasts refuses every larger term, and its own term was won, or is refused by its vote; it stands for none"},
	{"promise-forgotten-on-restart", "memberstate/state.go", "s := State{HardState: hard, Spent: true}", "hard.Promise = 0\n\ts := State{HardState: hard, Spent: true}", ""},
	{"lease-by-those-who-promised-nothing", "elector/machine_lead.go", "(acks&m.sticky).Len() >= r.quorum()", "acks.Len() >= r.quorum()", ""},
	{"lease-survives-the-handover", "elector/machine_handover.go", "m.goal, m.leaseVoid = end, true", "m.goal = end", ""},
	{"stands-on-command-though-bound", "elector/machine_campaign.go", "case m.Role == memberstate.Follower && !m.bound(r):", "case m.Role == memberstate.Follower:", ""},
	{"lost-connection-breaks-the-promise", "elector/machine_follow.go", "if !r.PreVote || m.bound(r) || m.Role", "if !r.PreVote || m.Role", ""},
	{"lease-from-the-receipt", "simulation/lease.go", "sent := n.beats[beat%4]", "sent := n.world.now", ""},
	{"drift-margin-forgotten", "simulation/lease.go", "n.elapsed(t.Detection()-t.DriftMargin)", "n.elapsed(t.Detection())", ""},
	{"lapsed-lease-goes-on", "elector/machine_lead.go", "if m.Role == memberstate.Leader && r.Lease > 0 {", "if false {", ""},
	{"heartbeat-claims-no-lease", "elector/machine_lead.go", "Lease: r.Lease, RoundTrip:", "RoundTrip:", ""},

	// Handovers.
	{"handed-mark-of-anyone-honoured", "elector/machine_vote.go", "if q.Mark != rpc.Handed || q.Leader == memberstate.Nobody || q.Leader != m.Leader || q.Term != m.Term+1 {", "if q.Mark != rpc.Handed {", "a request for the next term can come only from who was handed this one, by its one leader; the check is a second line of defence"},
	{"handover-never-given-up", "elector/machine_handover.go", "\tcase m.patience == 0:\n\t\tm.endHandover(r, out)", "\tcase false:", ""},
	{"target-told-without-a-pause", "elector/machine_handover.go", "m.handover, m.patience = Pausing, uint8(r.Timing.Leak)", "m.handover, m.patience = Taking, uint8(r.Timing.Leak)", ""},
	{"stranger-takes-over", "elector/machine_handover.go", "case m.Role != memberstate.Follower || m.Leader != q.From || m.Term != q.Term || heir && m.serving:", "case m.Role != memberstate.Follower || heir && m.serving:", ""},
	{"vouched-for-less-than-the-voter-has", "elector/machine_campaign.go", "q.Asked == m.asked && m.goal.Compare(q.Ledger) >= 0", "q.Asked == m.asked", ""},
	{"vouched-for-nothing-in-particular", "elector/machine_handover.go", "Asked: m.Term, Ledger: q.Ledger,", "Asked: m.Term,", ""},
	{"vouched-in-another-term", "elector/machine_campaign.go", "return m.mark == rpc.Handed && q.Asked == m.asked && ", "return m.mark == rpc.Handed && ", ""},
	{"vouched-for-whoever-stands", "elector/machine_campaign.go", "return m.mark == rpc.Handed && q.Asked == m.asked", "return q.Asked == m.asked", ""},
	{"vouches-and-does-not-vote", "elector/machine_handover.go", "if m.arbitrate(r, &own, out, false) != rpc.Accept {", "if m.arbitrate(r, &own, out, false) == 0 {", ""},
	{"preferred-never-offered", "elector/machine_handover.go", "case r.Preferred.Has(from) && !r.Preferred.Has(r.Self) &&", "case false && r.Preferred.Has(from) && !r.Preferred.Has(r.Self) &&", ""},
	{"resignation-forgotten", "elector/machine_handover.go", "\tif resigning {\n\t\tm.stepDown(out)", "\tif resigning && m.beat == 0 {\n\t\tm.stepDown(out)", ""},
	{"transfer-mark-outlives-the-transfer", "elector/machine_campaign.go", "\tif term > m.Term {\n\t\tm.adopt(r, out, term)\n\t}\n\tm.openRound(r, out, voting, mark, term)", "\tif mark == rpc.Handed {\n\t\tm.target = giver\n\t} else if m.target != memberstate.Nobody {\n\t\tmark, giver = rpc.Handed, m.target\n\t}\n\tif term > m.Term {\n\t\tm.adopt(r, out, term)\n\t}\n\tm.openRound(r, out, voting, mark, term)", ""},

	// Observers.
	{"observer-votes", "elector/machine_vote.go", "if m.Role == memberstate.Observer {", "if false {", "nobody who has the same list of voters asks an observer, and who has another list is refused"},
	{"observer-promises", "elector/machine_follow.go", "if r.Lease == 0 || lease <= 0 || m.Role == memberstate.Observer {", "if r.Lease == 0 || lease <= 0 {", ""},
	{"observer-claims-a-promise", "elector/machine_follow.go", "if r.Lease == 0 || lease <= 0 || m.Role == memberstate.Observer {\n\t\treturn false", "if r.Lease == 0 || lease <= 0 || m.Role == memberstate.Observer {\n\t\treturn lease > 0", ""},

	// Elections by a lease: its machine, the lease that is held, the records.
	{"lease-from-the-answer", "lease/machine.go", "\tcase now < m.Until():\n", "\tcase true:\n\t\tm.asked = now\n", ""},
	{"lease-extended-from-the-answer", "simulation/leases/candidate.go", "l.Extend(n.machine.Until(), n.now())", "l.Extend(n.now()+n.options.timing.TTL-n.options.timing.DriftMargin, n.now())", ""},
	{"lease-without-a-margin", "lease/timing.go", "return t.TTL - t.DriftMargin }", "return t.TTL }", ""},
	{"lease-won-too-late", "lease/machine.go", "\tcase now < m.Until():\n", "\tcase true:\n", "a lease that has run out when it is opened is never valid; its office ends at once"},
	{"lease-released-before-lead-returned", "lease/machine.go", "\tm.phase, m.Role, m.Leader = leaving, memberstate.Candidate, \"\"\n\treturn LeaveOffice", "\tm.phase, m.Role, m.Leader = leaving, memberstate.Candidate, \"\"\n\treturn GiveBack", ""},
	{"lease-zero-rows-ignored", "lease/machine.go", "\tcase !kept:\n\t\treturn m.Leave(term)\n", "", ""},
	{"lease-renewed-while-leaving", "lease/machine.go", "\tif m.phase != serving {\n\t\treturn Held{}, false", "\tif !m.InOffice() {\n\t\treturn Held{}, false", ""},
	{"lease-renewal-of-another-term", "lease/machine.go", "case m.phase != serving || term != m.Term:\n\t\treturn Nothing", "case false:", "the lease that is extended then is nobody's any more"},
	{"lease-run-out-is-extended", "internal/office/office.go", "|| old <= int64(now) ||", "||", ""},
	{"lease-claimed-whatever-it-is", "lease/contend.go", "\treturn s.Left <= 0\n", "\treturn true\n", ""},
	{"lease-watched-by-its-term-alone", "lease/contend.go", "|| r.Term != s.Term || r.Renewals != s.Renewals {", "|| r.Term != s.Term {", ""},
	{"lease-watched-half-as-long", "lease/contend.go", "\t\treturn s.stoodStill(now, s.TTL)\n\t}\n\treturn s.Left", "\t\treturn s.stoodStill(now, s.TTL/2)\n\t}\n\treturn s.Left", ""},
	{"lease-watched-for-ones-own-ttl", "lease/contend.go", "\t\treturn s.stoodStill(now, s.TTL)\n\t}\n\treturn s.Left", "\t\treturn s.stoodStill(now, m.rules.Timing.TTL)\n\t}\n\treturn s.Left", ""},
	{"lease-forced-is-free", "lease/contend.go", "case s.Released:", "case s.Released || s.Holder == \"\":", ""},
	{"lease-heir-waited-for-without-end", "lease/contend.go", "return s.stoodStill(now, 2*s.TTL)", "return false", ""},
	{"lease-own-claim-not-recognized", "lease/contend.go", "case s.Term == 0, s.Holder == m.rules.ID:", "case s.Term == 0:", "it costs a TTL, which nobody is promised"},
	{"lease-taken-by-an-observer", "lease/machine.go", "if m.rules.Observer || now < m.patience", "if now < m.patience", ""},
	{"lease-old-copies-believed", "lease/machine.go", "\tcase r.Term < m.Term:\n\t\treturn Distrust\n", "", ""},
	{"lease-lost-claim-is-the-last", "lease/machine.go", "\tm.rest()\n\tswitch {\n\tcase !won:", "\tswitch {\n\tcase !won:", ""},
	{"lease-winner-that-leaves-keeps-it", "lease/machine.go", "\tcase m.retiring:\n\t\tm.Term++\n\t\treturn GiveBack\n", "", ""},
	{"lease-never-left", "lease/machine.go", "\tm.phase = watching\n\tif m.retiring {\n\t\tm.phase = idle", "\tm.phase = leaving\n\tif m.retiring {\n\t\tm.phase = idle", ""},
	{"record-claimed-without-comparing", "lease/internal/row/row.go", "\tif r.Term != c.Term {\n\t\treturn r, false\n\t}\n", "", ""},
	{"record-watched-without-comparing", "lease/internal/row/row.go", "free = free || r.Renewals == c.Renewals", "free = true", ""},
	{"record-claimed-before-it-ran-out", "lease/internal/row/row.go", "free = free || r.Until <= now", "free = true", ""},
	{"record-renewed-by-name-alone", "lease/internal/row/row.go", "if r.Holder != holder || r.Term != term {", "if r.Term == 0 {", ""},
	{"record-renewed-in-any-term", "lease/internal/row/row.go", "if r.Holder != holder || r.Term != term {", "if r.Holder != holder {", "it prolongs what the same candidate has in a later term: that costs a TTL at most, which nobody is promised"},
	{"record-renewals-not-counted", "lease/internal/row/row.go", "\tr.Renewals++\n", "", ""},
	{"record-term-not-raised", "lease/internal/row/row.go", "return Row{Term: r.Term + 1, Holder", "return Row{Term: r.Term, Holder", ""},
	{"record-force-without-a-term", "lease/internal/row/row.go", "\tr.Term++\n\tr.Holder, r.Heir", "\tr.Holder, r.Heir", ""},
	{"record-released-in-any-term", "lease/internal/row/row.go", "held := r.Holder == holder && r.Term == term", "held := r.Holder == holder", ""},
	{"record-released-by-anyone", "lease/internal/row/row.go", "\tif !held && !forced {\n\t\treturn r, false\n\t}\n", "\t_, _ = held, forced\n", ""},
}
