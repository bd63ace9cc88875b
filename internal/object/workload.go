package object

// A Workload is an object that makes pods: Deployment, StatefulSet, DaemonSet,
// ReplicaSet, ReplicationController, Job, CronJob, Pod, and Argo's Rollout.
type Workload struct {
	*Object
	PodLabels map[string]string // of the pods it makes
	PodSpec   Value             // their spec
	Template  Path              // the path of the pod template, "" for a Pod
	Replicas  Replicas
}

// Replicas is how many pods a workload runs, as far as its manifests tell.
type Replicas struct {
	Count int
	Known bool // false when it depends on the cluster: a DaemonSet, an autoscaler without minimum
	// From says where the count is written: "spec.replicas", "default" (one, as
	// the API server fills it in), "minReplicas of HorizontalPodAutoscaler x".
	From string
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
	"Job.batch":             "spec.template",
	"CronJob.batch":         "spec.jobTemplate.spec.template",
	"Rollout.argoproj.io":   "spec.template",
	"Pod":                   "",
}

// AsWorkload reads o as a workload; ok is false when its kind makes no pods.
func AsWorkload(o *Object) (w Workload, ok bool) {
	if o == nil {
		return w, false
	}
	template, ok := templatePaths[o.Ref.GroupKind()]
	if !ok {
		return w, false
	}
	pod := o.At(string(template))
	return Workload{
		Object:    o,
		PodLabels: pod.At("metadata.labels").Strings(),
		PodSpec:   pod.Field("spec"),
		Template:  template,
		Replicas:  replicasOf(o),
	}, true
}

func replicasOf(o *Object) Replicas {
	switch o.Ref.Kind {
	case "DaemonSet":
		return Replicas{From: "one per node"}
	case "Job", "CronJob", "Pod":
		return Replicas{Count: 1, Known: true, From: "default"}
	}
	if n, ok := o.At("spec.replicas").Int(); ok {
		return Replicas{Count: int(n), Known: true, From: "spec.replicas"}
	}
	return Replicas{Count: 1, Known: true, From: "default"}
}

// Workloads gives the workloads of the set, in order. Where an autoscaler of
// the set owns the count, Replicas is its minimum.
func (s *Set) Workloads() []Workload {
	var out []Workload
	for _, o := range s.All() {
		if w, ok := AsWorkload(o); ok {
			out = append(out, w)
		}
	}
	return out
}
