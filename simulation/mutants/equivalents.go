// The generated mutants that change nothing that can be seen, each with the reason.

package main

// equivalents are known by their names without the place in the file, so that they survive
// edits elsewhere.
var equivalents = map[string]string{
	"elector/protocol/machine.go Step: in.Kind == Receive becomes in.Kind != Receive":                                                                                          "the shortcut for heartbeats saves time, and nothing else",
	"elector/protocol/machine.go observe: us >= m.roundTrip becomes us > m.roundTrip":                                                                                          "what is equal is left as it is, by this case or by the next",
	"elector/protocol/machine.go observe: m.roundTrip - us + 7 becomes m.roundTrip - us + 8":                                                                                   "it is a microsecond, now and then",
	"elector/protocol/machine_lead.go acknowledge: r.Lease > 0 becomes r.Lease >= 0":                                                                                           "nobody asks who has promised where there are no leases",
	"elector/protocol/machine_lead.go makeWay: return true becomes return false":                                                                                               "it has stood down, and the rest of the beat is for leaders, or for a handover, of which there is none",
	"elector/protocol/machine_lead.go lapsed: r.Lease > 0 becomes r.Lease > 1":                                                                                                 "no lease is as short as a nanosecond",
	"elector/protocol/machine_campaign.go askVotes: without return of if !ok":                                                                                                  "without the ledger the step is taken again, whatever it has done",
	"elector/protocol/machine_campaign.go roundLasts: m.roundTrip > 0 becomes m.roundTrip > 1":                                                                                 "no round trip takes a microsecond",
	"elector/protocol/machine_lead.go lapsed: r.Lease > 0 becomes r.Lease >= 0":                                                                                                "only who holds a lease is told that it has run out",
	"elector/protocol/machine_lead.go onBeat: without return of if m.makeWay(r, out)":                                                                                          "it has stood down, and the rest of the beat is for leaders, or for a handover, of which there is none",
	"elector/protocol/machine_follow.go onHeartbeat: q.RoundTrip > 0 becomes q.RoundTrip > 1":                                                                                  "round trips are told in microseconds",
	"elector/protocol/machine_handover.go onTakeLeadership: m.Role != memberstate.Follower || m.Leader != q.From becomes m.Role != memberstate.Follower && m.Leader != q.From": "who asks leads the term, so who follows in it follows that one, and nobody else has it for a leader",
	"rpc/grpcrpc/knock.go knock: without return false, false of if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil":                                         "a name that stands for no address is looked for at none, of which nothing is known either",
	"rpc/grpcrpc/queue.go forget: q.urgent, q.beats, q.mixed = nil, nil, false becomes q.urgent, q.beats, q.mixed = nil, nil, true":                                            "what is mixed is looked through once more, and has no older heartbeats",
	"rpc/grpcrpc/tls.go stamp: return s, err becomes return s, nil":                                                                                                            "files that cannot be looked at cannot be read either, which is the next thing that is done with them",
	"rpc/grpcrpc/queue.go move: without return to, from[:0] of if n == len(from)":                                                                                              "what is left is as empty, without the room that it had",
	"internal/office/office.go Holds: l.until.CompareAndSwap(end, 0) becomes l.until.CompareAndSwap(end, 1)":                                                                   "the first nanosecond of a clock is over as well",
	"internal/logging/logging.go Enabled: w.handler().Enabled(ctx, level) does not end with ctx":                                                                               "a handler looks at what the context holds, and waits for nothing",
	"lease/mem/mem.go Names: if err := ctx.Err(); err != nil comes after s.open()":                                                                                             "open makes an empty map, which nobody sees",
	"lease/protocol/poll.go wakeUp: s.woken = true comes after k.look.woken = append(k.look.woken, s)":                                                                         "neither looks at the other",
	"rpc/flight.go remove: without (*f)[last] = flying{}":                                                                                                                      "what is cut off is not looked at; it is for memory",
	"rpc/network.go deliver: without clear(batch)":                                                                                                                             "what is cleared is written anew before it is read; it is for memory",
	`rpc/grpcrpc/server.go visitorOf: without return visitor{}, status.Error(codes.Internal, "a stream from nobody") of if !ok`:                                                "gRPC says of every stream from where it comes",
	"rpc/grpcrpc/knock.go keepLooking: if l.ctx.Err() != nil || l.look() comes after wait.sleep(l.ctx)":                                                                        "it looks as often, each time a moment later",
	"rpc/network.go send: n.random.Float64() < l.Duplicate becomes n.random.Float64() <= l.Duplicate":                                                                          "that the two are equal is too seldom",
	"operator/server.go Status: if err != nil comes after answer.Statuses = append(answer.Statuses, encodeReport(r))":                                                          "the answer of a call that fails is thrown away",
	"operator/leader.go latest: best = found comes after enough = time.After(grace)":                                                                                           "neither looks at the other",
	"lease/protocol/renew.go renewNext: without k.wakeBy(r.at)":                                                                                                                "a tick asks what is due in the end, and the first look comes before the first renewal",
	"lease/protocol/renew.go renewNext: r.at = min(r.everything, k.now+k.fx.Draw(k.rules.Timing.renewWithin(false))) comes after k.wakeBy(r.at)":                               "a tick asks what is due in the end, and the first look comes before the first renewal",
	"lease/protocol/claim.go claimed: k.came(Note{Kind: Acquire, Name: s.name, Term: s.seen.Term, Err: a.Err}) comes after k.settle(s)":                                        "what is told is logged when the step is over",
	"cmd/hustings/internal/node/node.go open: if err != nil comes after n.elects(el, timing.Heartbeat/2, timing.Detection(), n.config)":                                        "a node that fails to open is closed, and its election is never asked for",
	"lease/elector.go serve: without o.Close()":                                                                                                                                "the step that is told of Lead's end closes the office, unless it was closed before",
	"memberstate/filestore_records.go uvarint: d.bad, d.rest = true, nil becomes d.bad = true":                                                                                 "nothing is used of what is bad",
	"lease/protocol/poll.go looked: without the field Kind: Read of Note":                                                                                                      "Read is the zero kind",
	"internal/office/office.go Holds: return 0, false becomes return 1, false":                                                                                                 "nobody asks until when a lease is held that is not",
	"elector/engine.go EndLead: e.Host().node.LeadReturned(&e.group, term, false, nil) becomes e.Host().node.LeadReturned(&e.group, term, true, nil)":                          "it was told to end, so it does not count as early",
}
