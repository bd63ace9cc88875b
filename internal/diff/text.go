package diff

import "github.com/prdiff/prdiff/internal/object"

// A text is a text of both sides that was compared as a structure.
type text struct{ before, after object.Value }

func (w *walker) compareTexts(before, after object.Value) bool { return false }
