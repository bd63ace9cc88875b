package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// CRDSchemaNarrowed reports a schema that refuses or drops what it took before.
var CRDSchemaNarrowed = &rule.Rule{
	ID:       "crd-schema-narrowed",
	Title:    "The schema of a custom resource takes less than before",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A schema counts for all objects of the kind in the cluster, those included that were stored under the old one. A field that the schema lost
is hidden in reads and dropped at the next write, silently. A field that became required, another type, a shorter list of values, a pattern or
a bound makes the API server refuse every write of an object that does not fit, that of the operator's status and of finalizers too: such an
object can be neither changed nor deleted. (Since Kubernetes 1.30, values that do not change are let through by some of these checks.)

Only versions that are on both sides are compared. A required field with a default is left alone. Objects of this unit that set a dropped
field, or lack a required one, make it an error.`,
	Advice: `Add a new version in place of changing one. If the schema must narrow, list what is stored (` + "`kubectl get KIND -A -o yaml`" + `) and mend what does
not fit first; keep a dropped field in the schema as deprecated until no object has it.`,
	Kinds:   []string{crdKind},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkCRDSchemaNarrowed,
}

func checkCRDSchemaNarrowed(p *rule.Pass, c diff.Change) {
	if !slices.ContainsFunc(c.Fields, func(f diff.Field) bool { return f.Hidden == "" && strings.Contains(string(f.Path), "openAPIV3Schema") }) {
		return
	}
	after := crdVersions(c.After)
	for _, was := range crdVersions(c.Before) {
		i := slices.IndexFunc(after, func(v crdVersion) bool { return v.name == was.name })
		if i < 0 || !was.schema.Exists() || !after[i].schema.Exists() || !was.served {
			continue
		}
		base := was.path.Key("schema").Key("openAPIV3Schema")
		if !c.After.At(string(base)).Exists() {
			base = "spec.validation.openAPIV3Schema"
		}
		n := narrowing{}
		n.walk(was.schema, after[i].schema, base, nil)
		if len(n.found) > 0 {
			reportNarrowing(p, c, was.name, n.found)
		}
	}
}

func reportNarrowing(p *rule.Pass, c diff.Change, version string, found []narrowed) {
	f := rule.Finding{Path: found[0].at, Before: found[0].before, After: found[0].after}
	var texts []string
	drops, refuses := false, false
	for _, x := range found {
		texts = append(texts, x.text)
		drops, refuses = drops || x.drops, refuses || !x.drops
	}
	f.Message = fmt.Sprintf("the schema of %s takes less: %s", version, listed(texts))
	var says []string
	if drops {
		says = append(says, "what objects have in a field that is gone is dropped at their next write")
	}
	if refuses {
		says = append(says, "writes of objects that do not fit are refused, their status and finalizers included")
	}
	f.Consequence = strings.Join(says, "; ")
	var hit []*object.Object
	var how string
	for _, o := range instances(p.After, c.After, version) {
		for _, x := range found {
			if x.breaks != nil && breaksAt(o.Root(), x.field, x.breaks) {
				hit, how = append(hit, o), orText(how, x.text)
				break
			}
		}
	}
	if len(hit) > 0 {
		f.Severity = rule.Error
		f.Related = objectRefs(hit)
		f.Consequence += fmt.Sprintf("; of this unit that is %s (%s)", objectNames(hit), how)
	}
	p.Report(c, f)
}

// A narrowed place is one where a schema takes less than before.
type narrowed struct {
	at            object.Path // in the definition
	text          string
	before, after object.Value
	drops         bool     // the field goes, and what stands in it
	field         []string // the place in an object; "*" for any item or key
	// breaks says whether the value at field, which may be absent, is one that no
	// longer fits; nil where that is not looked into.
	breaks func(object.Value) bool
}

type narrowing struct{ found []narrowed }

const mostNarrowings = 200

func (n *narrowing) add(x narrowed) {
	if len(n.found) < mostNarrowings {
		n.found = append(n.found, x)
	}
}

func (n *narrowing) walk(was, now object.Value, at object.Path, field []string) {
	if len(n.found) >= mostNarrowings || was.Equal(now) {
		return
	}
	name := fieldText(field)
	if isOpen(now) && !isOpen(was) && !now.Field("type").Exists() {
		return // anything goes
	}
	n.types(was, now, at, field, name)
	n.required(was, now, at, field)
	n.values(was, now, at, field, name)
	if now.Field("additionalProperties").Type() == object.Map && was.Field("additionalProperties").Type() == object.Map {
		n.walk(was.Field("additionalProperties"), now.Field("additionalProperties"), at.Key("additionalProperties"), append(slices.Clone(field), "*"))
	}
	if was.Field("items").Type() == object.Map && now.Field("items").Type() == object.Map {
		n.walk(was.Field("items"), now.Field("items"), at.Key("items"), append(slices.Clone(field), "*"))
	}
	open := isOpen(now) || now.Field("additionalProperties").Exists()
	for key, sub := range was.Field("properties").Fields() {
		path, inner := at.Key("properties").Key(key), append(slices.Clone(field), key)
		left := now.Field("properties").Field(key)
		switch {
		case left.Exists():
			n.walk(sub, left, path, inner)
		case !open && now.Field("properties").Exists():
			n.add(narrowed{at: path, text: fieldText(inner) + " is gone", before: sub.Field("type"), drops: true, field: inner,
				breaks: func(v object.Value) bool { return v.Exists() }})
		}
	}
}

// isOpen says whether a schema keeps fields that it does not name.
func isOpen(schema object.Value) bool {
	open, _ := schema.Field("x-kubernetes-preserve-unknown-fields").Bool()
	return open
}

func (n *narrowing) types(was, now object.Value, at object.Path, field []string, name string) {
	b, a := was.Field("type").Text(), now.Field("type").Text()
	if isOpen(was) && !isOpen(now) && a == "object" {
		n.add(narrowed{at: at.Key("x-kubernetes-preserve-unknown-fields"), text: name + " no longer keeps fields that the schema does not name", drops: true, field: field})
	}
	if b == a || a == "" || b == "integer" && a == "number" || b == "" {
		return
	}
	if intOrString, _ := now.Field("x-kubernetes-int-or-string").Bool(); intOrString {
		return
	}
	n.add(narrowed{at: at.Key("type"), text: fmt.Sprintf("%s becomes %s, %s before", name, a, b), before: was.Field("type"), after: now.Field("type"),
		field: field, breaks: func(v object.Value) bool { return v.Exists() && !hasType(v, a) }})
}

func hasType(v object.Value, schemaType string) bool {
	switch schemaType {
	case "object":
		return v.Type() == object.Map
	case "array":
		return v.Type() == object.List
	case "string":
		return v.Type() == object.String
	case "boolean":
		return v.Type() == object.Bool
	case "integer", "number":
		return v.Type() == object.Number
	}
	return true
}

func (n *narrowing) required(was, now object.Value, at object.Path, field []string) {
	had := was.Field("required").Texts()
	for _, key := range now.Field("required").Texts() {
		if slices.Contains(had, key) || now.Field("properties").Field(key).Field("default").Exists() {
			continue
		}
		n.add(narrowed{at: at.Key("required"), text: fieldText(append(slices.Clone(field), key)) + " becomes required",
			before: was.Field("required"), after: now.Field("required"), field: field,
			breaks: func(v object.Value) bool { return v.Type() == object.Map && !v.Field(key).Exists() }})
	}
}

// values compares what bounds a value itself.
func (n *narrowing) values(was, now object.Value, at object.Path, field []string, name string) {
	if a := now.Field("enum"); a.Len() > 0 {
		var lost []string
		for _, v := range was.Field("enum").Items() {
			if !hasItem(a, v) {
				lost = append(lost, v.String())
			}
		}
		outside := func(v object.Value) bool { return v.Exists() && !hasItem(a, v) }
		switch {
		case len(lost) > 0:
			n.add(narrowed{at: at.Key("enum"), text: fmt.Sprintf("%s may no longer be %s", name, listed(lost)), before: was.Field("enum"), after: a, field: field, breaks: outside})
		case was.Field("enum").Len() == 0:
			n.add(narrowed{at: at.Key("enum"), text: name + " may only have certain values", after: a, field: field, breaks: outside})
		}
	}
	for _, key := range []string{"maximum", "maxLength", "maxItems", "maxProperties", "minimum", "minLength", "minItems", "minProperties"} {
		b, had := was.Field(key).Float()
		a, has := now.Field(key).Float()
		upper := strings.HasPrefix(key, "max")
		if !has || had && (upper && a >= b || !upper && a <= b) || !upper && !had && a <= 0 && key != "minimum" {
			continue
		}
		text := fmt.Sprintf("%s of %s is %v", key, name, now.Field(key))
		if had {
			text += fmt.Sprintf(", %v before", was.Field(key))
		}
		n.add(narrowed{at: at.Key(key), text: text, before: was.Field(key), after: now.Field(key), field: field, breaks: outOf(key, a)})
	}
	for _, key := range []string{"pattern", "format"} {
		if b, a := was.Field(key).Text(), now.Field(key).Text(); a != "" && a != b && (key == "pattern" || b != "") {
			n.add(narrowed{at: at.Key(key), text: fmt.Sprintf("%s must have another %s", name, key), before: was.Field(key), after: now.Field(key), field: field})
		}
	}
	for _, v := range now.Field("x-kubernetes-validations").Items() {
		if !slices.Contains(rulesOf(was), v.Field("rule").Text()) {
			n.add(narrowed{at: at.Key("x-kubernetes-validations"), text: fmt.Sprintf("%s must fulfil %s", name, clipped(v.Field("rule").Text(), 60)), field: field})
		}
	}
	if nullable, _ := was.Field("nullable").Bool(); nullable {
		if still, _ := now.Field("nullable").Bool(); !still {
			n.add(narrowed{at: at.Key("nullable"), text: name + " may no longer be null", field: field})
		}
	}
}

func rulesOf(schema object.Value) []string {
	var out []string
	for _, v := range schema.Field("x-kubernetes-validations").Items() {
		out = append(out, v.Field("rule").Text())
	}
	return out
}

func hasItem(list, v object.Value) bool {
	for _, item := range list.Items() {
		if item.Equal(v) {
			return true
		}
	}
	return false
}

// outOf says whether a value is beyond a bound.
func outOf(key string, bound float64) func(object.Value) bool {
	return func(v object.Value) bool {
		size := 0.0
		switch {
		case strings.HasSuffix(key, "imum") && v.Type() == object.Number:
			size, _ = v.Float()
		case strings.HasSuffix(key, "Length") && v.Type() == object.String:
			size = float64(len([]rune(v.Text())))
		case strings.HasSuffix(key, "Items") && v.Type() == object.List, strings.HasSuffix(key, "Properties") && v.Type() == object.Map:
			size = float64(v.Len())
		default:
			return false
		}
		if strings.HasPrefix(key, "max") {
			return size > bound
		}
		return size < bound
	}
}

// fieldText writes the place of a field in an object: "spec.hosts[].name".
func fieldText(field []string) string {
	if len(field) == 0 {
		return "the object"
	}
	var b strings.Builder
	for i, f := range field {
		switch {
		case f == "*":
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(f)
	}
	return b.String()
}

// breaksAt asks breaks for the values at field, each of them where it goes through
// lists and maps.
func breaksAt(v object.Value, field []string, breaks func(object.Value) bool) bool {
	for i, f := range field {
		if f != "*" {
			v = v.Field(f)
			continue
		}
		for _, item := range v.Items() {
			if breaksAt(item, field[i+1:], breaks) {
				return true
			}
		}
		for _, item := range v.Fields() {
			if breaksAt(item, field[i+1:], breaks) {
				return true
			}
		}
		return false
	}
	return breaks(v)
}
