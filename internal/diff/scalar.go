package diff

import (
	"math/big"
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
		x, okx := parseQuantity(before.String())
		y, oky := parseQuantity(after.String())
		return okx && oky && x.Cmp(y) == 0
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

// quantitySuffixes are the powers of a quantity's suffix
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
var quantitySuffixes = map[string]struct{ base, exponent int64 }{
	"Ki": {1024, 1}, "Mi": {1024, 2}, "Gi": {1024, 3}, "Ti": {1024, 4}, "Pi": {1024, 5}, "Ei": {1024, 6},
	"n": {1000, -3}, "u": {1000, -2}, "m": {1000, -1}, "": {1000, 0},
	"k": {1000, 1}, "M": {1000, 2}, "G": {1000, 3}, "T": {1000, 4}, "P": {1000, 5}, "E": {1000, 6},
}

// parseQuantity reads a quantity exactly.
func parseQuantity(s string) (*big.Rat, bool) {
	end := len(strings.TrimRight(s, "KMGTPEinumk"))
	number, suffix := s[:end], s[end:]
	if len(number) > 64 || strings.ContainsAny(number, "/_xXpP") {
		return nil, false
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 && (suffix != "" || len(number)-i > 4) {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(number)
	power, known := quantitySuffixes[suffix]
	if !ok || !known {
		return nil, false
	}
	factor := new(big.Int).Exp(big.NewInt(power.base), big.NewInt(max(power.exponent, -power.exponent)), nil)
	if power.exponent < 0 {
		return r.Quo(r, new(big.Rat).SetInt(factor)), true
	}
	return r.Mul(r, new(big.Rat).SetInt(factor)), true
}
