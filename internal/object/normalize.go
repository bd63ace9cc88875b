package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// maxDepth bounds the nesting of a manifest. Kubernetes itself refuses JSON that
// is nested deeper (k8s.io/apimachinery json decoding stops at 10,000 levels);
// no kind comes near 200.
const maxDepth = 1000

func normalizeRoot(manifest map[string]any) (map[string]any, error) {
	v, err := normalize(manifest, 0)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// normalize turns decoded data into the few types that Values hold, in place
// where it can: nulls in maps go, integral floats become int64 (so that 1e+06
// and 1000000 are one number), keys become text.
func normalize(raw any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	switch x := raw.(type) {
	case nil, string, bool, int64, *Masked:
		return x, nil
	case map[string]any:
		for k, item := range x {
			v, err := normalize(item, depth+1)
			if err != nil {
				return nil, err
			}
			if v == nil {
				delete(x, k)
				continue
			}
			x[k] = v
		}
		return x, nil
	case map[any]any:
		m := make(map[string]any, len(x))
		for k, item := range x {
			v, err := normalize(item, depth+1)
			if err != nil {
				return nil, err
			}
			if v == nil {
				continue
			}
			m[keyText(k)] = v
		}
		return m, nil
	case []any:
		for i, item := range x {
			v, err := normalize(item, depth+1)
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
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), nil
		}
		return x, nil
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, nil
		}
		f, err := x.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s: %w", x, err)
		}
		return normalize(f, depth)
	}
	return fmt.Sprint(raw), nil
}

// keyText spells a map key as sigs.k8s.io/yaml does when it turns YAML into
// JSON: `true:` and `80:` are the texts "true" and "80".
func keyText(k any) string {
	if s, ok := k.(string); ok {
		return s
	}
	return fmt.Sprint(k)
}

func appendText(b []byte, s string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}
