// The drawing: one self-contained SVG, for light and for dark mode.

package main

import (
	_ "embed"
	"html/template"
)

//go:embed drawing.svg
var drawingText string

var drawing = template.Must(template.New("drawing").Funcs(template.FuncMap{
	"plus":   func(a, b float64) float64 { return a + b },
	"top":    func() float64 { return top },
	"bottom": func() float64 { return top + plotHeight },
	"width":  func() float64 { return plotWidth },
}).Parse(drawingText))
