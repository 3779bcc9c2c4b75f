// Mutants made by rules, from every source that ships. Handwritten mutants are bugs that somebody thought
// of; these are for bugs that nobody has thought of.

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// key is the name of a generated mutant without the place in the file.
func key(m *mutant) string {
	_, what, _ := strings.Cut(m.Name, " ")
	return m.File + " " + what
}

// generate makes every mutant of what ships, in the order of the files and of their text.
func generate(root string) ([]mutant, error) {
	files, err := shipped(root)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		made, err := mutantsOf(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// mutantsOf makes the mutants of one file.
func mutantsOf(file string, text []byte) ([]mutant, error) {
	s := source{file: file, text: text, fset: token.NewFileSet(), known: map[string]int{}}
	parsed, err := parser.ParseFile(s.fset, file, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !speaks(d) {
				s.in, s.returns = d.Name.Name, d.Type.Results
				for _, e := range s.unlocked(d.Body) {
					s.add(&e)
				}
				s.walk(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				s.in = "const"
				s.walk(d)
			}
		}
	}
	return s.made, nil
}

// speaks says whether a function only produces text for people.
func speaks(f *ast.FuncDecl) bool {
	return f.Body == nil || slices.Contains([]string{"String", "Error", "LogValue", "illegal"}, f.Name.Name)
}

// source is a file that mutants are made of, and those that were made so far.
type source struct {
	file string
	text []byte
	fset *token.FileSet
	in   string // the function under way
	// returns are its results, outside function literals.
	returns *ast.FieldList
	known   map[string]int // how often each description was used
	made    []mutant
}

// edit replaces a part of a source.
type edit struct {
	from, to token.Pos
	text     string
	says     string   // its description, if within and under do not give it
	within   ast.Node // the part to show, so that a reader knows what is replaced; nil: the part is removed
	under    ast.Node // if not nil, a statement to name besides, from which the part is removed
}

// walk makes the mutants of a part of the file.
func (s *source) walk(part ast.Node) {
	var above []ast.Node
	ast.Inspect(part, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if named(n) || logs(n) {
			return false
		}
		for _, e := range slices.Concat(s.edits(n, above), s.mistakes(n, above)) {
			s.add(&e)
		}
		above = append(above, n)
		return true
	})
}

// named says whether a constant's value is only a name for it.
func named(n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	if !ok {
		return false
	}
	counted := len(spec.Values) == 0
	ast.Inspect(spec, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		counted = counted || ok && id.Name == "iota"
		return true
	})
	return counted
}

// add makes a mutant of an edit.
func (s *source) add(e *edit) {
	from, to := s.offset(e.from), s.offset(e.to)
	says := "without " + short(string(s.text[from:to]))
	if e.under != nil {
		says += " of " + s.heading(e.under)
	}
	if e.within != nil {
		first, last := s.offset(e.within.Pos()), s.offset(e.within.End())
		says = short(string(s.text[first:last])) + " becomes " + short(string(s.text[first:from])+e.text+string(s.text[to:last]))
	}
	if e.says != "" {
		says = e.says
	}
	what := s.in + ": " + says
	if s.known[what]++; s.known[what] > 1 {
		what = fmt.Sprintf("%s (%d)", what, s.known[what])
	}
	place := s.fset.Position(e.from)
	m := mutant{Name: fmt.Sprintf("%s:%d:%d %s", s.file, place.Line, place.Column, what), File: s.file}
	m.Equivalent = equivalents[key(&m)]
	m.Old, m.New = s.replacement(from, to, e.text)
	s.made = append(s.made, m)
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// heading is the first line of a statement.
func (s *source) heading(n ast.Node) string {
	first, _, _ := strings.Cut(string(s.text[s.offset(n.Pos()):s.offset(n.End())]), "\n")
	return short(strings.TrimSuffix(first, " {"))
}

// replacement is the edit as a mutant's Old and New, with as many whole lines before it as it takes to be
// there only once.
func (s *source) replacement(from, to int, text string) (before, after string) {
	begin, end := from, to+max(0, bytes.IndexByte(s.text[to:], '\n'))
	for {
		begin = max(0, bytes.LastIndexByte(s.text[:begin], '\n'))
		before = string(s.text[begin:end])
		if begin == 0 || bytes.Count(s.text, []byte(before)) == 1 {
			return before, string(s.text[begin:from]) + text + string(s.text[to:end])
		}
	}
}

// short is a text on one line, cut to a readable length.
func short(text string) string {
	const longest = 100
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return text
}
