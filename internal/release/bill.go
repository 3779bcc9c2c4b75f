// The bill of materials of an archive, in CycloneDX format: the revision of the command, and
// every module in it, as recorded by the linker.

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"runtime/debug"
)

// bill is the part of a CycloneDX 1.6 document that is needed.
type bill struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	URL        string     `json:"purl"`
	Pedigree   *pedigree  `json:"pedigree,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

// pedigree names the revision of a component.
type pedigree struct {
	Commits []commit `json:"commits"`
}

type commit struct {
	ID string `json:"uid"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// componentOf describes a module, with its sum as in go.sum.
func componentOf(kind string, m *debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: kind, Ref: url, Name: m.Path, Version: m.Version, URL: url, Properties: []property{{"go.sum", m.Sum}}}
}

// writeBill writes the bill of materials of a binary.
func (r *release) writeBill(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Timestamp = r.time
	b.Metadata.Component = componentOf("application", &info.Main)
	b.Metadata.Component.Pedigree = &pedigree{[]commit{{r.revision}}}
	std := "pkg:golang/stdlib@" + info.GoVersion
	b.Components = append(b.Components, component{Type: "library", Ref: std, Name: "stdlib", Version: info.GoVersion, URL: std})
	for _, m := range info.Deps {
		b.Components = append(b.Components, componentOf("library", m))
	}
	return create(file, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(b)
	})
}
