// The rules for larger mistakes: something is forgotten, or done in the wrong order, around locks, waits, contexts,
// errors, and state that has to be reset.

package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// mistakes are the changes of a node as a whole; above are the nodes that it is a part of, the outermost first.
func (s *source) mistakes(n ast.Node, above []ast.Node) []edit {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return s.exchanged(n.List)
	case *ast.CaseClause:
		return s.exchanged(n.Body)
	case *ast.CommClause:
		return s.exchanged(n.Body)
	case *ast.SelectStmt:
		return s.unheard(n)
	case *ast.GoStmt:
		return []edit{{from: n.Pos(), to: n.Call.Pos(), says: s.says(n) + " is called in place"}}
	case *ast.CallExpr:
		return slices.Concat(s.inPlace(n), s.endless(n))
	case *ast.ReturnStmt:
		return s.swallowed(n, above)
	case *ast.AssignStmt:
		return s.partly(n)
	case *ast.CompositeLit:
		return s.unset(n)
	}
	return nil
}

// unlocked removes all locking of one lock in a function. If only half of it were removed the program would stop,
// which every test notices.
func (s *source) unlocked(body *ast.BlockStmt) (all []edit) {
	var locks []string
	calls := map[string][]ast.Stmt{}
	ast.Inspect(body, func(n ast.Node) bool {
		if stmt, ok := n.(ast.Stmt); ok {
			if of := s.lock(stmt); of != "" {
				if len(calls[of]) == 0 {
					locks = append(locks, of)
				}
				calls[of] = append(calls[of], stmt)
			}
		}
		return true
	})
	for _, of := range locks {
		var text strings.Builder
		first, last := calls[of][0], calls[of][len(calls[of])-1]
		at := first.Pos()
		for _, call := range calls[of] {
			text.Write(s.text[s.offset(at):s.offset(call.Pos())])
			at = call.End()
		}
		all = append(all, edit{from: first.Pos(), to: last.End(), text: text.String(), says: "without the lock " + of})
	}
	return all
}

// lock is what a statement locks or unlocks; empty: nothing.
func (s *source) lock(stmt ast.Stmt) string {
	call := called(stmt)
	if call == nil || len(call.Args) > 0 {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, f.Sel.Name) {
		return ""
	}
	return s.says(f.X)
}

// called is the call in a statement, immediate or deferred; nil: none.
func called(stmt ast.Stmt) *ast.CallExpr {
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		call, _ := stmt.X.(*ast.CallExpr)
		return call
	case *ast.DeferStmt:
		return stmt.Call
	}
	return nil
}

// exchanged exchanges two neighbours: two steps, or a check and the step after it.
func (s *source) exchanged(list []ast.Stmt) (all []edit) {
	for i := range max(0, len(list)-1) {
		one, other := list[i], list[i+1]
		if !s.ordered(one, other) {
			continue
		}
		text := s.raw(other) + string(s.text[s.offset(one.End()):s.offset(other.Pos())]) + s.raw(one)
		all = append(all, edit{from: one.Pos(), to: other.End(), text: text, says: s.heading(one) + " comes after " + s.heading(other)})
	}
	return all
}

// ordered says whether the order of two statements may matter. That of two plain assignments hardly ever does.
func (s *source) ordered(one, other ast.Stmt) bool {
	if s.lock(one) != "" || s.lock(other) != "" {
		return false
	}
	first, second := leaves(one), leaves(other)
	switch {
	case first && second:
		return true
	case first:
		return acts(other)
	case second:
		return false // a check that comes too late is the case above
	}
	return acts(one) && acts(other) && (calls(one) || calls(other))
}

// leaves says whether a statement leaves early, or goes on.
func leaves(stmt ast.Stmt) bool {
	check, ok := stmt.(*ast.IfStmt)
	if !ok || check.Else != nil || len(check.Body.List) == 0 {
		return false
	}
	switch check.Body.List[len(check.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// acts says whether a statement does something and declares nothing.
func acts(stmt ast.Stmt) bool {
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		return !logs(stmt)
	case *ast.AssignStmt:
		return stmt.Tok != token.DEFINE
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	}
	return false
}

// calls says whether a statement calls anything, or waits for it.
func calls(stmt ast.Stmt) (found bool) {
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.SendStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// unheard removes one of the cases of a select.
func (s *source) unheard(n *ast.SelectStmt) (all []edit) {
	if len(n.Body.List) < 2 {
		return nil
	}
	for _, clause := range n.Body.List {
		all = append(all, edit{from: clause.Pos(), to: clause.End(), says: "without " + s.heading(clause) + " of select"})
	}
	return all
}

// inPlace runs a function in place that should run in a goroutine, if it is started by a method Go, such as that
// of sync.WaitGroup.
func (s *source) inPlace(n *ast.CallExpr) []edit {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Go" || len(n.Args) != 1 {
		return nil
	}
	return []edit{{from: n.Pos(), to: n.End(), text: s.raw(n.Args[0]) + "()", says: s.heading(n) + " is called in place"}}
}

// endless makes a call go on when its context has ended.
func (s *source) endless(n *ast.CallExpr) []edit {
	if len(n.Args) == 0 || !strings.HasSuffix(strings.ToLower(s.says(n.Args[0])), "ctx") || s.says(n.Fun) == "context.WithoutCancel" {
		return nil
	}
	ctx := n.Args[0]
	return []edit{{from: ctx.Pos(), to: ctx.End(), text: "context.WithoutCancel(" + s.raw(ctx) + ")", says: s.says(n) + " does not end with " + s.says(ctx)}}
}

// swallowed returns no error where there is one.
func (s *source) swallowed(n *ast.ReturnStmt, above []ast.Node) []edit {
	returns := s.returns
	for _, part := range above {
		if f, ok := part.(*ast.FuncLit); ok {
			returns = f.Type.Results
		}
	}
	if !fails(returns) || len(n.Results) == 0 {
		return nil
	}
	err := n.Results[len(n.Results)-1]
	switch e := err.(type) {
	case *ast.Ident:
		if e.Name == "nil" {
			return nil
		}
	case *ast.CallExpr:
		if !slices.Contains([]string{"fmt.Errorf", "errors.New", "errors.Join"}, s.says(e.Fun)) {
			return nil
		}
	case *ast.SelectorExpr:
	default:
		return nil
	}
	return []edit{{from: err.Pos(), to: err.End(), text: "nil", within: n}}
}

// fails says whether the last of some results is an error.
func fails(results *ast.FieldList) bool {
	if results == nil || len(results.List) == 0 {
		return false
	}
	last, ok := results.List[len(results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// partly removes one of several things that are set together.
func (s *source) partly(n *ast.AssignStmt) (all []edit) {
	if n.Tok != token.ASSIGN || len(n.Lhs) < 2 || len(n.Lhs) != len(n.Rhs) {
		return nil
	}
	for i := range n.Lhs {
		left, right := slices.Delete(slices.Clone(n.Lhs), i, i+1), slices.Delete(slices.Clone(n.Rhs), i, i+1)
		all = append(all, edit{from: n.Pos(), to: n.End(), text: s.list(left) + " = " + s.list(right), within: n})
	}
	return all
}

func (s *source) list(of []ast.Expr) string {
	parts := make([]string, len(of))
	for i, one := range of {
		parts[i] = s.raw(one)
	}
	return strings.Join(parts, ", ")
}

// unset leaves a field of a new value at its zero.
func (s *source) unset(n *ast.CompositeLit) (all []edit) {
	if _, isMap := n.Type.(*ast.MapType); isMap {
		return nil
	}
	for i, one := range n.Elts {
		pair, ok := one.(*ast.KeyValueExpr)
		if !ok {
			return nil
		}
		if _, ok := pair.Key.(*ast.Ident); !ok || slices.Contains([]string{"0", "nil", "false", `""`}, s.says(pair.Value)) {
			continue
		}
		to := n.Rbrace
		if i+1 < len(n.Elts) {
			to = n.Elts[i+1].Pos()
		}
		what := s.says(pair)
		if n.Type != nil {
			what += " of " + s.says(n.Type)
		}
		all = append(all, edit{from: pair.Pos(), to: to, says: "without the field " + what})
	}
	return all
}

// logs says whether a statement only writes to a log.
func logs(n ast.Node) bool {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := stmt.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && len(call.Args) > 0 && slices.Contains([]string{"Debug", "Info", "Warn", "Error", "LogAttrs"}, strings.TrimSuffix(f.Sel.Name, "Context"))
}

// raw is the text of a node, and says is the same on one line.
func (s *source) raw(n ast.Node) string  { return string(s.text[s.offset(n.Pos()):s.offset(n.End())]) }
func (s *source) says(n ast.Node) string { return short(s.raw(n)) }
