// A logger that does nothing, so that no time goes into formatting.

package etcd

type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Fatal(...any)            {}
func (quiet) Fatalf(string, ...any)   {}

// Panic and Panicf end the run, because raft would go on with a broken invariant if they returned.
func (quiet) Panic(v ...any)                 { panic(v) }
func (quiet) Panicf(format string, v ...any) { panic([]any{format, v}) }
