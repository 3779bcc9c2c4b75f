// The rules for single tokens: what one node of a source may become.

package main

import (
	"go/ast"
	"go/token"
	"strconv"
)

// others are the operators that replace another one: the boundary of a comparison moves, equal becomes
// different, both becomes either, and so on.
var others = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
	token.OR: token.AND, token.AND: token.OR, token.AND_NOT: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// words are the names that replace another one.
var words = map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}

// edits are the changes of a node itself, not of those below it; above are the nodes that it is a part of, the
// outermost first.
func (s *source) edits(n ast.Node, above []ast.Node) []edit {
	switch n := n.(type) {
	case *ast.IfStmt:
		return s.negated(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			return s.cases(n)
		}
	case *ast.BinaryExpr:
		return swapped(n.OpPos, n.Op, n)
	case *ast.AssignStmt:
		return swapped(n.TokPos, n.Tok, n)
	case *ast.IncDecStmt:
		return swapped(n.TokPos, n.Tok, n)
	case *ast.BlockStmt:
		if len(above) == 0 {
			return s.removed(n.List, nil)
		}
		return s.removed(n.List, above[len(above)-1])
	case *ast.CaseClause:
		return s.removed(n.Body, n)
	case *ast.CommClause:
		return s.removed(n.Body, n)
	case *ast.Ident:
		if other, ok := words[n.Name]; ok {
			return []edit{{from: n.Pos(), to: n.End(), text: other, within: around(n, above)}}
		}
	case *ast.BasicLit:
		if value, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil && counts(n, value, above) {
			return []edit{{from: n.Pos(), to: n.End(), text: strconv.FormatInt(value+1, 10), within: around(n, above)}}
		}
	}
	return nil
}

// manyAre is a number from which on an error by one hardly matters.
const manyAre = 100

// counts says whether it matters if a number is changed by one. Numbers of seconds, or sizes of buffers, are hardly
// ever promised.
func counts(n *ast.BasicLit, value int64, above []ast.Node) bool {
	if value >= manyAre || len(above) == 0 {
		return value < manyAre
	}
	switch next := above[len(above)-1].(type) {
	case *ast.BinaryExpr:
		unit, ok := next.Y.(*ast.SelectorExpr)
		if !ok || next.Op != token.MUL {
			return true
		}
		of, ok := unit.X.(*ast.Ident)
		return !ok || of.Name != "time"
	case *ast.CallExpr:
		f, ok := next.Fun.(*ast.Ident)
		if !ok || f.Name != "make" {
			return true
		}
		_, channel := next.Args[0].(*ast.ChanType)
		return !channel && (len(next.Args) < 3 || next.Args[2] != n)
	}
	return true
}

// cases negates the conditions of a switch without a tag.
func (s *source) cases(n *ast.SwitchStmt) (all []edit) {
	for _, clause := range n.Body.List {
		if clause, ok := clause.(*ast.CaseClause); ok {
			for _, cond := range clause.List {
				all = append(all, s.negated(cond)...)
			}
		}
	}
	return all
}

// negated inverts a condition, unless an operator's rule does that already.
func (s *source) negated(cond ast.Expr) []edit {
	switch c := cond.(type) {
	case *ast.BinaryExpr:
		if c.Op == token.EQL || c.Op == token.NEQ {
			return nil
		}
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return []edit{{from: c.OpPos, to: c.X.Pos(), within: cond}}
		}
	}
	text := s.text[s.offset(cond.Pos()):s.offset(cond.End())]
	return []edit{{from: cond.Pos(), to: cond.End(), text: "!(" + string(text) + ")", within: cond}}
}

func swapped(at token.Pos, op token.Token, n ast.Node) []edit {
	other, ok := others[op]
	if !ok {
		return nil
	}
	return []edit{{from: at, to: at + token.Pos(len(op.String())), text: other.String(), within: n}}
}

// removed removes one statement at a time, from a list that is a part of another statement or a function's body.
// Nothing compiles without a declaration, and no function without its last return. Locks are removed as a whole:
// see unlocked.
func (s *source) removed(list []ast.Stmt, under ast.Node) (all []edit) {
	for _, one := range list {
		if s.lock(one) != "" || logs(one) {
			continue
		}
		e := edit{from: one.Pos(), to: one.End()}
		switch one := one.(type) {
		case *ast.AssignStmt:
			if one.Tok == token.DEFINE {
				continue
			}
		case *ast.ReturnStmt:
			if under == nil {
				continue
			}
			e.under = under // so that a reader knows which return it is
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		default:
			continue
		}
		all = append(all, e)
	}
	return all
}

// around is the expression or statement around a word by which a reader knows which one is meant.
func around(n ast.Node, above []ast.Node) ast.Node {
	if len(above) == 0 {
		return n
	}
	switch next := above[len(above)-1].(type) {
	case ast.Expr, *ast.AssignStmt, *ast.ReturnStmt, *ast.ValueSpec:
		return next
	}
	return n
}
