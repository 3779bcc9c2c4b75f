// Package rpc has the messages between members, and the transports that carry them.
//
// A [Message] is a value that one member of a group sends to another. A [Transport]
// carries batches of messages between nodes. It may lose, delay, duplicate and reorder
// them; the election tolerates that. [Network] is a transport in memory whose links do
// all of this as configured. Package grpcrpc has a transport for real networks, and
// package rpctest is the acceptance test for any transport.
package rpc
