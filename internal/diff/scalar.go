package diff

import (
	"strings"
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
	case duration:
		x, errx := time.ParseDuration(before.Text())
		y, erry := time.ParseDuration(after.Text())
		return errx == nil && erry == nil && x == y
	}
	return false
}

// refusedNumber says why the API server refuses a number in quotes in a field
// that takes a number or a text, "" when it does not. Everywhere in the built-in
// kinds the text is a percentage or the name of a port, of which neither is all
// digits (ValidatePositiveIntOrPercent in pkg/apis/apps/validation and
// ValidatePortNumOrName in pkg/apis/core/validation of
// https://github.com/kubernetes/kubernetes; IsValidPercent and IsValidPortName in
// k8s.io/apimachinery/pkg/util/validation). What a custom resource makes of it is
// not known.
func refusedNumber(key string, v object.Value, n *node) string {
	if n.scalarKind() != intOrString || n.custom || v.Type() != object.String || v.Masked() != nil {
		return ""
	}
	if text := v.Text(); text == "" || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	switch key {
	case "maxSurge", "maxUnavailable", "minAvailable":
		return "in quotes it must be a percentage"
	}
	return "in quotes it is the name of a port, which has a letter"
}
