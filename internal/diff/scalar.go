package diff

import (
	"time"

	"github.com/prdiff/prdiff/internal/object"
)

// sameMeaning says whether two values that are spelled differently mean the same
// to Kubernetes, given what the schema says about them.
func sameMeaning(before, after object.Value, kind scalar) bool {
	if !isScalar(before) || !isScalar(after) || before.Masked() != nil || after.Masked() != nil {
		return false
	}
	switch kind {
	case quantity:
		x, errx := object.ParseQuantity(before.String())
		y, erry := object.ParseQuantity(after.String())
		return errx == nil && erry == nil && x.Cmp(y) == 0
	case intOrString:
		// A number in quotes is meant as the number.
		x, okx := before.Int()
		y, oky := after.Int()
		return okx && oky && x == y
	case duration:
		x, errx := time.ParseDuration(before.Text())
		y, erry := time.ParseDuration(after.Text())
		return errx == nil && erry == nil && x == y
	}
	return false
}
