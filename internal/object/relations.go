package object

import "sync"

// relations is what a set knows about how its objects hang together. It is made
// once, when first asked for.
type relations struct {
	workloads   []Workload // in order
	byNamespace map[string][]int
	byLabel     map[labelKey][]int
	autoscalers []Autoscaler
	scaledBy    map[Ref][]Autoscaler
	podMakers   map[string][]podMaker // per namespace

	selecting  func() map[Ref]selectors
	references func() *referenceIndex
	mentions   func() map[hostKey][]Mention
}

type labelKey struct{ namespace, key, value string }

// selectors are the objects that select the pods of one workload.
type selectors struct{ services, budgets, policies []*Object }

func newRelations(s *Set) *relations {
	r := &relations{
		byNamespace: map[string][]int{},
		byLabel:     map[labelKey][]int{},
		scaledBy:    map[Ref][]Autoscaler{},
		podMakers:   map[string][]podMaker{},
	}
	for _, o := range s.objects {
		if a, ok := AsAutoscaler(o); ok {
			r.autoscalers = append(r.autoscalers, a)
			r.scaledBy[scaleKey(a.Target)] = append(r.scaledBy[scaleKey(a.Target)], a)
		}
		if m, ok := asPodMaker(o); ok {
			r.podMakers[m.namespace] = append(r.podMakers[m.namespace], m)
		}
	}
	for _, o := range s.objects {
		w, ok := AsWorkload(o)
		if !ok {
			continue
		}
		s.borrowTemplate(&w)
		if scaled := r.scaledBy[scaleKey(o.Ref)]; len(scaled) > 0 {
			w.Replicas = scaledReplicas(scaled[0])
		}
		i := len(r.workloads)
		r.workloads = append(r.workloads, w)
		r.byNamespace[o.Ref.Namespace] = append(r.byNamespace[o.Ref.Namespace], i)
		for k, v := range w.PodLabels {
			key := labelKey{o.Ref.Namespace, k, v}
			r.byLabel[key] = append(r.byLabel[key], i)
		}
	}
	r.selecting = sync.OnceValue(func() map[Ref]selectors { return r.selectorsOf(s) })
	r.references = sync.OnceValue(func() *referenceIndex { return indexReferences(s) })
	r.mentions = sync.OnceValue(func() map[hostKey][]Mention { return indexMentions(s) })
	return r
}

// borrowTemplate fills in the pods of a Rollout that takes its template from a
// Deployment (https://argo-rollouts.readthedocs.io/en/stable/migrating/#reference-deployment-from-rollout).
func (s *Set) borrowTemplate(w *Workload) {
	ref := w.At("spec.workloadRef")
	if w.Ref.Kind != "Rollout" || w.PodSpec.Exists() || !ref.Exists() {
		return
	}
	target := Ref{w.Ref.Unit, group(ref.Field("apiVersion").Text()), ref.Field("kind").Text(), w.Ref.Namespace, ref.Field("name").Text()}
	if lender, ok := AsWorkload(s.Get(target)); ok {
		w.PodLabels, w.PodAnnotations, w.PodSpec = lender.PodLabels, lender.PodAnnotations, lender.PodSpec
	}
}

// Pods are the pods that a selector reaches, as far as the manifests tell.
type Pods struct {
	Workloads []Workload // whose pods match, in the set's order
	// Unknown are objects of the set whose operators make pods that may match
	// too, such as a Prometheus or a HelmRelease. When there are any, an empty
	// Workloads means "unknown", not "none".
	Unknown []*Object
}

// None says that nothing matches and nothing unknown could.
func (p Pods) None() bool { return len(p.Workloads) == 0 && len(p.Unknown) == 0 }

// Count adds up the replicas. known is false when one of them depends on the
// cluster or pods that the manifests do not show may match.
func (p Pods) Count() (n int, known bool) {
	known = len(p.Unknown) == 0
	for _, w := range p.Workloads {
		n += w.Replicas.Count
		known = known && w.Replicas.Known
	}
	return n, known
}

// PodsOf gives the pods that a selector reaches in one namespace. Objects without
// a namespace are in one namespace with each other.
func (s *Set) PodsOf(selector LabelSelector, namespace string) Pods {
	if s == nil || !selector.exists {
		return Pods{}
	}
	r := s.relations()
	var out Pods
	for _, i := range r.candidates(selector, namespace) {
		if selector.Matches(r.workloads[i].PodLabels) {
			out.Workloads = append(out.Workloads, r.workloads[i])
		}
	}
	for _, m := range r.podMakers[namespace] {
		if m.mayMatch(selector) {
			out.Unknown = append(out.Unknown, m.object)
		}
	}
	return out
}

// candidates gives the workloads of a namespace that share the selector's rarest
// label, in order: selectors with many hits are rare, namespaces with many
// workloads are not.
func (r *relations) candidates(selector LabelSelector, namespace string) []int {
	best := r.byNamespace[namespace]
	for k, v := range selector.labels {
		if found := r.byLabel[labelKey{namespace, k, v}]; len(found) < len(best) {
			best = found
		}
	}
	return best
}

// PodsOfService gives the pods that a Service sends traffic to: none for one
// without selector, whose endpoints are kept by hand, and for an ExternalName.
func (s *Set) PodsOfService(service *Object) Pods {
	if service == nil || service.Text("spec.type") == "ExternalName" {
		return Pods{}
	}
	return s.PodsOf(PlainSelector(service.Strings("spec.selector")), service.Ref.Namespace)
}

// ServicesFor gives the Services of the set that select the workload's pods, in order.
func (s *Set) ServicesFor(workload Ref) []*Object { return s.selectorsFor(workload).services }

// BudgetsFor gives the PodDisruptionBudgets of the set that select the workload's pods.
func (s *Set) BudgetsFor(workload Ref) []*Object { return s.selectorsFor(workload).budgets }

// PoliciesFor gives the NetworkPolicies of the set that apply to the workload's pods.
func (s *Set) PoliciesFor(workload Ref) []*Object { return s.selectorsFor(workload).policies }

func (s *Set) selectorsFor(workload Ref) selectors {
	if s == nil {
		return selectors{}
	}
	return s.relations().selecting()[workload]
}

func (r *relations) selectorsOf(s *Set) map[Ref]selectors {
	out := map[Ref]selectors{}
	each := func(groupKind string, pods func(*Object) []Workload, add func(*selectors, *Object)) {
		for _, o := range s.byKind[groupKind] {
			for _, w := range pods(o) {
				found := out[w.Ref]
				add(&found, o)
				out[w.Ref] = found
			}
		}
	}
	each("Service", func(o *Object) []Workload { return s.PodsOfService(o).Workloads },
		func(f *selectors, o *Object) { f.services = append(f.services, o) })
	each("PodDisruptionBudget.policy", func(o *Object) []Workload { return s.PodsOf(o.budgetSelector(), o.Ref.Namespace).Workloads },
		func(f *selectors, o *Object) { f.budgets = append(f.budgets, o) })
	each("NetworkPolicy.networking.k8s.io", func(o *Object) []Workload { return s.PodsOf(o.policySelector(), o.Ref.Namespace).Workloads },
		func(f *selectors, o *Object) { f.policies = append(f.policies, o) })
	return out
}

// budgetSelector reads the selector of a PodDisruptionBudget: an empty one is all
// pods in policy/v1 and none in policy/v1beta1
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#poddisruptionbudget-v125).
func (o *Object) budgetSelector() LabelSelector {
	selector := o.SelectorAt("spec.selector")
	if o.apiVersion == "policy/v1beta1" && selector.Empty() {
		return LabelSelector{}
	}
	return selector
}

// policySelector reads the podSelector of a NetworkPolicy. An absent one is an
// empty one since the field became optional.
func (o *Object) policySelector() LabelSelector {
	selector := o.SelectorAt("spec.podSelector")
	selector.exists = true
	return selector
}
