// The generated mutants that change nothing that can be seen, with the reasons.

package main

// equivalents are known by their names without the place in the file, so that edits elsewhere do not affect
// them.
var equivalents = map[string]string{
	"elector/protocol/machine.go Step: in.Kind == Receive becomes in.Kind != Receive":                                                                                                                      "the shortcut for heartbeats saves time, and nothing else",
	"elector/protocol/machine.go observe: us >= m.roundTrip becomes us > m.roundTrip":                                                                                                                      "an equal value stays as it is, by this case or by the next",
	"elector/protocol/machine.go observe: m.roundTrip - us + 7 becomes m.roundTrip - us + 8":                                                                                                               "it is a microsecond, now and then",
	"elector/protocol/machine_campaign.go askVotes: without return of if !ok":                                                                                                                              "without the ledger the step is taken again, whatever it has done",
	"elector/protocol/machine_campaign.go roundLasts: m.roundTrip > 0 becomes m.roundTrip > 1":                                                                                                             "no round trip takes a microsecond",
	"elector/protocol/machine_follow.go onHeartbeat: q.RoundTrip > 0 becomes q.RoundTrip > 1":                                                                                                              "round trips are sent in microseconds",
	"elector/protocol/machine_handover.go onTakeLeadership: m.Role != memberstate.Follower || m.Leader != q.From becomes m.Role != memberstate.Follower && m.Leader != q.From":                             "the sender leads the term, so a follower in that term follows it, and no other member has it as its leader",
	"lease/elector.go resign: vacated = e.vacated comes after e.keeper.stepped(protocol.Resign{Name: e.config.Name})":                                                                                      "an office does not end within the step that resigns it, because the lease has to be released first",
	"rpc/grpcrpc/guard.go leave: stranger = c.among == &c.guard.strangers comes after c.among.Remove(c.place)":                                                                                             "removing the connection changes the list, and not which list it is",
	"rpc/grpcrpc/probe.go probe: without return false, false of if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil":                                                                     "a name without an address leads to an empty list, which is no address either",
	"rpc/grpcrpc/queue.go forget: q.urgent, q.heartbeats, q.mixed = nil, nil, false becomes q.urgent, q.heartbeats, q.mixed = nil, nil, true":                                                              "a mixed queue is looked through once more, and has no older heartbeats",
	"rpc/grpcrpc/tls.go stamp: return s, err becomes return s, nil":                                                                                                                                        "files that cannot be examined cannot be read either, which is the next step",
	"rpc/grpcrpc/queue.go move: without return to, from[:0] of if n == len(from)":                                                                                                                          "the rest is empty as well, only without its capacity",
	"internal/office/office.go Holds: l.until.CompareAndSwap(end, 0) becomes l.until.CompareAndSwap(end, 1)":                                                                                               "the first nanosecond of a clock is over as well",
	"internal/logging/logging.go Enabled: w.handler().Enabled(ctx, level) does not end with ctx":                                                                                                           "a handler only reads values of the context, and does not wait",
	"lease/mem/mem.go Names: if err := ctx.Err(); err != nil comes after s.open()":                                                                                                                         "open makes an empty map, which is not visible",
	"lease/protocol/poll.go wakeUp: s.woken = true comes after k.look.woken = append(k.look.woken, s)":                                                                                                     "neither reads the other",
	"rpc/flight.go remove: without (*f)[last] = flying{}":                                                                                                                                                  "the cut-off element is not read; clearing it only frees memory",
	"rpc/network.go pass: without clear(a.batch)":                                                                                                                                                          "the cleared elements are written before they are read; clearing only frees memory",
	`rpc/grpcrpc/server.go handshakeOf: without return handshake{}, status.Error(codes.Internal, "a stream from nobody") of if !ok`:                                                                        "gRPC knows the origin of every stream",
	"rpc/grpcrpc/probe.go keepProbing: if l.ctx.Err() != nil || l.probePeer() comes after wait.sleep(l.ctx, 0)":                                                                                            "it looks as often, each time a moment later",
	"rpc/network.go launch: n.random.Float64() < l.Duplicate becomes n.random.Float64() <= l.Duplicate":                                                                                                    "the two are too rarely equal",
	"operator/leader.go latest: best = found comes after enough = time.After(grace)":                                                                                                                       "neither reads the other",
	"lease/protocol/renew.go renewNext: without k.wakeBy(r.at)":                                                                                                                                            "a tick asks what is due in the end, and the first look comes before the first renewal",
	"lease/protocol/renew.go renewNext: r.at = min(r.everything, k.now+k.fx.Draw(k.rules.Timing.renewWithin(false))) comes after k.wakeBy(r.at)":                                                           "a tick asks what is due in the end, and the first look comes before the first renewal",
	"lease/protocol/claim.go claimed: k.came(Note{Kind: Acquire, Name: s.name, Term: s.seen.Term, Err: a.Err}) comes after k.settle(s)":                                                                    "the note is logged when the step is over",
	"cmd/hustings/internal/database/sql.go openMySQL: without return nil, err of if err != nil (2)":                                                                                                        "the parameters were understood before, so the driver refuses nothing",
	"cmd/hustings/internal/node/alive_linux.go check: without return of case <-ctx.Done():":                                                                                                                "the wait after it ends with the context, too",
	"cmd/hustings/internal/database/sql.go inTable: without return nil, errors.Join(err, db.Close()) of if err != nil":                                                                                     "a table in a known dialect is not refused",
	`cmd/hustings/internal/node/cgroup_linux.go kill: os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 0) becomes os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 1)`: "the kernel has made the file",
	`cmd/hustings/internal/node/local.go free: without return true of if runtime.GOOS == "windows"`:                                                                                                        "it is for Windows, and tests run on Linux",
	"cmd/hustings/internal/stress/cluster.go dial: without return nil, errors.Join(err, closeAll(listeners[i:])) of if err != nil":                                                                         "a transport on a listener that was just opened is not refused",
	"cmd/hustings/internal/stress/end.go SendBeat: e.beats.Add(1) comes after e.BeatTransport.SendBeat(to, b)":                                                                                             "nobody reads the count between the two",
	"cmd/hustings/internal/database/kv.go openEtcd: return d, err becomes return d, nil":                                                                                                                   "keys below a known prefix are not refused",
	"cmd/hustings/internal/database/kv.go openRedis: return d, err becomes return d, nil":                                                                                                                  "keys below a known prefix are not refused",
	"cmd/hustings/internal/database/kv.go underKeys: return nil, err becomes return nil, nil":                                                                                                              "keys below a known prefix are not refused",
	"cmd/hustings/internal/database/sql.go openPostgres: return nil, err becomes return nil, nil":                                                                                                          "a waker with a configuration is not refused",
	"cmd/hustings/internal/database/sql.go openMySQL: config.User, config.Passwd = a.user, a.password comes after config.Logger = new(mysql.NopLogger)":                                                    "neither reads the other",
	"cmd/hustings/internal/node/events_linux.go newEvents: []byte{0} becomes []byte{1}":                                                                                                                    "nobody reads what the byte says",
	"cmd/hustings/internal/node/notify_linux.go open: l.close() comes after a.ends()":                                                                                                                      "nothing counts that is heard after the end",
	"cmd/hustings/internal/node/watchdog_linux.go Watchdog: without defer events.close()":                                                                                                                  "the process ends then",
	"cmd/hustings/internal/node/node.go open: if err != nil comes after n.detection = timing.Detection()":                                                                                                  "a node that fails to open detects nothing",
	"cmd/hustings/internal/stress/cluster.go close: e.die() comes after e.release()":                                                                                                                       "a node that dies after the end of the run is not stopped either",
	"cmd/hustings/internal/node/node.go open: if err != nil comes after n.elects(el, timing.Heartbeat/2, timing.Detection(), n.config)":                                                                    "a node that fails to open is closed, and its election is never asked for",
	"memberstate/filestore_records.go uvarint: d.bad, d.rest = true, nil becomes d.bad = true":                                                                                                             "bad input is not used",
	"lease/protocol/poll.go looked: without the field Kind: Read of Note":                                                                                                                                  "Read is the zero kind",
	"internal/office/office.go Holds: return 0, false becomes return 1, false":                                                                                                                             "the end of a lease that is not held is not read",
	"cmd/hustings/internal/node/watchdog_linux.go childEnded: without return of if !w.inner":                                                                                                               "it reports once more, and a node reads the first report",
	"elector/protocol/effects.go EndLead: max(fx.node.now, 1) becomes max(fx.node.now, 2)":                                                                                                                 "zero means that there is none; a nanosecond more is no difference",
	"lease/mem/mem.go open: 1 << 50 becomes 1 << 51":                                                                                                                                                       "any late beginning does",
	"lease/mem/mem.go open: 1 << 50 becomes 2 << 50":                                                                                                                                                       "any late beginning does",
	"elector/engine.go EndLead: e.Host().node.LeadReturned(&e.group, term, false, nil) becomes e.Host().node.LeadReturned(&e.group, term, true, nil)":                                                      "its context has ended, so it does not count as early",
	"internal/logging/logging.go Handle: w.handler().Handle(ctx, r) does not end with ctx":                                                                                                                 "a handler only reads values of the context, and does not wait",
	"lease/kv/rediskv/rediskv.go Get: p.Get(ctx, key) does not end with ctx":                                                                                                                               "a command of a pipeline is only queued, and the call of the pipeline ends with the context",
	"lease/kv/rediskv/rediskv.go Get: p.PTTL(ctx, key) does not end with ctx":                                                                                                                              "a command of a pipeline is only queued, and the call of the pipeline ends with the context",
	"lease/kv/rediskv/rediskv.go Swap: swap.Eval(ctx, p, []string{c.Key}, expected, c.Old, c.New) does not end with ctx":                                                                                   "a command of a pipeline is only queued, and the call of the pipeline ends with the context",
	`lease/kv/rediskv/rediskv.go Live: p.Do(ctx, "SET", key, "1", "PX", (ttl + time.Millisecond - 1).Milliseconds()) does not end with ctx`:                                                                "a command of a pipeline is only queued, and the call of the pipeline ends with the context",
	"lease/protocol/poll.go wantsRead: if len(c.of) == 0 comes after c.Names = make([]string, len(c.of))":                                                                                                  "the names of a call that is not sent are not read",
	"lease/sqllease/pgxwake/pgxwake.go Listen: w.ear.Store(e) comes after defer close(e.ended)":                                                                                                            "a defer does nothing before the end",

	"lease/kv/kv.go Read: r.Record(name, 0) becomes r.Record(name, 1)":                                                                                                            "the time left that follows from it is replaced",
	"lease/kv/kv.go claim: if !won comes after r.Life = s.life(c.Name, c.Holder, next)":                                                                                           "the record of a claim that has not won is not used",
	"lease/kv/kv.go renew: lives[r.Life] = time.Duration(r.TTL) * time.Microsecond comes after changes, changed = append(changes, s.change(h.Name, r, next)), append(changed, h)": "neither reads the other",
	"lease/kv/kv.go renew: r.Renew(holder, h.Term, 0) becomes r.Renew(holder, h.Term, 1)":                                                                                         "of the end of a lease only whether it was released is stored",

	"lease/sqllease/renew.go Renew: if err != nil comes after held = those(held, still)":         "the leases that are still held are not used after an error",
	"lease/sqllease/renew.go renewApart: if err != nil comes after kept = append(kept, more...)": "after an error nothing is kept",

	"lease/protocol/session.go see: k.show(s, role, r.Term, leader, s.whyGone(r)) comes after free = k.free(s)": "whether a lease is free does not depend on what is shown",

	"lease/kv/rediskv/rediskv.go Get: if err = errors.Join(err, leftErr); err != nil comes after if left == -2 { // it has expired between the two commands": "a key that is gone is missing, even if reading it failed before",

	"lease/keeper.go arm: k.working.Add(1) comes after k.armedIn = k.working": "neither reads the other: both lead to the same count",

	`elector/elector.go restore: return false, fmt.Errorf("elector: group %q: loading its hard state: %w", g.Name(), err) becomes return true, fmt.Errorf("elector: group %q: loading its hard state: %w", g.Name(), err)`: "whether a group is known is not read if loading it failed",

	"lease/mem/mem.go Renew: s.rows[h.Name] = r comes after kept = append(kept, h.Name)":                                                                                      "neither reads the other, and the store is locked",
	"lease/protocol/keeper.go rest: without the field soon: Never of look":                                                                                                    "the next tick finds no lease that was woken, and sets it",
	"lease/protocol/release.go release: s.giving.at = Never comes after k.place(&call{of: []*session{s}, Call: Call{Kind: Release, Held: []Held{s.held()}}}, k.end(s)-k.now)": "only a release of an expired lease fails in place, and that is not repeated",

	"lease/sqllease/pgxwake/pgxwake.go connected: defer cancel() comes after err = errors.Join(err, conn.Close(closing))": "a defer does nothing before the end",

	"lease/protocol/ability.go judge: a.hold, a.stay = 0, 0 becomes a.hold, a.stay = 1, 0": "every hold and every stay has a least length, which is much longer than that",
	"lease/protocol/ability.go judge: a.hold, a.stay = 0, 0 becomes a.hold, a.stay = 0, 1": "every hold and every stay has a least length, which is much longer than that",

	"lease/protocol/effects.go const: int(Listen) + 1 becomes int(Listen) + 2": "a kind of calls more than there are is never called",

	"rpc/grpcrpc/knows.go KnownBy: if err != nil comes after defer func() { _ = conn.Close() }()": dialing,
	"rpc/grpcrpc/knows.go KnownBy: without return false, err of if err != nil":                    dialing,
	"rpc/grpcrpc/knows.go KnownBy: return false, err becomes return false, nil":                   dialing,
	"rpc/grpcrpc/knows.go KnownBy: return false, err becomes return true, err":                    dialing,
	"rpc/grpcrpc/link.go carry: without defer cancel(nil)":                                        "the context above ends at the same moment, because the stream does",
	"rpc/grpcrpc/link.go call: if err != nil comes after defer conn.Close()":                      dialing,
	"rpc/grpcrpc/link.go call: without return err of if err != nil":                               dialing,
	"rpc/grpcrpc/link.go call: return err becomes return nil":                                     dialing,
}

const dialing = "gRPC opens no connection yet, and takes every address that is escaped"
