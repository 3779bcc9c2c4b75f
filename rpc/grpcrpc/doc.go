// Package grpcrpc is an [rpc.Transport] over gRPC, with mutual TLS.
//
// Between two nodes there is one connection. The node with the smaller id opens it, and
// opens it again when it breaks. Each side sends a Hello, the caller confirms the answer,
// and then both send batches of messages for as long as the connection lasts. A message
// does not name its sender, which is the node at the other end. The certificate of that
// node names it, as hustings://member/ID ([IdentityOf]; the command "hustings certs" makes
// such certificates). So a member cannot speak for another.
//
// Operators call the same port (package operator), with certificates of their own,
// hustings://operator/NAME. Neither role includes the other.
//
// Certificates are read again when they change, and open connections verified again.
// The memory of a node is bounded: it limits the bytes that arrive over each connection,
// and the calls whose answers were not sent, with or without a certificate.
//
// Without TLS every node that can connect is trusted, so a transport without TLS listens
// on a loopback address only, unless Config.TrustNetwork is set.
package grpcrpc
