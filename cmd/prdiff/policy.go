package main

import (
	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/diff"
)

// knownWords are the words that a configuration may use.
func knownWords() config.Known {
	known := config.Known{Renderers: rendererNames}
	for _, f := range diff.Filters() {
		known.Filters = append(known.Filters, f.ID)
	}
	return known
}
