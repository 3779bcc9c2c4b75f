// The contract of a transport.

package rpc

// Transport carries messages from one node to others. Every node has one, and
// all groups of the node share it.
//
// A transport may lose, delay, duplicate and reorder messages; the election
// tolerates that. It must not invent or alter any. If the network is not trusted,
// the transport must verify the sender of each message.
//
// All methods are safe for concurrent use.
type Transport interface {
	// Serve delivers arriving messages to h until stop is called. Once stop has
	// returned, no call of h is under way and none will come; Serve may then be
	// called again. Only one handler is served at a time: a second Serve is an
	// error. Another call of stop does nothing.
	Serve(h Handler) (stop func(), err error)
	// Send sends a batch to another node. It never blocks: messages that cannot be
	// sent are dropped, heartbeats and their answers first. If heartbeats wait, only
	// the newest of each group needs to be sent. Send neither changes nor keeps the slice: its owner
	// uses it again as soon as Send has returned.
	Send(to string, batch []Message)
}

// Handler receives from a Transport. Its methods return soon; a transport may call
// them from several goroutines.
type Handler interface {
	// Receive takes a batch that arrived for this node. It does not keep the slice, which the transport
	// may use again.
	Receive(batch []Message)
	// PeerLost says that the process of a node is gone: its connection broke, and
	// connecting again was refused or reached another incarnation of the node. A
	// transport that cannot find this out never calls it. It is a hint, and may be
	// wrong.
	PeerLost(node string)
}
