package diff

import (
	_ "embed"
	"strings"
	"sync"
)

//go:generate go run -C gen .

// schemaTable says which lists of the built-in kinds are keyed, sets or atomic.
// It stays plain text so that a raised Kubernetes version can be reviewed as a
// diff; it is read on first use, in about a millisecond.
//
//go:embed schema.txt
var schemaTable string

// customTable is the same for custom resources that are common without their
// definition.
//
//go:embed custom.txt
var customTable string

// A shape is what a schema says about the values at one place.
type shape uint8

const (
	one     shape = iota // a scalar or a struct
	mapOf                // any keys, values of one type
	list                 // an atomic list: for the API server, one value
	setOf                // each value once
	keyedBy              // items identified by keys
)

// A scalar is a value of which the spelling is not the meaning.
type scalar uint8

const (
	plain scalar = iota
	quantity
	intOrString
	duration
)

// A node is the schema of one place. The nil node knows nothing, and every
// method can be called on it.
type node struct {
	name     string // of the struct type, such as "core.v1.Container"
	shape    shape
	scalar   scalar
	fields   map[string]*node
	elem     *node // of map values and list items; nil when nothing is known of them
	keys     []string
	order    order
	optional bool // an empty list or map is stored as none
	custom   bool // from a CustomResourceDefinition, or of a kind without schema
	defaults map[string]defaultRule
	// frozen says that a custom resource's schema forbids changes here.
	frozen string
}

// child gives the schema of one key of a map.
func (n *node) child(key string) *node {
	switch {
	case n == nil:
		return nil
	case n.shape == mapOf:
		return n.elem
	}
	return n.fields[key]
}

// item gives the schema of a list's items.
func (n *node) item() *node {
	if n == nil {
		return nil
	}
	return n.elem
}

// isCustom says whether n knows less than a built-in kind's schema would.
func (n *node) isCustom() bool { return n == nil || n.custom }

func (n *node) scalarKind() scalar {
	if n == nil {
		return plain
	}
	return n.scalar
}

func (n *node) defaultRule(key string) (defaultRule, bool) {
	if n == nil {
		return defaultRule{}, false
	}
	d, ok := n.defaults[key]
	return d, ok
}

// A schema knows the built-in kinds.
type schema struct {
	kinds map[string]*node // by "apps/v1 Deployment"
	types map[string]*node // by "core.v1.Container"
}

// builtin reads the table once.
var builtin = sync.OnceValue(func() *schema { return readSchema(schemaTable + customTable) })

// readSchema reads the text that internal/diff/gen writes.
func readSchema(text string) *schema {
	s := &schema{kinds: map[string]*node{}, types: map[string]*node{}}
	scalars := map[string]*node{
		"quantity":      {scalar: quantity},
		"int-or-string": {scalar: intOrString},
		"duration":      {scalar: duration},
		"-":             nil,
		"[]":            {shape: list},
	}
	typ := func(name string) *node {
		if n, ok := scalars[name]; ok {
			return n
		}
		n := s.types[name]
		if n == nil {
			n = &node{name: name, fields: map[string]*node{}}
			s.types[name] = n
		}
		return n
	}
	shapes := map[string]shape{"one": one, "map": mapOf, "list": list, "set": setOf, "keyed": keyedBy}
	var current *node
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "kind" && len(words) == 4:
			s.kinds[words[1]+" "+words[2]] = typ(words[3])
		case words[0] == "type" && len(words) == 2:
			current = typ(words[1])
		case current != nil && len(words) >= 3:
			field, n := words[0], typ(words[2])
			if sh := shapes[words[1]]; sh != one {
				n = &node{shape: sh, elem: n, optional: true}
				if sh == keyedBy && len(words) > 3 {
					n.keys = strings.Split(words[3], ",")
				}
				n.order = orderOf(current.name, field, n)
			}
			current.fields[field] = n
		}
	}
	addDefaults(s, typ)
	return s
}

// lookup gives the schema of a built-in kind, nil when there is none.
func (s *schema) lookup(apiVersion, kind string) *node {
	return s.kinds[apiVersion+" "+kind]
}
