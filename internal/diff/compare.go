package diff

import "github.com/prdiff/prdiff/internal/object"

// Options tunes Compare; the zero value is the default.
type Options struct {
	// Unfiltered lists ids of noise filters that are switched off.
	Unfiltered []string
}

// Compare gives the changes that lead from before to after, ordered by Ref.
// Nil sets are empty.
func Compare(before, after *object.Set, opts Options) []Change {
	return nil
}
