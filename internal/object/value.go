package object

import (
	"iter"
	"math"
	"strconv"
)

// A Value is a read-only view of one value inside an object. The zero Value
// stands for "nothing there": reading from it gives zero Values, never a panic.
type Value struct{ raw any }

// A Type is what a Value holds.
type Type int

// The types of values. Masked values are of type String.
const (
	Absent Type = iota
	Map
	List
	String
	Number
	Bool
	Null // only where it means something: in the values for a chart
)

// Of makes a Value of decoded data, normalised as New does. It is for text that
// is itself YAML or JSON inside a field, and for tests; data must not be changed
// afterwards.
func Of(data any) Value {
	n := normalizer{budget: math.MaxInt}
	v, err := n.normalize(data, 0)
	if err != nil {
		return Value{}
	}
	return Value{v}
}

// Type says what v holds.
func (v Value) Type() Type {
	switch v.raw.(type) {
	case *mapping:
		return Map
	case []any:
		return List
	case string, *Masked:
		return String
	case int64, float64:
		return Number
	case bool:
		return Bool
	case null:
		return Null
	}
	return Absent
}

// Exists says whether there is anything. Nulls that say nothing were dropped when
// the object was made.
func (v Value) Exists() bool { return v.raw != nil }

// Field gives the value of one key of a map, taken literally: dots have no meaning.
func (v Value) Field(key string) Value {
	m, _ := v.raw.(*mapping)
	return Value{m.get(key)}
}

// Fields gives keys and values of a map in byte order of the keys.
func (v Value) Fields() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		m, _ := v.raw.(*mapping)
		for i := range m.len() {
			if !yield(m.pairs[i].key, Value{m.pairs[i].value}) {
				return
			}
		}
	}
}

// Keys gives the keys of a map in byte order, nil for anything else.
func (v Value) Keys() []string {
	m, _ := v.raw.(*mapping)
	return m.keys()
}

// Len is the number of items of a list or keys of a map, and 0 for anything else.
func (v Value) Len() int {
	switch x := v.raw.(type) {
	case []any:
		return len(x)
	case *mapping:
		return x.len()
	}
	return 0
}

// Item gives the i-th item of a list, the zero Value when there is none.
func (v Value) Item(i int) Value {
	l, _ := v.raw.([]any)
	if i < 0 || i >= len(l) {
		return Value{}
	}
	return Value{l[i]}
}

// Items gives the items of a list in order.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		l, _ := v.raw.([]any)
		for i := range l {
			if !yield(i, Value{l[i]}) {
				return
			}
		}
	}
}

// Text gives the text that v holds, masked where it is secret; "" for anything
// that is not text.
func (v Value) Text() string {
	switch x := v.raw.(type) {
	case string:
		return x
	case *Masked:
		return x.Shown
	}
	return ""
}

// Masked gives the masked secret that v holds, nil when v is not secret.
func (v Value) Masked() *Masked {
	m, _ := v.raw.(*Masked)
	return m
}

// Int gives the whole number that v holds as a number or as text of decimal digits.
func (v Value) Int() (int64, bool) {
	switch x := v.raw.(type) {
	case int64:
		return x, true
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return int64(x), true
		}
	case string:
		n, err := strconv.ParseInt(x, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// Float gives the number that v holds as a number or as decimal text.
func (v Value) Float() (float64, bool) {
	switch x := v.raw.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case string:
		n, err := strconv.ParseFloat(x, 64)
		return n, err == nil
	}
	return 0, false
}

// Bool gives the boolean that v holds, and whether it holds one.
func (v Value) Bool() (value, ok bool) {
	b, ok := v.raw.(bool)
	return b, ok
}

// Strings gives a map of texts as a fresh map; values that are not text are left out.
func (v Value) Strings() map[string]string {
	m, _ := v.raw.(*mapping)
	out := make(map[string]string, m.len())
	for k, v := range v.Fields() {
		if v.Type() == String {
			out[k] = v.Text()
		}
	}
	return out
}

// Texts gives the texts of a list; items that are not text are left out.
func (v Value) Texts() []string {
	l, _ := v.raw.([]any)
	var out []string
	for _, x := range l {
		if v := (Value{x}); v.Type() == String {
			out = append(out, v.Text())
		}
	}
	return out
}

// Equal says whether two values are the same in Kubernetes' eyes without a
// schema: key order is nothing, numbers compare as numbers, masked secrets by
// what they hide.
func (v Value) Equal(o Value) bool { return equal(v.raw, o.raw, false) }

// Settled says whether two values are Equal and hold nothing that is Unsettled.
func (v Value) Settled(o Value) bool { return equal(v.raw, o.raw, true) }

// equal is one walk for both: whole sets are gone through. With settled, what both
// share is looked at too.
func equal(a, b any, settled bool) bool {
	switch x := a.(type) {
	case *mapping:
		y, ok := b.(*mapping)
		if !ok || len(x.pairs) != len(y.pairs) {
			return false
		}
		// Much of both sides is one map: see Documents and WireReader.
		if !settled && x == y {
			return true
		}
		for i := range x.pairs {
			if x.pairs[i].key != y.pairs[i].key || !equal(x.pairs[i].value, y.pairs[i].value, settled) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if !settled && len(x) > 0 && &x[0] == &y[0] {
			return true
		}
		for i := range x {
			if !equal(x[i], y[i], settled) {
				return false
			}
		}
		return true
	case *Masked:
		y, ok := b.(*Masked)
		return ok && x.Same(y) && !(settled && Value{x}.Unsettled())
	case string:
		return a == b && !(settled && holdsUnsettled(x))
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return a == b
}

// String gives v as compact JSON, texts without quotes; "" for the zero Value.
func (v Value) String() string {
	switch x := v.raw.(type) {
	case nil:
		return ""
	case string:
		return x
	case *Masked:
		return x.Shown
	}
	return string(appendJSON(nil, v.raw))
}

// MarshalJSON writes v as JSON, keys in byte order, secrets masked, without
// escaping of <, > and &.
func (v Value) MarshalJSON() ([]byte, error) { return appendJSON(nil, v.raw), nil }

func appendJSON(b []byte, raw any) []byte {
	switch x := raw.(type) {
	case *mapping:
		b = append(b, '{')
		for i, p := range x.pairs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, p.key), ':')
			b = appendJSON(b, p.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case string:
		return appendText(b, x)
	case *Masked:
		return appendText(b, x.Shown)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case bool:
		return strconv.AppendBool(b, x)
	case float64:
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	return append(b, "null"...)
}
