// The events of a world.

package simulation

// event is something that happens. It fits in one word, because a run has millions of them.
type event uint64

// newEvent is an event of a kind at a node. Its argument is a parcel, an incarnation or a term.
// World.about adds the group, in the bits above the node.
func newEvent(kind eventKind, node uint8, arg uint32) event {
	return event(kind)<<48 | event(node)<<32 | event(arg)
}

func (e event) kind() eventKind { return eventKind(e >> 48) }
func (e event) node() uint8     { return uint8(e >> 32) }
func (e event) group() uint8    { return uint8(e >> groupShift) }
func (e event) arg() uint32     { return uint32(e) }

const groupShift = 40

type eventKind uint8

const (
	parcelArrives  eventKind = iota // arg: its place in the pool
	saveEnds                        // arg: the incarnation that saves
	leaseEnds                       // arg: the incarnation that holds it
	engineTicks                     // arg: the term
	entriesWritten                  // arg: the incarnation, times mostWrites, and the place of the append
	leadReturns                     // arg: the incarnation
	ledgerRead                      // arg: the incarnation
	ledgerAnswered                  // arg: the incarnation
	writesPause                     // arg: the incarnation and the number of the pause
	ledgerOverdue                   // arg: the incarnation
	groupRejoins                    // arg: the incarnation
	healthAnswered                  // arg: the incarnation
	enginesJudged                   // arg: the incarnation
	engineRecovers
	engineReturns
	judgeReturns
	flapsEnd
	electableAgain
	nodeServes // arg: the incarnation that drains
	nodeMoves  // arg: the incarnation that is protected
	nodeStays  // arg: the incarnation that balances
	faultStrikes
	faultStrikesAgain
	strikePlanned // arg: its number
	strikeFollows // arg: its number
	nodeRestarts  // arg: the incarnation that ended
	pauseEnds     // arg: the incarnation
	diesInSave    // arg: the incarnation
	sluggishEnds
	diskRecovers
	diskReturns
	troubleEnds // arg: its number
	branches    // arg: its number
)
