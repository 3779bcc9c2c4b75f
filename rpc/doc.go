// Package rpc has the messages between members, and the interface of the transport that
// carries them.
//
// A [Message] is a value that one member of a group sends to another.
// A [Transport] carries batches of them between nodes; it may lose, delay,
// duplicate and reorder them, and elections stay safe. A [BeatTransport] also carries
// each [Beat], with which two nodes speak for many groups at once. [Network] is a transport
// in memory whose links do all of that on command. Package grpcrpc has one for
// real networks, and package rpctest is the acceptance test for any transport.
package rpc
