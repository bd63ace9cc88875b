package object

import (
	"fmt"
	"sort"
	"strings"
)

// A Workload is an object that makes pods: Deployment, StatefulSet, DaemonSet,
// ReplicaSet, ReplicationController, Job, CronJob, Pod, Argo's Rollout, and any
// custom resource that has a pod template under spec.template.
type Workload struct {
	*Object
	PodLabels      map[string]string // of the pods it makes; not to be changed
	PodAnnotations map[string]string
	PodSpec        Value // their spec
	Template       Path  // the path of the pod template, "" for a Pod
	Replicas       Replicas
}

// Replicas is how many pods a workload runs, as far as its manifests tell.
type Replicas struct {
	Count int
	Known bool // false when it depends on the cluster: a DaemonSet, an autoscaler without minimum
	// From says where the count is written: "spec.replicas", "default" (one, as
	// the API server fills it in), "minReplicas of HorizontalPodAutoscaler x".
	From string
	// Autoscaler owns the count, nil when none of the set does.
	Autoscaler *Object
}

// templatePaths gives, per kind, where the pod template is.
var templatePaths = map[string]Path{
	"Deployment.apps":       "spec.template",
	"StatefulSet.apps":      "spec.template",
	"DaemonSet.apps":        "spec.template",
	"ReplicaSet.apps":       "spec.template",
	"Deployment.extensions": "spec.template",
	"DaemonSet.extensions":  "spec.template",
	"ReplicaSet.extensions": "spec.template",
	"ReplicationController": "spec.template",
	"PodTemplate":           "template",
	"Job.batch":             "spec.template",
	"CronJob.batch":         "spec.jobTemplate.spec.template",
	"Rollout.argoproj.io":   "spec.template",
	"Pod":                   "",
}

// AsWorkload reads o as a workload; ok is false when its kind makes no pods. Of
// an autoscaler it knows nothing: see Set.Workloads.
func AsWorkload(o *Object) (w Workload, ok bool) {
	if o == nil || o.Ref.Kind == "PodTemplate" {
		return w, false
	}
	template, ok := templatePaths[o.Ref.GroupKind()]
	if !ok {
		// Knative Services, Kruise CloneSets and others have the template of a
		// Deployment.
		if !strings.Contains(o.Ref.Group, ".") || o.At("spec.template.spec.containers").Type() != List {
			return w, false
		}
		template = "spec.template"
	}
	pod := o.Root()
	if template != "" {
		pod = o.At(string(template))
	}
	meta := pod.Field("metadata")
	return Workload{
		Object:         o,
		PodLabels:      meta.Field("labels").Strings(),
		PodAnnotations: meta.Field("annotations").Strings(),
		PodSpec:        pod.Field("spec"),
		Template:       template,
		Replicas:       replicasOf(o),
	}, true
}

func replicasOf(o *Object) Replicas {
	switch o.Ref.Kind {
	case "DaemonSet":
		return Replicas{From: "one per node"}
	case "Job":
		if n, ok := o.At("spec.parallelism").Int(); ok {
			return Replicas{Count: int(n), Known: true, From: "spec.parallelism"}
		}
		return Replicas{Count: 1, Known: true, From: "default"}
	case "CronJob", "Pod":
		return Replicas{Count: 1, Known: true, From: "default"}
	}
	// Grafana's rollout-operator sets the count from another object
	// (https://github.com/grafana/rollout-operator#how-scaling-up-and-down-works).
	if leader := o.Annotation("grafana.com/rollout-mirror-replicas-from-resource-name"); leader != "" {
		return Replicas{From: o.Annotation("grafana.com/rollout-mirror-replicas-from-resource-kind") + " " + leader}
	}
	if n, ok := o.At("spec.replicas").Int(); ok {
		return Replicas{Count: int(n), Known: true, From: "spec.replicas"}
	}
	if _, builtIn := templatePaths[o.Ref.GroupKind()]; !builtIn {
		return Replicas{From: o.Ref.Kind}
	}
	return Replicas{Count: 1, Known: true, From: "default"}
}

// Workloads gives the workloads of the set, in order. Where an autoscaler of the
// set owns the count, Replicas is its minimum. The slice is the set's own: do not
// change it.
func (s *Set) Workloads() []Workload {
	if s == nil {
		return nil
	}
	return s.relations().workloads
}

// Workload gives the workload of that name.
func (s *Set) Workload(ref Ref) (Workload, bool) {
	if s == nil {
		return Workload{}, false
	}
	all := s.relations().workloads
	i, ok := sort.Find(len(all), func(i int) int { return ref.Compare(all[i].Ref) })
	if !ok {
		return Workload{}, false
	}
	return all[i], true
}

// An Autoscaler is an object that sets a workload's number of pods: a
// HorizontalPodAutoscaler or KEDA's ScaledObject.
type Autoscaler struct {
	*Object
	Target  Ref   // the workload; it need not be in the set
	Min     int64 // with the default where none is written
	Max     int64
	MinPath Path // where the minimum is or would be written
	MaxPath Path
}

// AsAutoscaler reads o as an autoscaler; ok is false for other kinds.
func AsAutoscaler(o *Object) (a Autoscaler, ok bool) {
	if o == nil {
		return a, false
	}
	a = Autoscaler{Object: o, MinPath: "spec.minReplicas", MaxPath: "spec.maxReplicas", Min: 1}
	switch o.Ref.GroupKind() {
	case "HorizontalPodAutoscaler.autoscaling":
		// minReplicas is 1 when absent, maxReplicas is required
		// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/).
	case "ScaledObject.keda.sh":
		// minReplicaCount is 0, maxReplicaCount 100 when absent
		// (https://keda.sh/docs/latest/reference/scaledobject-spec/).
		a.MinPath, a.MaxPath, a.Min, a.Max = "spec.minReplicaCount", "spec.maxReplicaCount", 0, 100
	default:
		return Autoscaler{}, false
	}
	if n, ok := o.At(string(a.MinPath)).Int(); ok {
		a.Min = n
	}
	if n, ok := o.At(string(a.MaxPath)).Int(); ok {
		a.Max = n
	}
	target := o.At("spec.scaleTargetRef")
	apiVersion, kind := target.Field("apiVersion").Text(), target.Field("kind").Text()
	if a.Ref.Kind == "ScaledObject" {
		if kind == "" {
			kind = "Deployment"
		}
		if apiVersion == "" && kind != "ReplicationController" {
			apiVersion = "apps/v1"
		}
	}
	a.Target = Ref{Unit: o.Ref.Unit, Group: group(apiVersion), Kind: kind, Namespace: o.Ref.Namespace, Name: target.Field("name").Text()}
	return a, true
}

// Autoscalers gives the autoscalers of the set, in order.
func (s *Set) Autoscalers() []Autoscaler {
	if s == nil {
		return nil
	}
	return s.relations().autoscalers
}

// AutoscalersOf gives the autoscalers of the set that scale the workload of that name.
func (s *Set) AutoscalersOf(workload Ref) []Autoscaler {
	if s == nil {
		return nil
	}
	return s.relations().scaledBy[scaleKey(workload)]
}

// scaleKey is the name under which a scale target finds a workload: extensions
// and apps are the same Deployment.
func scaleKey(ref Ref) Ref {
	if ref.Group == "extensions" {
		ref.Group = "apps"
	}
	return ref
}

// scaledReplicas gives the count of a workload that a owns.
func scaledReplicas(a Autoscaler) Replicas {
	field := strings.TrimPrefix(string(a.MinPath), "spec.")
	return Replicas{
		Count:      int(a.Min),
		Known:      a.Min > 0,
		From:       fmt.Sprintf("%s of %s %s", field, a.Ref.Kind, a.Ref.Name),
		Autoscaler: a.Object,
	}
}
