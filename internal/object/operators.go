package object

import (
	"maps"
	"slices"
	"strings"
)

// A podMaker is an object whose operator makes pods that no manifest shows.
type podMaker struct {
	object    *Object
	namespace string            // where its pods run
	fixed     map[string]string // labels that all its pods carry
	labels    map[string]string // these and others that its pods may carry
	anything  bool              // it brings pods of which nothing is known
}

// fixedLabels says, per operator kind, which labels all its pods carry, with NAME
// for the object's name.
//
// prometheus-operator: pkg/prometheus and pkg/alertmanager, makeStatefulSetSpec
// (https://github.com/prometheus-operator/prometheus-operator). CloudNativePG:
// https://cloudnative-pg.io/documentation/current/labels_annotations. Gateway API:
// https://gateway-api.sigs.k8s.io/geps/gep-1762/. The others by the operators' own
// manuals; a kind whose labels are not certain is not here.
var fixedLabels = map[string]map[string]string{
	"Prometheus.monitoring.coreos.com":                  {"app.kubernetes.io/name": "prometheus", "app.kubernetes.io/instance": "NAME", "app.kubernetes.io/managed-by": "prometheus-operator", "prometheus": "NAME", "operator.prometheus.io/name": "NAME"},
	"PrometheusAgent.monitoring.coreos.com":             {"app.kubernetes.io/instance": "NAME", "app.kubernetes.io/managed-by": "prometheus-operator", "operator.prometheus.io/name": "NAME"},
	"Alertmanager.monitoring.coreos.com":                {"app.kubernetes.io/name": "alertmanager", "app.kubernetes.io/instance": "NAME", "app.kubernetes.io/managed-by": "prometheus-operator", "alertmanager": "NAME"},
	"ThanosRuler.monitoring.coreos.com":                 {"app.kubernetes.io/name": "thanos-ruler", "app.kubernetes.io/instance": "NAME", "app.kubernetes.io/managed-by": "prometheus-operator", "thanos-ruler": "NAME"},
	"Service.serving.knative.dev":                       {"serving.knative.dev/service": "NAME"},
	"Configuration.serving.knative.dev":                 {"serving.knative.dev/configuration": "NAME"},
	"Kafka.kafka.strimzi.io":                            {"strimzi.io/cluster": "NAME"},
	"KafkaConnect.kafka.strimzi.io":                     {"strimzi.io/cluster": "NAME"},
	"KafkaMirrorMaker2.kafka.strimzi.io":                {"strimzi.io/cluster": "NAME"},
	"KafkaBridge.kafka.strimzi.io":                      {"strimzi.io/cluster": "NAME"},
	"Cluster.postgresql.cnpg.io":                        {"cnpg.io/cluster": "NAME"},
	"Pooler.postgresql.cnpg.io":                         {"cnpg.io/poolerName": "NAME"},
	"postgresql.acid.zalan.do":                          {"cluster-name": "NAME"},
	"PostgresCluster.postgres-operator.crunchydata.com": {"postgres-operator.crunchydata.com/cluster": "NAME"},
	"Elasticsearch.elasticsearch.k8s.elastic.co":        {"common.k8s.elastic.co/type": "elasticsearch", "elasticsearch.k8s.elastic.co/cluster-name": "NAME"},
	"Kibana.kibana.k8s.elastic.co":                      {"common.k8s.elastic.co/type": "kibana", "kibana.k8s.elastic.co/name": "NAME"},
	"RabbitmqCluster.rabbitmq.com":                      {"app.kubernetes.io/name": "NAME", "app.kubernetes.io/component": "rabbitmq"},
	"OpenTelemetryCollector.opentelemetry.io":           {"app.kubernetes.io/managed-by": "opentelemetry-operator"},
	"Gateway.gateway.networking.k8s.io":                 {"gateway.networking.k8s.io/gateway-name": "NAME"},
	"RayCluster.ray.io":                                 {"ray.io/cluster": "NAME"},
	"InferenceService.serving.kserve.io":                {"serving.kserve.io/inferenceservice": "NAME"},
	"Workflow.argoproj.io":                              {"workflows.argoproj.io/workflow": "NAME"},
}

// deployers bring whole sets of manifests that are not in the tree, so nothing is
// known of their pods but the namespace. Their target is where those pods run.
var deployers = map[string]string{
	"HelmRelease.helm.toolkit.fluxcd.io":        "spec.targetNamespace",
	"Kustomization.kustomize.toolkit.fluxcd.io": "spec.targetNamespace",
	"HelmChart.helm.cattle.io":                  "spec.targetNamespace",
	"Application.argoproj.io":                   "spec.destination.namespace",
	"ApplicationSet.argoproj.io":                "spec.template.spec.destination.namespace",
}

// asPodMaker reads o as an object that makes pods outside the tree. Built-in kinds
// and those with a pod template of their own are workloads, not pod makers, except
// where their controller adds labels that the template does not show.
func asPodMaker(o *Object) (podMaker, bool) {
	if !strings.Contains(o.Ref.Group, ".") {
		return podMaker{}, false
	}
	kind := o.Ref.GroupKind()
	m := podMaker{object: o, namespace: o.Ref.Namespace}
	if path, ok := deployers[kind]; ok {
		m.anything = true
		if target := o.Text(path); target != "" {
			m.namespace = target
		}
		return m, true
	}
	fixed, known := fixedLabels[kind]
	if !known {
		if strings.HasSuffix(o.Ref.Group, ".k8s.io") || slices.Contains(podlessGroups, o.Ref.Group) || podlessKinds[kind] {
			return podMaker{}, false
		}
		if _, isWorkload := AsWorkload(o); isWorkload {
			return podMaker{}, false
		}
	}
	// Operators commonly hand on the labels of the object and those it has for
	// its pods.
	m.labels = o.Labels()
	for _, path := range []string{"spec.podMetadata.labels", "spec.template.metadata.labels", "spec.inheritedMetadata.labels", "spec.podTemplate.metadata.labels", "spec.infrastructure.labels"} {
		maps.Copy(m.labels, o.Strings(path))
	}
	m.fixed = make(map[string]string, len(fixed))
	for k, v := range fixed {
		if v == "NAME" {
			v = o.Ref.Name
		}
		m.fixed[k] = v
	}
	maps.Copy(m.labels, m.fixed)
	return m, true
}

// podlessGroups are API groups of custom resources that configure and make no pods.
var podlessGroups = []string{
	"cert-manager.io", "acme.cert-manager.io", "external-secrets.io", "bitnami.com", "networking.istio.io", "security.istio.io", "telemetry.istio.io",
	"traefik.io", "traefik.containo.us", "projectcontour.io", "cilium.io", "crd.projectcalico.org", "projectcalico.org", "keda.sh", "kyverno.io",
	"wgpolicyk8s.io", "source.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "metallb.io", "karpenter.sh",
	"karpenter.k8s.aws", "elbv2.k8s.aws", "linkerd.io", "policy.linkerd.io", "getambassador.io", "gateway.envoyproxy.io", "cloud.google.com",
	"templates.gatekeeper.sh", "constraints.gatekeeper.sh", "velero.io", "longhorn.io", "k8s.cni.cncf.io", "externaldns.k8s.io", "monitoring.grafana.com",
}

// podlessKinds are kinds without pods in groups that also have kinds with pods.
var podlessKinds = map[string]bool{
	"ServiceMonitor.monitoring.coreos.com": true, "PodMonitor.monitoring.coreos.com": true, "Probe.monitoring.coreos.com": true,
	"PrometheusRule.monitoring.coreos.com": true, "AlertmanagerConfig.monitoring.coreos.com": true, "ScrapeConfig.monitoring.coreos.com": true,
	"KafkaTopic.kafka.strimzi.io": true, "KafkaUser.kafka.strimzi.io": true, "KafkaConnector.kafka.strimzi.io": true,
	"Backup.postgresql.cnpg.io": true, "ScheduledBackup.postgresql.cnpg.io": true, "Database.postgresql.cnpg.io": true,
	"AppProject.argoproj.io": true, "AnalysisTemplate.argoproj.io": true, "ClusterAnalysisTemplate.argoproj.io": true,
	"GrafanaDashboard.grafana.integreatly.org": true, "GrafanaDatasource.grafana.integreatly.org": true, "GrafanaFolder.grafana.integreatly.org": true,
	"Instrumentation.opentelemetry.io": true,
}

// mayMatch says whether a selector may reach pods that m's operator makes: nothing
// in it contradicts what is known of their labels, and something in it points to them.
func (m podMaker) mayMatch(selector LabelSelector) bool {
	if m.anything || selector.Empty() {
		return true
	}
	points := false
	for k, v := range selector.labels {
		if got, ok := m.fixed[k]; ok && got != v {
			return false
		}
		points = points || m.labels[k] == v || m.named(v)
	}
	for _, e := range selector.expressions {
		one := LabelSelector{exists: true, expressions: []expression{e}}
		got, ok := m.labels[e.key]
		holds := ok && one.Matches(map[string]string{e.key: got})
		if _, fixed := m.fixed[e.key]; fixed && !holds {
			return false
		}
		points = points || holds
	}
	return points
}

// named says whether a label's value is made of the object's name.
func (m podMaker) named(value string) bool {
	name := m.object.Ref.Name
	return value == name || strings.HasPrefix(value, name+"-") || strings.HasSuffix(value, "-"+name)
}
