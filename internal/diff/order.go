package diff

import (
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// An order says what the order of a list's items means.
type order uint8

const (
	// meaningful: a reordered list is another list.
	meaningful order = iota
	// free: only which items there are counts.
	free
	// byReference: as env, where a value may use $(NAME) of an earlier item.
	byReference
	// byPathType: as Ingress paths, where Exact and Prefix paths are matched by
	// length and only ImplementationSpecific ones may be tried in turn.
	byPathType
)

// freeAtomic names lists that the API server takes as one value, but in which
// the order of the items has no effect: rules and peers that are OR-ed,
// requirements that are AND-ed, sets of words. A field name alone stands for
// that field of every type. What a list means is in its field's documentation at
// https://kubernetes.io/docs/reference/kubernetes-api/.
const freeAtomic = `
	PolicyRule.apiGroups PolicyRule.resources PolicyRule.verbs PolicyRule.resourceNames PolicyRule.nonResourceURLs
	Role.rules ClusterRole.rules RoleBinding.subjects ClusterRoleBinding.subjects AggregationRule.clusterRoleSelectors
	NetworkPolicySpec.ingress NetworkPolicySpec.egress NetworkPolicySpec.policyTypes
	NetworkPolicyIngressRule.from NetworkPolicyIngressRule.ports NetworkPolicyEgressRule.to NetworkPolicyEgressRule.ports
	IPBlock.except
	LabelSelector.matchExpressions LabelSelectorRequirement.values
	NodeSelector.nodeSelectorTerms NodeSelectorTerm.matchExpressions NodeSelectorTerm.matchFields NodeSelectorRequirement.values
	TopologySelectorTerm.matchLabelExpressions TopologySelectorLabelRequirement.values
	NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution
	PodAffinity.requiredDuringSchedulingIgnoredDuringExecution PodAffinity.preferredDuringSchedulingIgnoredDuringExecution
	PodAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution PodAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution
	PodAffinityTerm.namespaces PodAffinityTerm.matchLabelKeys PodAffinityTerm.mismatchLabelKeys
	TopologySpreadConstraint.matchLabelKeys
	PodSpec.tolerations PodSpec.readinessGates PodSecurityContext.supplementalGroups PodSecurityContext.sysctls
	Capabilities.add Capabilities.drop
	ServiceSpec.loadBalancerSourceRanges ServiceSpec.externalIPs
	PersistentVolumeClaimSpec.accessModes PersistentVolumeSpec.accessModes
	StorageClass.allowedTopologies CSIDriverSpec.volumeLifecycleModes CSIDriverSpec.tokenRequests
	ResourceQuotaSpec.scopes ScopeSelector.matchExpressions ScopedResourceSelectorRequirement.values LimitRangeSpec.limits
	HorizontalPodAutoscalerSpec.metrics HPAScalingRules.policies
	IngressSpec.rules IngressSpec.tls IngressTLS.hosts HostAlias.hostnames
	ValidatingWebhook.rules MutatingWebhook.rules RuleWithOperations.apiGroups RuleWithOperations.apiVersions RuleWithOperations.resources RuleWithOperations.operations
	NamedRuleWithOperations.apiGroups NamedRuleWithOperations.apiVersions NamedRuleWithOperations.resources
	NamedRuleWithOperations.operations NamedRuleWithOperations.resourceNames
	MatchResources.resourceRules MatchResources.excludeResourceRules
	CustomResourceDefinitionSpec.versions CustomResourceDefinitionNames.shortNames CustomResourceDefinitionNames.categories
	JSONSchemaProps.required JSONSchemaProps.enum JSONSchemaProps.allOf JSONSchemaProps.anyOf JSONSchemaProps.oneOf
	PolicyRulesWithSubjects.subjects PolicyRulesWithSubjects.resourceRules PolicyRulesWithSubjects.nonResourceRules
	FlowSchemaSpec.rules ResourcePolicyRule.apiGroups ResourcePolicyRule.resources ResourcePolicyRule.verbs
	ResourcePolicyRule.namespaces NonResourcePolicyRule.nonResourceURLs NonResourcePolicyRule.verbs
	CertificateSigningRequestSpec.usages ServiceAccount.imagePullSecrets
	ConfigMapVolumeSource.items SecretVolumeSource.items ConfigMapProjection.items SecretProjection.items
	DownwardAPIVolumeSource.items DownwardAPIProjection.items
	ScaledObjectSpec.triggers ServiceMonitorSpec.endpoints PodMonitorSpec.podMetricsEndpoints
	KustomizationSpec.dependsOn HelmReleaseSpec.dependsOn
`

// orderedKeyed names keyed lists in which the order does have an effect: init
// containers run one after the other, mutating webhooks of one configuration are
// called in turn.
const orderedKeyed = `PodSpec.initContainers MutatingWebhookConfiguration.webhooks`

// orderOf says what order means in one list of a built-in type.
func orderOf(typeName, field string, n *node) order {
	short := typeName[strings.LastIndexByte(typeName, '.')+1:] + "." + field
	switch short {
	case "Container.env", "EphemeralContainer.env":
		return byReference
	case "HTTPIngressRuleValue.paths":
		return byPathType
	}
	switch n.shape {
	case keyedBy:
		if hasWord(orderedKeyed, short) {
			return meaningful
		}
		return free
	case setOf:
		return free
	}
	if hasWord(freeAtomic, short) {
		return free
	}
	return meaningful
}

func hasWord(words, word string) bool {
	for rest := words; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || isSpace(rest[i-1])) && (end == len(rest) || isSpace(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// freely says whether a pure reordering of these two lists has no effect.
func (o order) freely(before, after object.Value) bool {
	switch o {
	case free:
		return true
	case byReference:
		return !refersToVariables(before) && !refersToVariables(after)
	case byPathType:
		return !implementationSpecific(before) && !implementationSpecific(after)
	}
	return false
}

// refersToVariables says whether a value of an env list uses another variable:
// only variables defined before are replaced
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
func refersToVariables(env object.Value) bool {
	for _, item := range env.Items() {
		if strings.Contains(item.Field("value").Text(), "$(") {
			return true
		}
	}
	return false
}

func implementationSpecific(paths object.Value) bool {
	for _, item := range paths.Items() {
		switch item.Field("pathType").Text() {
		case "Exact", "Prefix":
		default:
			return true
		}
	}
	return false
}
