// How messages get from node to node.

package rpc

// Transport carries messages from one node to others. Every node has one, and
// all groups of the node share it.
//
// A transport may lose, delay, duplicate and reorder messages; the election
// copes with all of it. It must not invent or alter any: who a message is from
// is for the transport to prove, as far as the network is not trusted.
//
// All methods are safe for concurrent use.
type Transport interface {
	// Serve delivers to h what arrives for this node, until stop is called.
	// Once stop has returned, no call of h is under way and none will come;
	// Serve may then be called again. Only one handler is served at a time: a
	// second Serve is an error.
	Serve(h Handler) (stop func(), err error)
	// Send hands over a batch for another node. It never blocks: what cannot be
	// sent is dropped, heartbeats and their answers before anything else. Of
	// those that wait only the newest of a group need be sent. It does not keep
	// the slice.
	Send(to string, batch []Message)
}

// Handler takes what a Transport delivers. Its methods return soon; a transport
// may call them from several goroutines.
type Handler interface {
	// Receive takes a batch that arrived for this node. It does not keep the slice.
	Receive(batch []Message)
	// PeerLost says that the process of a node is gone: its connection broke
	// and connecting again was refused, or met another incarnation of it. A
	// transport that cannot tell never calls it. It is a hint, and may be wrong.
	PeerLost(node string)
}
