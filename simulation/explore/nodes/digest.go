// When two nodes behave alike.
//
// A node is taken for another one if everything that can influence its future is equal. So that nothing can be
// forgotten, a digest is made of all memory that can be reached from the node, field by field, whatever the fields
// are; and what does not count is listed here, with the reason. A field that is new, or that this list does not know,
// counts. The reverse, a list of what counts, would be shorter, and unsound as soon as somebody adds a field.
//
// What pointers point to is written where it is met first, and later only which one it was.
//
// Nothing else reads private fields of package protocol. A method of the node that writes its digest would have
// to be such a list of what counts, because package protocol does without reflection. What the other checks
// look at are methods, in node_inspect.go.

package nodes

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// leftOut are fields that do not count, by the name of their type and their own.
var leftOut = map[string]bool{
	// It is set before it is read.
	"Node.now": true, "Node.step": true, "Node.fx": true, "Node.spare": true, "beats.write": true, "peer.batch": true, "peers.full": true,
	// The world around the node, which is the same in every state.
	"Node.edge": true, "Node.inspector": true, "beats.edge": true, "Group.engine": true, "Electorate.Owner": true, "member.process": true,
	// It is written with the office.
	"member.beat": true,
	// They only tell cohorts apart. Which groups are in one, and share its lease, is written with them.
	"beats.newest": true, "cohort.number": true, "shared.number": true,
	// A cache, and which groups share rules: these are written with each group.
	"Electorate.peers": true, "Node.rules": true,
	// A group is written by what counts of it, whether it is packed or not, so it does not count when it will be packed:
	// see session.
	"Group.desk": true, "desk.Session": true, "Group.packed": true, "Node.quiet": true, "Node.packs": true, "Node.keepsOpen": true,
	// When to look at which group follows from the groups' alarms, except the order of groups whose alarms ring at the
	// same time. These do not notice each other: one turn rings them all.
	"Node.alarms": true,
	// Measured round trips decide only how long candidates wait, and here each wait ends with the moment.
	"Machine.roundTrip": true,
	// Who is present is asked only with pre-vote.
	"officeBonds.present": true, "officeBonds.before": true, "officeBonds.rings": true,
	// It is only shown.
	"Session.last": true, "Session.departure": true, "View.Last": true, "View.Departure": true, "peer.seenAt": true, "peer.told": true,
	// Nobody balances.
	"peer.leads": true,
	// Nothing waits for its campaign, because there is room for more than there are groups.
	"campaign.alarm": true, "campaign.due": true, "muster.begun": true, "muster.most": true, "muster.slowed": true, "peer.votesAt": true,
}

// digester writes one digest.
type digester struct {
	text    []byte
	seen    map[uintptr]int     // pointers, in the order in which they were met
	group   *protocol.Group     // whose memory is being written
	session *protocol.Session   // the group's
	quiet   bool                // it leaves its beats to nodes
	copies  []*protocol.Session // that were made for this digest. No other object may get their address meanwhile
}

// digest is that of some values.
func digest(all ...any) string {
	d := digester{seen: map[uintptr]int{}}
	for _, one := range all {
		d.value(reflect.ValueOf(one))
	}
	return string(d.text)
}

func (d *digester) number(n uint64) { d.text = binary.AppendUvarint(d.text, n) }

func (d *digester) flag(is bool) {
	n := uint64(0)
	if is {
		n = 1
	}
	d.number(n)
}

func (d *digester) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		d.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.text = binary.AppendVarint(d.text, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.number(v.Uint())
	case reflect.String:
		d.number(uint64(v.Len()))
		d.text = append(d.text, v.String()...)
	case reflect.Slice, reflect.Array:
		d.number(uint64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		d.mapping(v)
	case reflect.Struct:
		d.fields(v)
	case reflect.Pointer:
		d.pointer(v)
	case reflect.Func, reflect.Interface: // who is told of an outcome, and errors for people
		d.flag(!v.IsNil())
	default:
		panic("nodes: no digest of a " + v.Type().String())
	}
}

func (d *digester) pointer(v reflect.Value) {
	if v.IsNil() {
		d.number(0)
		return
	}
	place, known := d.seen[v.Pointer()]
	if !known {
		place = len(d.seen) + 1
		d.seen[v.Pointer()] = place
	}
	d.number(uint64(place))
	if !known {
		d.value(v.Elem())
	}
}

// mapping writes a map whose keys are strings or numbers, in their order.
func (d *digester) mapping(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.Kind() == reflect.String {
			return strings.Compare(a.String(), b.String())
		}
		return int(a.Uint()) - int(b.Uint())
	})
	d.number(uint64(len(keys)))
	for _, key := range keys {
		d.value(key)
		d.value(v.MapIndex(key))
	}
}

func (d *digester) fields(v reflect.Value) {
	t := v.Type()
	switch g, is := pointed[protocol.Group](v); {
	case is:
		d.open(g, v)
	case t == reflect.TypeFor[protocol.Machine]() && !d.group.Waits():
		v = d.machine()
	case t.Name() == "office" && d.session.Role == memberstate.Leader && !d.group.Waits():
		d.office(v)
		return
	case t == reflect.TypeFor[protocol.SentTimes]():
		d.sentTimes(v)
		return
	}
	for i := range v.NumField() {
		if name := t.Name() + "." + t.Field(i).Name; !leftOut[name] && !d.relative(name, v) {
			d.value(v.Field(i))
		}
	}
}

// open writes the session of a group, and what else a group has besides its row.
func (d *digester) open(g *protocol.Group, row reflect.Value) {
	s := g.Peek()
	due, quiet := g.Quiet()
	d.group, d.session, d.copies = g, &s, append(d.copies, &s)
	d.value(reflect.ValueOf(&s).Elem())
	desk := row.FieldByName("desk")
	if d.number(uint64(due)); desk.IsNil() {
		desk = reflect.New(desk.Type().Elem()) // nothing is on it
	}
	d.quiet = quiet
	d.fields(desk.Elem())
}

// relative writes fields of which only a difference counts, and says whether it has.
func (d *digester) relative(name string, in reflect.Value) bool {
	switch name {
	case "Group.notes": // the others are worked off before the turn ends. Groups are written first, and then their members
		if g, is := pointed[protocol.Group](in); is {
			d.flag(g.Leaves())
		}
	case "Group.alarm": // whether it is the machine's newest one; otherwise it is compared with inputs that wait
		d.number(in.FieldByName("alarm").Uint() - reflect.ValueOf(d.session).Elem().FieldByName("Machine").FieldByName("alarm").Uint())
	case "officeBonds.first": // how many heartbeats have offered them. While the leader rests, it takes none
		if offered := d.session.Beat() + 1 - uint32(in.FieldByName("first").Uint()); !d.group.Rests() {
			d.number(min(uint64(offered), 2*kept))
		}
	case "desk.due": // of a quiet group it has been written
		return d.quiet
	case "desk.look", "peer.spokeAt": // whether there is an alarm, or was a beat; a beat is heard of for longer than any search lasts
		d.flag(in.FieldByName(name[strings.Index(name, ".")+1:]).Int() != 0)
	case "lease.until": // the later one counts, of this and the end of the lease that is shared
		if !d.group.Rests() {
			return false
		}
		d.value(reflect.ValueOf(d.group.LeaseEnd()))
	case "member.hold":
		m, _ := pointed[member](in)
		d.value(reflect.ValueOf(m.lease()))
	case "peer.heardAt", "peer.wait": // it is set before it is read
		if in.FieldByName("followers").Len() == 0 {
			break
		}
		return false
	default:
		return false
	}
	return true
}

// pointed is what a struct's address points to, if that is known and of this type.
func pointed[T any](v reflect.Value) (*T, bool) {
	if !v.CanAddr() || !v.CanInterface() {
		return nil, false
	}
	return reflect.TypeAssert[*T](v.Addr())
}

// machine is the group's machine in canonical form. That has all rounds of votes for one, but a late answer may be
// on its way to each, so they count.
func (d *digester) machine() reflect.Value {
	d.number(uint64(d.session.Ballot()))
	return reflect.ValueOf(d.session.Canonical(d.group.Rules))
}

// office writes a leader's office. Its beats count from the newest one, because a leader that is woken and rests again
// has counted another one. How old is the newest one that it has sent? Answers can be on their way to that, and to
// those before it. They count for as long as these beats are among those that are kept.
func (d *digester) office(v reflect.Value) {
	g := d.session
	sent := d.group.Engine().(*member).beat
	since := func(name string) uint64 { return min(uint64(g.Beat()-uint32(v.FieldByName(name).Uint())), 2*kept) }
	d.number(uint64(sent))
	d.number(min(uint64(g.Beat()-sent), kept))
	for i := range uint32(kept) {
		d.value(v.FieldByName("acks").Index(int((g.Beat() - i) % kept)))
	}
	d.number(since("heardBeat"))
	if d.flag(g.LeaseBeat() != 0); g.LeaseBeat() != 0 {
		d.number(since("leaseBeat"))
	}
	d.number(min(since("challenge"), uint64(timing.Leak)))
	for _, name := range []string{"sticky", "declined", "nextOffer", "leaseVoid", "inconsistent", "resent"} {
		d.value(v.FieldByName(name))
	}
}

// kept is how many beats a leader keeps.
const kept = 4

// sentTimes writes when those beats of an office were sent that can still begin a lease. Other times only measure.
func (d *digester) sentTimes(v reflect.Value) {
	g, beats := d.session, v.FieldByName("beats")
	for i := range beats.Len() {
		number := g.Beat() - (g.Beat()-uint32(i))%uint32(beats.Len()) // that has this place
		if g.Role == memberstate.Leader && g.OfOffice(number) && number >= g.LeaseBeat() {
			d.number(uint64(g.Beat() - number))
			d.value(beats.Index(i))
			d.value(v.FieldByName("leases").Index(i))
		}
	}
	d.number(0)
}
