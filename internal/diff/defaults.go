package diff

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// defaultsTable holds the unconditional defaults.
//
//go:embed defaults.txt
var defaultsTable string

// A defaultRule is what the API server fills in for one absent field.
type defaultRule struct {
	fixed object.Value
	when  func(parent object.Value) object.Value // for a value that depends on its surroundings
	zero  bool                                   // an explicit 0, false, "" or empty list counts as absent too
}

// value gives the default inside parent, the zero Value when there is none.
func (d defaultRule) value(parent object.Value) object.Value {
	if d.when != nil {
		return d.when(parent)
	}
	return d.fixed
}

// effective gives the value that the API server would store for one key: v, or
// the default of n where v is absent. other stands in for a side without schema.
func effective(n, other *node, key string, v, parent object.Value) object.Value {
	d, ok := firstNode(n, other).defaultRule(key)
	if !ok || v.Exists() && !(d.zero && isZero(v)) {
		return v
	}
	if filled := d.value(parent); filled.Exists() {
		return filled
	}
	return v
}

func isZero(v object.Value) bool {
	switch v.Type() {
	case object.String:
		return v.Masked() == nil && v.Text() == ""
	case object.Number:
		n, ok := v.Float()
		return ok && n == 0
	case object.Bool:
		b, _ := v.Bool()
		return !b
	case object.List, object.Map:
		return v.Len() == 0
	}
	return false
}

// addDefaults hangs the defaults on the types of s.
func addDefaults(s *schema, typ func(string) *node) {
	add := func(field string, d defaultRule) {
		i := strings.LastIndexByte(field, '.')
		n := typ(field[:i])
		if n.defaults == nil {
			n.defaults = map[string]defaultRule{}
		}
		n.defaults[field[i+1:]] = d
	}
	for line := range strings.Lines(defaultsTable) {
		field, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || field == "#" {
			continue
		}
		text, zero := strings.CutSuffix(rest, " zero")
		var v any
		if json.Unmarshal([]byte(text), &v) == nil { // a test reads every row
			add(field, defaultRule{fixed: object.Of(v), zero: zero})
		}
	}
	for field, when := range conditionalDefaults() {
		// These two are pointers, where 0 means 0: no retry, nothing to complete.
		pointer := field == "batch.v1.JobSpec.backoffLimit" || field == "batch.v1.JobSpec.completions"
		add(field, defaultRule{when: when, zero: !pointer})
	}
}

// conditionalDefaults are the defaults that depend on other fields; each is
// given the struct that lacks the field.
func conditionalDefaults() map[string]func(parent object.Value) object.Value {
	text, number, empty := object.TextOf, func(n int64) object.Value { return object.Of(n) }, object.Of(map[string]any{})
	none := object.Value{}
	is := func(v object.Value, words ...string) bool {
		for _, word := range words {
			if v.Text() == word {
				return true
			}
		}
		return false
	}
	// core SetDefaults_Container: by the tag, where a digest alone counts as a tag.
	pullPolicy := func(image string) object.Value {
		name, _, digested := strings.Cut(image, "@")
		tag := ""
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			tag = name[i+1:]
		}
		if tag == "latest" || tag == "" && !digested {
			return text("Always")
		}
		return text("IfNotPresent")
	}
	containerPull := func(c object.Value) object.Value { return pullPolicy(c.Field("image").Text()) }
	// SetDefaults_Deployment and its siblings fill rollingUpdate for that type only.
	rolling := func(strategy object.Value) object.Value {
		if t := strategy.Field("type"); !t.Exists() || is(t, "RollingUpdate") {
			return empty
		}
		return none
	}
	rollingIfSaid := func(strategy object.Value) object.Value {
		if is(strategy.Field("type"), "RollingUpdate") {
			return empty
		}
		return none
	}
	templateLabels := func(spec object.Value) object.Value { return spec.At("template.metadata.labels") }
	selectorOfTemplate := func(spec object.Value) object.Value {
		if labels := spec.At("template.metadata.labels"); labels.Exists() {
			return object.MapOf(map[string]object.Value{"matchLabels": labels})
		}
		return none
	}
	subjectGroup := func(subject object.Value) object.Value {
		if is(subject.Field("kind"), "User", "Group") {
			return text("rbac.authorization.k8s.io")
		}
		return none
	}
	crdName := func(suffix string, lower bool) func(object.Value) object.Value {
		return func(names object.Value) object.Value {
			kind := names.Field("kind").Text()
			if lower {
				kind = strings.ToLower(kind)
			}
			return text(kind + suffix)
		}
	}
	return map[string]func(object.Value) object.Value{
		"core.v1.Container.imagePullPolicy":          containerPull,
		"core.v1.EphemeralContainer.imagePullPolicy": containerPull,
		// SetDefaults_Volume: a volume of which nothing says what it is.
		"core.v1.Volume.emptyDir": func(volume object.Value) object.Value {
			for _, key := range volume.Keys() {
				if key != "name" && key != "emptyDir" {
					return none
				}
			}
			return empty
		},
		"core.v1.ImageVolumeSource.pullPolicy": func(v object.Value) object.Value { return pullPolicy(v.Field("reference").Text()) },
		// Conversion keeps the deprecated alias in step.
		"core.v1.PodSpec.serviceAccount": func(spec object.Value) object.Value { return spec.Field("serviceAccountName") },
		"core.v1.ServicePort.targetPort": func(port object.Value) object.Value { return port.Field("port") },
		// SetDefaults_Service
		"core.v1.ServiceSpec.externalTrafficPolicy": func(spec object.Value) object.Value {
			if is(spec.Field("type"), "NodePort", "LoadBalancer") || spec.Field("externalIPs").Len() > 0 {
				return text("Cluster")
			}
			return none
		},
		"core.v1.ServiceSpec.internalTrafficPolicy": func(spec object.Value) object.Value {
			if is(spec.Field("type"), "ExternalName") {
				return none
			}
			return text("Cluster")
		},
		"core.v1.ServiceSpec.sessionAffinityConfig": func(spec object.Value) object.Value {
			if is(spec.Field("sessionAffinity"), "ClientIP") {
				return object.Of(map[string]any{"clientIP": map[string]any{"timeoutSeconds": 10800}})
			}
			return none
		},
		// defaultOnReadService and initIPFamilyFields in pkg/registry/core/service/storage
		"core.v1.ServiceSpec.ipFamilyPolicy": func(spec object.Value) object.Value {
			if is(spec.Field("type"), "ExternalName") || spec.Field("ipFamilies").Len() > 1 || spec.Field("clusterIPs").Len() > 1 {
				return none
			}
			return text("SingleStack")
		},
		"core.v1.ServiceSpec.clusterIPs": func(spec object.Value) object.Value {
			if ip := spec.Field("clusterIP"); ip.Text() != "" {
				return object.ListOf([]object.Value{ip})
			}
			return none
		},
		"core.v1.ReplicationControllerSpec.selector": templateLabels,

		"apps.v1.DeploymentStrategy.rollingUpdate":                 rolling,
		"apps.v1.DaemonSetUpdateStrategy.rollingUpdate":            rolling,
		"apps.v1.StatefulSetUpdateStrategy.rollingUpdate":          rolling,
		"extensions.v1beta1.DeploymentStrategy.rollingUpdate":      rolling,
		"extensions.v1beta1.DaemonSetUpdateStrategy.rollingUpdate": rollingIfSaid,
		"extensions.v1beta1.DeploymentSpec.selector":               selectorOfTemplate,
		"extensions.v1beta1.DaemonSetSpec.selector":                selectorOfTemplate,
		"extensions.v1beta1.ReplicaSetSpec.selector":               selectorOfTemplate,
		"apps.v1beta1.DeploymentSpec.selector":                     selectorOfTemplate,
		"apps.v1beta1.StatefulSetSpec.selector":                    selectorOfTemplate,

		// SetDefaults_Job
		"batch.v1.JobSpec.completions": func(spec object.Value) object.Value {
			if spec.Field("parallelism").Exists() {
				return none
			}
			return number(1)
		},
		"batch.v1.JobSpec.backoffLimit": func(spec object.Value) object.Value {
			if spec.Field("backoffLimitPerIndex").Exists() {
				return number(2147483647)
			}
			return number(6)
		},
		"batch.v1.JobSpec.podReplacementPolicy": func(spec object.Value) object.Value {
			if spec.Field("podFailurePolicy").Exists() {
				return text("Failed")
			}
			return text("TerminatingOrFailed")
		},

		// SetDefaults_NetworkPolicy
		"networking.v1.NetworkPolicySpec.policyTypes": func(spec object.Value) object.Value {
			if spec.Field("egress").Len() > 0 {
				return object.Of([]any{"Ingress", "Egress"})
			}
			return object.Of([]any{"Ingress"})
		},
		// GenerateHPAScaleUpRules, GenerateHPAScaleDownRules: where behavior is written at all
		"autoscaling.v2.HorizontalPodAutoscalerBehavior.scaleUp": func(object.Value) object.Value {
			return object.Of(map[string]any{
				"stabilizationWindowSeconds": 0,
				"selectPolicy":               "Max",
				"policies": []any{
					map[string]any{"type": "Pods", "value": 4, "periodSeconds": 15},
					map[string]any{"type": "Percent", "value": 100, "periodSeconds": 15},
				},
			})
		},
		"autoscaling.v2.HorizontalPodAutoscalerBehavior.scaleDown": func(object.Value) object.Value {
			return object.Of(map[string]any{
				"selectPolicy": "Max",
				"policies":     []any{map[string]any{"type": "Percent", "value": 100, "periodSeconds": 15}},
			})
		},
		// SetDefaults_Subject
		"rbac.v1.Subject.apiGroup": subjectGroup,
		// SetDefaults_CustomResourceDefinitionSpec
		"apiextensions.v1.CustomResourceDefinitionNames.singular": crdName("", true),
		"apiextensions.v1.CustomResourceDefinitionNames.listKind": crdName("List", false),
		"resource.v1.ExactDeviceRequest.count": func(r object.Value) object.Value {
			if m := r.Field("allocationMode").Text(); m == "" || m == "ExactCount" {
				return number(1)
			}
			return none
		},
	}
}
