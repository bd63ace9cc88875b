package object

// MapOf makes a map value of other values; absent ones are left out. What the
// values hold is shared, not copied.
func MapOf(fields map[string]Value) Value {
	pairs := make([]pair, 0, len(fields))
	for k, v := range fields {
		if v.raw != nil {
			pairs = append(pairs, pair{k, v.raw})
		}
	}
	return Value{mappingOf(pairs)}
}

// ListOf makes a list value of other values; absent ones are left out. What the
// values hold is shared, not copied.
func ListOf(items []Value) Value {
	l := make([]any, 0, len(items))
	for _, v := range items {
		if v.raw != nil {
			l = append(l, v.raw)
		}
	}
	return Value{l}
}

// TextOf makes a text value.
func TextOf(s string) Value { return Value{s} }
