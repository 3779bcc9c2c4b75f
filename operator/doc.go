// Package operator is for operators of nodes: over gRPC it shows a node's state in its groups,
// and commands the node.
//
// A node registers the service with its transport's server:
//
//	transport, err := grpcrpc.New(...)
//	host, err := elector.NewHost(elector.HostConfig{Transport: transport, ...})
//	operator.Register(transport.Registrar(), host, transport.Address)
//
// and an operator connects with [Dial]. With TLS, calls need an operator's certificate.
//
// Commands reach whatever process the node has when they arrive. [Client.ForProcess] has them refused by any process but
// the one that [Client.Nodes] has shown.
package operator
