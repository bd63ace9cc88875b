package object

import (
	"math"
	"math/big"
	"strings"
)

// quantityUnits are the suffixes of quantities
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
var quantityUnits = map[string]*big.Rat{
	"n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3), "": big.NewRat(1, 1),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
}

// Quantity reads v, a text or a number, as a quantity such as "500m" or "1Gi", in
// whole units rounded up: bytes for memory. ok is false for anything else, and for
// a quantity that is negative or too large for an int64.
func (v Value) Quantity() (n int64, ok bool) { return v.scaled(1) }

// MilliQuantity is Quantity in thousandths: millicores for CPU.
func (v Value) MilliQuantity() (n int64, ok bool) { return v.scaled(1000) }

func (v Value) scaled(factor int64) (int64, bool) {
	if v.Type() != String && v.Type() != Number {
		return 0, false
	}
	s := v.String()
	end := len(strings.TrimRight(s, "numkKMGTPEi"))
	number, unit := s[:end], s[end:]
	// Big exponents and fractions are refused before anything is computed with them.
	if len(number) > 40 || strings.ContainsAny(number, "/_xXpP") {
		return 0, false
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 && (unit != "" || len(number)-i > 4) {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(number)
	size, known := quantityUnits[unit]
	if !ok || !known || r.Sign() < 0 {
		return 0, false
	}
	r.Mul(r, size).Mul(r, new(big.Rat).SetInt64(factor))
	whole, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if !whole.IsInt64() {
		return 0, false
	}
	return whole.Int64(), true
}

// Requests gives what the scheduler reserves for one pod of w: millicores and
// bytes. A request that is not written is the limit; init containers run before
// the others, so that the larger of both counts
// (https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers).
// What cannot be read counts as nothing.
func (w Workload) Requests() (milliCPU, memory int64) {
	return w.request("cpu", Value.MilliQuantity), w.request("memory", Value.Quantity)
}

func (w Workload) request(resource string, read func(Value) (int64, bool)) int64 {
	var running, starting, sidecars int64
	for _, c := range w.Containers() {
		amount := c.At("resources.requests").Field(resource)
		if !amount.Exists() {
			amount = c.At("resources.limits").Field(resource)
		}
		n, _ := read(amount)
		switch c.Kind {
		case InitContainer:
			starting = max(starting, sum(n, sidecars))
		case SidecarContainer:
			sidecars = sum(sidecars, n)
			running = sum(running, n)
		case MainContainer:
			running = sum(running, n)
		}
	}
	return max(running, starting)
}

// sum adds two amounts that are not negative, and stops at the largest number.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
