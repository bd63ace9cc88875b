package diff_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// The laws of a comparison. The pairs of testdata/compare are the seeds, as they
// are and with random edits.

func FuzzSameIsEmpty(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, before, after string, edit uint64) {
		b, a := sides(before, after, edit)
		b2, a2 := sides(before, after, edit)
		for _, twice := range [][2]*object.Set{{b, b2}, {a, a2}} {
			changes := diff.Compare(twice[0], twice[1], diff.Options{})
			// That a value differs on every rendering is told though both sides say the same.
			if slices.ContainsFunc(changes, func(c diff.Change) bool {
				return c.Visible() || slices.ContainsFunc(c.Fields, func(f diff.Field) bool { return f.Hidden != "nondeterministic" })
			}) {
				t.Errorf("an object set differs from itself:\n%s", print(changes))
			}
		}
	})
}

func FuzzSwapMirrors(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, before, after string, edit uint64) {
		b, a := sides(before, after, edit)
		if schemasDiffer(b, a) {
			return
		}
		there, back := diff.Compare(b, a, diff.Options{}), diff.Compare(a, b, diff.Options{})
		want, got := mirrorable(there, false), mirrorable(back, true)
		if !slices.Equal(got, want) {
			t.Errorf("swapped sides give\n%s\nwhich is not the mirror of\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// schemasDiffer says whether objects may be read by another schema after than
// before: the one after the change counts, so the direction matters.
func schemasDiffer(before, after *object.Set) bool {
	const crd = "CustomResourceDefinition.apiextensions.k8s.io"
	if len(before.Kind(crd))+len(after.Kind(crd)) > 0 {
		return true
	}
	versions := map[string]string{}
	for _, o := range slices.Concat(before.All(), after.All()) {
		if v := versions[o.Ref.Kind]; v != "" && v != o.APIVersion() {
			return true
		}
		versions[o.Ref.Kind] = o.APIVersion()
	}
	return false
}

// mirrorable lists what must be the same in both directions: which objects
// differ, and in which values. Which side's index a path bears, and what the API
// server refuses, depend on the direction.
func mirrorable(changes []diff.Change, swap bool) []string {
	var out []string
	for _, c := range changes {
		before, after := "none", "none"
		if c.Before != nil {
			before = c.Before.Ref.GroupKind() + c.Before.Ref.String()
		}
		if c.After != nil {
			after = c.After.Ref.GroupKind() + c.After.Ref.String()
		}
		if swap {
			before, after = after, before
		}
		out = append(out, before+" | "+after)
		for _, f := range c.Fields {
			b, a, op := f.Before, f.After, f.Op
			if swap {
				b, a = a, b
				switch op {
				case diff.Add:
					op = diff.Remove
				case diff.Remove:
					op = diff.Add
				}
			}
			out = append(out, fmt.Sprintf("%s | %s | %s %q %q %v", before, after, op, b, a, f.Reordered))
		}
	}
	slices.Sort(out)
	return out
}

func FuzzAppliedFieldsGiveAfter(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, before, after string, edit uint64) {
		b, a := sides(before, after, edit)
		for _, c := range diff.Compare(b, a, diff.Options{}) {
			if c.Before == nil || c.After == nil {
				continue
			}
			if got := diff.Apply(c.Before.Root(), c.Fields); !got.Equal(c.After.Root()) {
				t.Errorf("%s: applying\n%s\ngives\n%s\nwant\n%s", c.Ref, print([]diff.Change{c}), got, c.After.Root())
			}
			if _, got := c.Normalized(); !c.Visible() && len(c.Effects) == 0 && !got.Equal(c.Before.Root()) {
				t.Errorf("%s: all is hidden, yet the normalised sides differ:\n%s\n%s", c.Ref, c.Before.Root(), got)
			}
		}
	})
}

func FuzzShuffleChangesNothing(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, before, after string, edit uint64) {
		b, a := sides(before, after, edit)
		for _, set := range []*object.Set{b, a} {
			var shuffled []*object.Object
			r := rand.New(rand.NewPCG(1, edit))
			for _, o := range set.All() {
				if o.Ref.Kind == "Job" || o.Ref.Kind == "Pod" {
					shuffled = append(shuffled, o) // of these the API server refuses another order
					continue
				}
				manifest := decode(o.Root())
				shuffleKeyed(manifest, r, "")
				s, err := object.New("unit", o.Origin, manifest.(map[string]any))
				if err != nil || strings.Contains(o.Root().String(), object.Mask) {
					s = o // what is masked does not come back
				}
				shuffled = append(shuffled, s)
			}
			slices.Reverse(shuffled)
			for _, c := range diff.Compare(set, object.NewSet(shuffled), diff.Options{}) {
				for _, field := range c.Fields {
					if field.Hidden == "" {
						t.Errorf("shuffling shows:\n%s", print([]diff.Change{c}))
						break
					}
				}
			}
		}
	})
}

// shuffleKeyed reorders lists in which the order has no effect in any kind:
// containers, ports, volumes and volume mounts by name or number, where the
// names are there and differ.
func shuffleKeyed(v any, r *rand.Rand, parent string) {
	switch x := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			items, ok := x[k].([]any)
			if ok && parent == "spec" && slices.Contains([]string{"containers", "volumes", "imagePullSecrets"}, k) && named(items) && podSpec(x) {
				r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			}
			if k != "data" && k != "metadata" {
				shuffleKeyed(x[k], r, k)
			}
		}
	case []any:
		for _, item := range x {
			shuffleKeyed(item, r, "")
		}
	}
}

func podSpec(m map[string]any) bool { _, ok := m["containers"].([]any); return ok }

func named(items []any) bool {
	seen := map[string]bool{}
	for _, item := range items {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func FuzzSameAnswerTwice(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, before, after string, edit uint64) {
		b, a := sides(before, after, edit)
		first := print(diff.Compare(b, a, diff.Options{}))
		for range 3 {
			b, a := sides(before, after, edit)
			if again := print(diff.Compare(b, a, diff.Options{})); again != first {
				t.Fatalf("the second comparison gives\n%s\nthe first gave\n%s", again, first)
			}
		}
	})
}

// TestLawsOnMutations puts random edits of the seeds through the laws: another
// order, dropped and doubled items, other scalars.
func TestLawsOnMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, p := range pairs(t) {
		for round := range 100 {
			after := mutated(p.before, r)
			there, back := diff.Compare(p.before, after, diff.Options{}), diff.Compare(after, p.before, diff.Options{})
			if want, got := mirrorable(there, false), mirrorable(back, true); !slices.Equal(got, want) {
				t.Fatalf("%s, round %d: swapped sides give\n%s\nwhich is not the mirror of\n%s", p.name, round, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, c := range slices.Concat(there, back) {
				if c.Before == nil || c.After == nil {
					continue
				}
				if got := diff.Apply(c.Before.Root(), c.Fields); !got.Equal(c.After.Root()) {
					t.Fatalf("%s, round %d: applying\n%s\ngives\n%s\nwant\n%s", p.name, round, print([]diff.Change{c}), got, c.After.Root())
				}
			}
		}
	}
}

// mutate edits about one place in eight of a manifest.
func mutate(v any, r *rand.Rand, depth int) {
	switch x := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, cmp.Compare[string])
		for _, k := range keys {
			if depth == 0 && k != "spec" && k != "data" && k != "rules" {
				continue
			}
			switch n := r.IntN(24); {
			case n == 0:
				delete(x, k)
				continue
			case n == 1:
				x[k+"x"] = x[k]
			}
			if items, ok := x[k].([]any); ok {
				x[k] = mutateList(items, r)
			}
			if s, ok := x[k].(string); ok && r.IntN(8) == 0 {
				x[k] = s + strings.Repeat("\n", r.IntN(2)) + "y: 1"
			}
			mutate(x[k], r, depth+1)
		}
	case []any:
		for i, item := range x {
			if s, ok := item.(string); ok && r.IntN(8) == 0 {
				x[i] = s + "z"
			}
			mutate(item, r, depth+1)
		}
	}
}

func mutateList(items []any, r *rand.Rand) []any {
	items = slices.Clone(items)
	switch r.IntN(6) {
	case 0:
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	case 1:
		if i := r.IntN(len(items) + 1); i < len(items) {
			items = slices.Delete(items, i, i+1)
		}
	case 2:
		if len(items) > 0 {
			i := r.IntN(len(items))
			var twin any
			b, err := json.Marshal(items[i])
			if err == nil && json.Unmarshal(b, &twin) == nil {
				items = slices.Insert(items, r.IntN(len(items)+1), twin)
			}
		}
	case 3:
		items = slices.Insert(items, r.IntN(len(items)+1), any("new"))
	}
	return items
}

func seed(f *testing.F) {
	for i, p := range pairs(f) {
		f.Add(p.beforeText, p.afterText, uint64(0))
		f.Add(p.beforeText, p.beforeText, uint64(i+1))
	}
}

// sides reads both texts, what can be read of them, and edits the one after at
// random where edit is not 0.
func sides(before, after string, edit uint64) (b, a *object.Set) {
	b, a = load(before), load(after)
	if edit == 0 {
		return b, a
	}
	return b, mutated(a, rand.New(rand.NewPCG(7, edit)))
}

func mutated(set *object.Set, r *rand.Rand) *object.Set {
	var out []*object.Object
	for _, o := range set.All() {
		manifest := decode(o.Root()).(map[string]any)
		if o.Ref.Kind != "CustomResourceDefinition" { // another schema after would read the same text otherwise
			mutate(manifest, r, 0)
		}
		m, err := object.New(o.Ref.Unit, o.Origin, manifest)
		if err != nil {
			m = o
		}
		out = append(out, m)
	}
	return object.NewSet(out)
}

// load reads what it can of a text.
func load(text string) *object.Set {
	objects, _ := object.Parse("unit", "x.yaml", []byte(text))
	return object.NewSet(objects)
}

// decode gives a value as fresh decoded data.
func decode(v object.Value) any {
	var out any
	b, err := v.MarshalJSON()
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}
