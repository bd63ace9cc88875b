package diff

import "github.com/prdiff/prdiff/internal/object"

func (w *walker) compareTexts(before, after object.Value) bool { return false }
