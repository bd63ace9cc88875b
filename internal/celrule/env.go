package celrule

import (
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/prdiff/prdiff/internal/object"
)

// The types that expressions see beside manifests.
var (
	fieldType = structure("prdiff.Field", map[string]*apiservercel.DeclType{
		"path": apiservercel.StringType, "op": apiservercel.StringType, "before": apiservercel.DynType, "after": apiservercel.DynType,
		"hidden": apiservercel.BoolType,
	})
	changeType = structure("prdiff.Change", map[string]*apiservercel.DeclType{
		"action": apiservercel.StringType, "kind": apiservercel.StringType, "group": apiservercel.StringType,
		"namespace": apiservercel.StringType, "name": apiservercel.StringType, "unit": apiservercel.StringType,
		"renamedFrom": apiservercel.StringType, "file": apiservercel.StringType,
		"fields":  apiservercel.NewListType(fieldType, -1),
		"effects": apiservercel.NewListType(apiservercel.StringType, -1),
	})
	unitType = structure("prdiff.Unit", map[string]*apiservercel.DeclType{
		"name": apiservercel.StringType, "production": apiservercel.BoolType,
		"before": apiservercel.NewListType(apiservercel.DynType, -1), "after": apiservercel.NewListType(apiservercel.DynType, -1),
	})
	workloadType = structure("prdiff.Workload", map[string]*apiservercel.DeclType{
		"kind": apiservercel.StringType, "name": apiservercel.StringType, "namespace": apiservercel.StringType,
		"labels":   apiservercel.NewMapType(apiservercel.StringType, apiservercel.StringType, -1),
		"replicas": apiservercel.IntType, "spec": apiservercel.DynType, "object": apiservercel.DynType,
	})
	// requestType holds what of an admission request follows from a manifest.
	gvkType = structure("prdiff.GroupVersionKind", map[string]*apiservercel.DeclType{
		"group": apiservercel.StringType, "version": apiservercel.StringType, "kind": apiservercel.StringType,
	})
	requestType = structure("prdiff.Request", map[string]*apiservercel.DeclType{
		"operation": apiservercel.StringType, "name": apiservercel.StringType, "namespace": apiservercel.StringType,
		"kind": gvkType, "subResource": apiservercel.StringType, "dryRun": apiservercel.BoolType,
	})
)

func structure(name string, fields map[string]*apiservercel.DeclType) *apiservercel.DeclType {
	out := make(map[string]*apiservercel.DeclField, len(fields))
	for key, t := range fields {
		out[key] = apiservercel.NewDeclField(key, t, true, nil, nil)
	}
	return apiservercel.NewObjectType(name, out)
}

// newEnv makes the environment of expressions: the language as Kubernetes 1.37 sets
// it up for policies (k8s.io/apiserver/pkg/cel/environment, base.go), and what is ours.
func (s *Set) newEnv() (*cel.Env, error) {
	base, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		library.Lists(library.ListsVersion(1)),
		library.URLs(), library.Regex(), library.Quantity(), library.IP(), library.CIDR(), library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	)
	if err != nil {
		return nil, err
	}
	provider := apiservercel.NewDeclTypeProvider(changeType, unitType, workloadType, requestType)
	provider.SetRecognizeKeywordAsFieldName(true)
	opts, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	opts = append(opts,
		cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType),
		cel.Variable("change", changeType.CelType()),
		cel.Variable("unit", unitType.CelType()),
		cel.Variable("request", requestType.CelType()),
	)
	return base.Extend(append(opts, s.functions()...)...)
}

func (s *Set) programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(s.limits.Evaluation),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostTracking(costs{}),
	}
}

// costs adds to Kubernetes' costs those of our functions, which look at a set and
// make a list.
type costs struct{ library.CostEstimator }

// CallCost gives what a call has cost.
func (c costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if !ours()[function] {
		return c.CostEstimator.CallCost(function, overload, args, result)
	}
	cost := uint64(10)
	if l, ok := result.(traits.Sizer); ok {
		if n, ok := l.Size().(types.Int); ok {
			cost += uint64(n)
		}
	}
	return &cost
}

// A question is a function about what hangs together.
type question struct {
	name   string
	args   []*cel.Type
	result *cel.Type
	answer func(s *Set, side int, args []ref.Val) ref.Val
}

// ours are the names of our functions.
var ours = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, q := range questions() {
		out[q.name], out[q.name+"Before"] = true, true
	}
	return out
})

// functions declares each question for the side that is looked at, and its twin for
// the side before.
func (s *Set) functions() []cel.EnvOption {
	var out []cel.EnvOption
	for _, q := range questions() {
		for _, side := range []string{"", "Before"} {
			answer := func(args ...ref.Val) ref.Val {
				at := s.frame.side
				if side != "" {
					at = before
				}
				return q.answer(s, at, args)
			}
			overload := "prdiff_" + q.name + side
			binding := cel.FunctionBinding(answer)
			switch len(q.args) {
			case 1:
				binding = cel.UnaryBinding(func(a ref.Val) ref.Val { return answer(a) })
			case 2:
				binding = cel.BinaryBinding(func(a, b ref.Val) ref.Val { return answer(a, b) })
			}
			out = append(out, cel.Function(q.name+side, cel.Overload(overload, q.args, q.result, binding)))
		}
	}
	return out
}

func questions() []question {
	dyn, str := cel.DynType, cel.StringType
	list := cel.ListType(cel.DynType)
	adapt := func(s *Set, v any) ref.Val { return s.env.CELTypeAdapter().NativeToValue(v) }
	ofWorkload := func(name string, find func(*object.Set, object.Ref) []*object.Object) question {
		return question{name, []*cel.Type{dyn}, list, func(s *Set, side int, args []ref.Val) ref.Val {
			o, err := s.find(args[0])
			if err != nil {
				return err
			}
			return adapt(s, s.objects(find(s.set(side), o), side))
		}}
	}
	return []question{
		{"pods", []*cel.Type{dyn, str}, cel.ListType(workloadType.CelType()), func(s *Set, side int, args []ref.Val) ref.Val {
			selector, err := selectorOf(args[0])
			if err != nil {
				return err
			}
			pods := s.set(side).PodsOf(selector, text(args[1]))
			if len(pods.Workloads) == 0 && len(pods.Unknown) > 0 {
				return types.NewErr("%s%s makes pods that may match", unknown, pods.Unknown[0].Ref)
			}
			out := make([]any, 0, len(pods.Workloads))
			for _, w := range pods.Workloads {
				out = append(out, s.workload(w, side))
			}
			return adapt(s, out)
		}},
		ofWorkload("services", (*object.Set).ServicesFor),
		ofWorkload("budgets", (*object.Set).BudgetsFor),
		ofWorkload("policies", (*object.Set).PoliciesFor),
		ofWorkload("autoscalers", func(set *object.Set, r object.Ref) []*object.Object {
			var out []*object.Object
			for _, a := range set.AutoscalersOf(r) {
				out = append(out, a.Object)
			}
			return out
		}),
		{"references", []*cel.Type{dyn}, list, func(s *Set, side int, args []ref.Val) ref.Val {
			r, err := s.find(args[0])
			if err != nil {
				return err
			}
			set := s.set(side)
			return adapt(s, references(set.References(set.Get(r)), func(x object.Reference) object.Ref { return x.To }))
		}},
		{"referencesTo", []*cel.Type{dyn}, list, func(s *Set, side int, args []ref.Val) ref.Val {
			r, err := s.find(args[0])
			if err != nil {
				return err
			}
			return adapt(s, references(s.set(side).ReferencesTo(r), func(x object.Reference) object.Ref { return x.From.Ref }))
		}},
		{"mentions", []*cel.Type{str, str}, list, func(s *Set, side int, args []ref.Val) ref.Val {
			out := []any{}
			for _, m := range s.set(side).Mentions(text(args[0]), text(args[1])) {
				out = append(out, map[string]any{
					"kind": m.From.Ref.Kind, "namespace": m.From.Ref.Namespace, "name": m.From.Ref.Name,
					"path": string(m.Path), "host": m.Host, "port": m.Port,
				})
			}
			return adapt(s, out)
		}},
		{"objects", []*cel.Type{str}, list, func(s *Set, side int, args []ref.Val) ref.Val {
			return adapt(s, s.objects(ofKind(s.set(side), text(args[0])), side))
		}},
		{"lookup", []*cel.Type{str, str, str}, dyn, func(s *Set, side int, args []ref.Val) ref.Val {
			namespace, name := text(args[1]), text(args[2])
			for _, o := range ofKind(s.set(side), text(args[0])) {
				if o.Ref.Namespace == namespace && o.Ref.Name == name {
					return adapt(s, s.object(o, side))
				}
			}
			return types.NullValue
		}},
	}
}

// unknown begins the error of a question that the manifests do not answer.
const unknown = "not known: "

func references(found []object.Reference, end func(object.Reference) object.Ref) []any {
	out := make([]any, 0, len(found))
	for _, x := range found {
		r := end(x)
		out = append(out, map[string]any{
			"kind": r.Kind, "namespace": r.Namespace, "name": r.Name, "use": string(x.Use), "key": x.Key,
			"path": string(x.Path), "optional": x.Optional,
		})
	}
	return out
}

// ofKind gives the objects of a kind, with its group or in every group.
func ofKind(set *object.Set, kind string) []*object.Object {
	if found := set.Kind(kind); len(found) > 0 {
		return found
	}
	var out []*object.Object
	for _, o := range set.All() {
		if o.Ref.Kind == kind {
			out = append(out, o)
		}
	}
	return out
}

// find gives the name of the object that a value is or tells of: a manifest, or a
// workload that pods gave.
func (s *Set) find(v ref.Val) (object.Ref, ref.Val) {
	if inner := member(v, "object"); inner != nil && member(v, "metadata") == nil {
		v = inner
	}
	meta := member(v, "metadata")
	name := text(member(meta, "name"))
	if generate := text(member(meta, "generateName")); name == "" && generate != "" {
		name = generate + "*"
	}
	kind := text(member(v, "kind"))
	if name == "" || kind == "" {
		return object.Ref{}, types.NewErr("no manifest: a function about an object takes object, oldObject, or what another function gave")
	}
	group, _, grouped := strings.Cut(text(member(v, "apiVersion")), "/")
	if !grouped {
		group = ""
	}
	return object.Ref{Unit: s.view.unit.Name, Group: group, Kind: kind, Namespace: text(member(meta, "namespace")), Name: name}, nil
}

// member gives the value of a key of a map, nil when there is none.
func member(v ref.Val, key string) ref.Val {
	m, ok := v.(traits.Mapper)
	if !ok {
		return nil
	}
	found, ok := m.Find(types.String(key))
	if !ok {
		return nil
	}
	return found
}

func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// selectorOf reads a selector as a Service has it, or one with matchLabels and
// matchExpressions.
func selectorOf(v ref.Val) (object.LabelSelector, ref.Val) {
	if v == types.NullValue {
		return object.LabelSelector{}, nil
	}
	m := object.Of(native(v))
	if m.Type() != object.Map {
		return object.LabelSelector{}, types.NewErr("a selector is a map of labels, or has matchLabels or matchExpressions")
	}
	if m.Len() == 0 || m.Field("matchLabels").Type() == object.Map || m.Field("matchExpressions").Type() == object.List {
		return m.Selector(), nil
	}
	return object.PlainSelector(m.Strings()), nil
}

// native gives a CEL value as plain data; what it cannot give becomes nil.
func native(v ref.Val) any {
	switch x := v.(type) {
	case traits.Mapper:
		out := map[string]any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if text, ok := key.(types.String); ok {
				out[string(text)] = native(x.Get(key))
			}
		}
		return out
	case traits.Lister:
		out := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			out = append(out, native(it.Next()))
		}
		return out
	case types.String:
		return string(x)
	case types.Int:
		return int64(x)
	case types.Double:
		return float64(x)
	case types.Bool:
		return bool(x)
	}
	return nil
}
