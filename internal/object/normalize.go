package object

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of a manifest. Kubernetes itself refuses JSON that
// is nested deeper (k8s.io/apimachinery json decoding stops at 10,000 levels);
// no kind comes near 200.
const maxDepth = 1000

func normalizeRoot(manifest map[string]any) (*mapping, error) {
	keepNulls(manifest)
	n := normalizer{budget: math.MaxInt}
	v, err := n.normalize(manifest, 0)
	if err != nil {
		return nil, err
	}
	return v.(*mapping), nil
}

// A normalizer turns decoded data into the few types that Values hold.
type normalizer struct {
	budget int // bytes of text that may still come
}

// normalize makes mappings of maps, and works in place where it can: nulls in maps go, integral floats become
// int64 (so that 1e+06 and 1000000 are one number), keys become text, text that is
// not UTF-8 becomes what JSON makes of it.
func (n *normalizer) normalize(raw any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	switch x := raw.(type) {
	case nil, bool, int64, *Masked, null, *mapping:
		return x, nil
	case string:
		if n.budget -= len(x); n.budget < 0 {
			return nil, fmt.Errorf("aliases expand to too much text")
		}
		return strings.ToValidUTF8(x, "\uFFFD"), nil
	case map[string]any:
		pairs := make([]pair, 0, len(x))
		for k, item := range x {
			v, err := n.normalize(item, depth+1)
			if err != nil {
				return nil, err
			}
			if v != nil {
				pairs = append(pairs, pair{k, v})
			}
		}
		return mappingOf(pairs), nil
	case map[any]any:
		pairs := make([]pair, 0, len(x))
		for k, item := range x {
			key, err := keyText(k)
			if err != nil {
				return nil, err
			}
			if n.budget -= len(key); n.budget < 0 {
				return nil, fmt.Errorf("aliases expand to too much text")
			}
			v, err := n.normalize(item, depth+1)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, pair{strings.ToValidUTF8(key, "\uFFFD"), v})
		}
		m := mappingOf(pairs)
		if len(m.pairs) < len(x) {
			return nil, doubleKey(x)
		}
		m.pairs = slices.DeleteFunc(m.pairs, func(p pair) bool { return p.value == nil })
		return m, nil
	case []any:
		for i, item := range x {
			v, err := n.normalize(item, depth+1)
			if err != nil {
				return nil, err
			}
			x[i] = v
		}
		return x, nil
	case int:
		return int64(x), nil
	case int32:
		return int64(x), nil
	case uint64:
		if x <= math.MaxInt64 {
			return int64(x), nil
		}
		return float64(x), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("a number is infinite or not a number, which JSON cannot carry to the API server")
		}
		if i, ok := wholeNumber(x); ok {
			return i, nil
		}
		return x, nil
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i, nil
		}
		f, err := x.Float64()
		if err != nil {
			return nil, fmt.Errorf("a number is too large")
		}
		return n.normalize(f, depth)
	}
	return fmt.Sprint(raw), nil
}

// doubleKey says which keys of a decoded map become one, the first by order.
func doubleKey(m map[any]any) error {
	var keys []string
	for k := range m {
		key, _ := keyText(k)
		keys = append(keys, strings.ToValidUTF8(key, "\uFFFD"))
	}
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return fmt.Errorf("two keys of a map become one in JSON: %q", MaskText(keys[i]))
		}
	}
	return nil
}
