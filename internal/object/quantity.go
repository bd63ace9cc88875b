package object

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Quantity is an exact amount of a resource, as resource.Quantity of Kubernetes
// reads it: a decimal number with an optional suffix (Ki to Ei, n, u, m, k to E) or
// exponent
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
// The zero Quantity is 0.
type Quantity struct {
	millis int64    // thousandths, where value is nil: nearly all quantities fit
	value  *big.Rat // nil where millis says it exactly
}

// maxQuantityText bounds the length of a quantity's text, maxExponent its
// exponent: both far beyond what any field means.
const (
	maxQuantityText = 100
	maxExponent     = 100
)

// ParseQuantity reads a quantity such as "500m", "1.5Gi" or "1e3".
func ParseQuantity(s string) (Quantity, error) {
	if millis, ok := smallQuantity(s); ok {
		return Quantity{millis: millis}, nil
	}
	number := strings.TrimRight(s, "KMGTPEinumke")
	// An exponent has a number after its e: what stands before the e counts.
	if i := strings.IndexAny(s, "eE"); i > 0 && i+1 < len(s) {
		number = s[:i]
	}
	suffix := s[len(number):]
	if len(s) > maxQuantityText || !isDecimal(number) {
		return Quantity{}, fmt.Errorf("not a quantity: a number with an optional suffix such as m, Mi or k was expected")
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return Quantity{}, fmt.Errorf("not a quantity: the number is malformed")
	}
	scale, ok := quantityScale(suffix)
	if !ok {
		return Quantity{}, fmt.Errorf("not a quantity: the suffix is unknown (m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei)")
	}
	return Quantity{value: value.Mul(value, scale)}, nil
}

// smallQuantity reads the quantities that most fields have, digits with a common
// suffix or none, to thousandths.
func smallQuantity(s string) (millis int64, ok bool) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > 9 {
		return 0, false
	}
	scale := int64(1000)
	switch s[n:] {
	case "":
	case "m":
		scale = 1
	case "k":
		scale = 1000 * 1000
	case "Ki":
		scale = 1000 << 10
	case "Mi":
		scale = 1000 << 20
	case "M":
		scale = 1000 * 1000 * 1000
	case "Gi":
		scale = 1000 << 30
	default:
		return 0, false
	}
	number, err := strconv.ParseInt(s[:n], 10, 64)
	if err != nil || number > math.MaxInt64/scale {
		return 0, false
	}
	return number * scale, true
}

// isDecimal says whether s is [+-]digits[.digits], with at least one digit.
func isDecimal(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	whole, fraction, _ := strings.Cut(s, ".")
	return whole+fraction != "" && isDigitsOrEmpty(whole) && isDigitsOrEmpty(fraction)
}

func isDigitsOrEmpty(s string) bool { return strings.Trim(s, "0123456789") == "" }

// quantityScale gives the factor of a suffix or exponent.
func quantityScale(suffix string) (*big.Rat, bool) {
	switch suffix {
	case "":
		return big.NewRat(1, 1), true
	case "n":
		return powerOf(10, -9), true
	case "u":
		return powerOf(10, -6), true
	case "m":
		return powerOf(10, -3), true
	case "k":
		return powerOf(10, 3), true
	}
	if i := strings.Index("MGTPE", suffix); i >= 0 && len(suffix) == 1 {
		return powerOf(10, 6+3*i), true
	}
	if unit, ok := strings.CutSuffix(suffix, "i"); ok && len(unit) == 1 {
		if i := strings.Index("KMGTPE", unit); i >= 0 {
			return powerOf(1024, 1+i), true
		}
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return nil, false
	}
	exponent, ok := smallInt(suffix[1:])
	if !ok {
		return nil, false
	}
	return powerOf(10, exponent), true
}

// smallInt reads a signed whole number up to maxExponent.
func smallInt(s string) (int, bool) {
	negative := strings.HasPrefix(s, "-")
	digits := s
	if negative || strings.HasPrefix(s, "+") {
		digits = s[1:]
	}
	if !isDigits(digits) || len(digits) > 3 {
		return 0, false
	}
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	if n > maxExponent {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

func powerOf(base int64, exponent int) *big.Rat {
	n := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}

// Quantity reads v as a quantity: text, or a number that stands for itself.
func (v Value) Quantity() (Quantity, error) {
	switch x := v.raw.(type) {
	case string:
		return ParseQuantity(x)
	case int64:
		return Quantity{value: new(big.Rat).SetInt64(x)}, nil
	case float64:
		if r := new(big.Rat).SetFloat64(x); r != nil {
			return Quantity{value: r}, nil
		}
	}
	return Quantity{}, fmt.Errorf("not a quantity: neither text nor number")
}

func (q Quantity) rat() *big.Rat {
	if q.value == nil {
		return big.NewRat(q.millis, 1000)
	}
	return q.value
}

// Cmp compares exactly: -1 when q is less than o, 0 when both are the same amount,
// +1 when q is more.
func (q Quantity) Cmp(o Quantity) int {
	if q.value == nil && o.value == nil {
		return cmp.Compare(q.millis, o.millis)
	}
	return q.rat().Cmp(o.rat())
}

// IsZero says whether q is nothing.
func (q Quantity) IsZero() bool { return q.Cmp(Quantity{}) == 0 }

// Add gives the sum.
func (q Quantity) Add(o Quantity) Quantity {
	if q.value == nil && o.value == nil && max(q.millis, o.millis) < math.MaxInt64/2 && min(q.millis, o.millis) >= 0 {
		return Quantity{millis: q.millis + o.millis}
	}
	return Quantity{value: new(big.Rat).Add(q.rat(), o.rat())}
}

// Mul gives q n times, such as the requests of n pods.
func (q Quantity) Mul(n int64) Quantity {
	return Quantity{value: new(big.Rat).Mul(q.rat(), new(big.Rat).SetInt64(n))}
}

// Ratio gives q divided by o, 0 when o is nothing.
func (q Quantity) Ratio(o Quantity) float64 {
	if o.IsZero() {
		return 0
	}
	f, _ := new(big.Rat).Quo(q.rat(), o.rat()).Float64()
	return f
}

// Millis gives thousandths, rounded away from 0 as Kubernetes does: millicores of a CPU
// quantity. Amounts beyond an int64 become the nearest one.
func (q Quantity) Millis() int64 {
	if q.value == nil {
		return q.millis
	}
	return roundUp(new(big.Rat).Mul(q.rat(), big.NewRat(1000, 1)))
}

// Bytes gives whole units, rounded away from 0: bytes of a memory or storage quantity.
func (q Quantity) Bytes() int64 {
	if q.value == nil && q.millis%1000 == 0 {
		return q.millis / 1000
	}
	return roundUp(q.rat())
}

// roundUp rounds away from 0.
func roundUp(r *big.Rat) int64 {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	quotient.Add(quotient, big.NewInt(int64(rest.Sign())))
	return clampInt(quotient)
}

func clampInt(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return -1 << 63
	default:
		return 1<<63 - 1
	}
}

// An IntOrString is a count or a percentage, as maxSurge, maxUnavailable and the
// fields of a PodDisruptionBudget take it
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/int-or-string/).
type IntOrString struct {
	Number  int64
	Percent bool // Number is percent of a total
}

// IntOrString reads v as a count or percentage. Digits without a percent sign are
// refused by the API server where it wants a percentage, and read as a count here;
// ok is false for anything else.
func (v Value) IntOrString() (n IntOrString, ok bool) {
	if text, found := strings.CutSuffix(v.Text(), "%"); found {
		n.Number, ok = Value{text}.Int()
		n.Percent = true
		return n, ok
	}
	n.Number, ok = v.Int()
	return n, ok
}

// Of gives the count out of a total; percentages are rounded up or down. Kubernetes
// rounds maxSurge and a budget's fields up, a Deployment's maxUnavailable down
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment,
// https://kubernetes.io/docs/tasks/run-application/configure-pdb/#rounding-logic-when-specifying-percentages).
func (n IntOrString) Of(total int64, up bool) int64 {
	if !n.Percent {
		return n.Number
	}
	product := new(big.Int).Mul(big.NewInt(n.Number), big.NewInt(total))
	if up {
		return roundUp(new(big.Rat).SetFrac(product, big.NewInt(100)))
	}
	// Euclidean division rounds towards minus infinity for a positive divisor.
	return clampInt(product.Div(product, big.NewInt(100)))
}

// String gives the count, or the percentage with its sign.
func (n IntOrString) String() string {
	if n.Percent {
		return fmt.Sprintf("%d%%", n.Number)
	}
	return fmt.Sprint(n.Number)
}
