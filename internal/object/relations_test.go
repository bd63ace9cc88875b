package object

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// setOf makes a set of manifests.
func setOf(t testing.TB, text string) *Set {
	t.Helper()
	objects, errs := Parse("unit", "f.yaml", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return NewSet(objects)
}

func names(objects []*Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Ref.Kind+"/"+o.Ref.Name)
	}
	return strings.Join(out, " ")
}

func workloadNames(ws []Workload) string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Ref.Kind+"/"+w.Ref.Name)
	}
	return strings.Join(out, " ")
}

const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web, tier: front}
      annotations: {upstream: "http://cache.shop/x"}
    spec:
      serviceAccountName: web
      priorityClassName: high
      imagePullSecrets: [{name: pull}]
      initContainers:
      - {name: migrate, image: web:1, envFrom: [{secretRef: {name: db}}]}
      - name: proxy
        image: proxy:1
        restartPolicy: Always
        ports: [{name: admin, containerPort: 9901}]
      containers:
      - name: app
        image: web:1
        args: [--cache=cache:6379, --db, postgres.data.svc.cluster.local:5432, --name=cache, -v]
        ports: [{name: http, containerPort: 8080}]
        env:
        - {name: PEERS, value: "dns:///web-headless.shop.svc:9000,other.example.com"}
        - {name: MODE, valueFrom: {configMapKeyRef: {name: web, key: mode, optional: true}}}
        volumeMounts:
        - {name: config, mountPath: /etc/x, subPath: x.yaml}
        readinessProbe: {httpGet: {port: http}}
      volumes:
      - {name: config, configMap: {name: web, items: [{key: x.yaml, path: x}]}}
      - {name: certs, projected: {sources: [{secret: {name: tls}}]}}
      - {name: data, persistentVolumeClaim: {claimName: web-data}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cache, namespace: shop}
spec:
  serviceName: cache
  template: {metadata: {labels: {app: cache, tier: back}}, spec: {containers: [{name: c, image: redis:7}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: ops}
spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: agent:1}]}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 3, maxReplicas: 30}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: cache, namespace: shop}
spec: {scaleTargetRef: {kind: StatefulSet, name: cache}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: cache, namespace: shop}
spec: {clusterIP: None, selector: {app: cache}}
---
apiVersion: v1
kind: Service
metadata: {name: manual, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all, namespace: shop}
spec: {selector: {}, minAvailable: 1}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: back, namespace: shop}
spec: {selector: {matchExpressions: [{key: tier, operator: In, values: [back]}]}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: shop}
spec: {podSelector: {}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: nginx
  tls: [{secretName: tls}]
  rules: [{http: {paths: [{path: /, backend: {service: {name: web, port: {name: http}}}}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: edge}
spec: {parentRefs: [{name: public}], rules: [{backendRefs: [{name: web, namespace: shop, port: 80}]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: edge}
spec: {http: [{route: [{destination: {host: web.shop.svc.cluster.local, port: {number: 80}}}]}]}
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: shop}
spec: {routes: [{services: [{name: web, port: 80}]}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: check}
webhooks: [{name: check.x.io, clientConfig: {service: {name: web, namespace: shop}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {x.yaml: "upstream: {host: cache.shop.svc, port: 1}\nself: cache:6379/cache.shop/x.cache.shop\n", mode: fast}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: shop}
roleRef: {kind: Role, name: web, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
`

func TestReplicasWithAutoscalers(t *testing.T) {
	s := setOf(t, shop)
	var got []string
	for _, w := range s.Workloads() {
		got = append(got, fmt.Sprintf("%s %d %v %s", w.Ref.Name, w.Replicas.Count, w.Replicas.Known, w.Replicas.From))
	}
	want := []string{"agent 0 false one per node", "web 3 true minReplicas of HorizontalPodAutoscaler web", "cache 0 false minReplicaCount of ScaledObject cache"}
	if !slices.Equal(got, want) {
		t.Errorf("workloads %q, want %q", got, want)
	}
	web := Ref{"unit", "apps", "Deployment", "shop", "web"}
	if a := s.AutoscalersOf(web); len(a) != 1 || a[0].Max != 30 || a[0].Min != 3 {
		t.Errorf("autoscalers of web: %v", a)
	}
}

func TestSelectors(t *testing.T) {
	s := setOf(t, shop)
	tests := []struct {
		name string
		pods Pods
		want string
	}{
		{"a Service", s.PodsOfService(s.Get(Ref{"unit", "", "Service", "shop", "web"})), "Deployment/web"},
		{"a Service without selector", s.PodsOfService(s.Get(Ref{"unit", "", "Service", "shop", "manual"})), ""},
		{"another namespace", s.PodsOf(PlainSelector(map[string]string{"app": "web"}), "ops"), "DaemonSet/agent"},
		{"no namespace", s.PodsOf(PlainSelector(map[string]string{"app": "web"}), ""), ""},
		{"an empty selector", s.PodsOf(Of(map[string]any{}).Selector(), "shop"), "Deployment/web StatefulSet/cache"},
		{"no selector", s.PodsOf(LabelSelector{}, "shop"), ""},
		{"one label too many", s.PodsOf(PlainSelector(map[string]string{"app": "web", "zone": "a"}), "shop"), ""},
	}
	for _, tt := range tests {
		if got := workloadNames(tt.pods.Workloads); got != tt.want || len(tt.pods.Unknown) > 0 {
			t.Errorf("%s: %q, unknown %q, want %q", tt.name, got, names(tt.pods.Unknown), tt.want)
		}
	}
	web, cache := Ref{"unit", "apps", "Deployment", "shop", "web"}, Ref{"unit", "apps", "StatefulSet", "shop", "cache"}
	if got := names(s.ServicesFor(web)); got != "Service/web" {
		t.Errorf("Services for web: %s", got)
	}
	if got := names(s.BudgetsFor(cache)); got != "PodDisruptionBudget/all PodDisruptionBudget/back" {
		t.Errorf("budgets for cache: %s", got)
	}
	if got := names(s.PoliciesFor(web)); got != "NetworkPolicy/closed" {
		t.Errorf("policies for web: %s", got)
	}
}

func TestAnEmptyBudgetSelectorMatchesNothingInBeta(t *testing.T) {
	s := setOf(t, strings.Replace(shop, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: all", 1))
	if got := names(s.BudgetsFor(Ref{"unit", "apps", "Deployment", "shop", "web"})); got != "" {
		t.Errorf("budgets for web: %s", got)
	}
}

func TestPodsOfOperatorsAreUnknownNotNone(t *testing.T) {
	const operators = `
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: k8s, namespace: monitoring}
spec: {podMetadata: {labels: {team: infra}}}
---
apiVersion: example.io/v1
kind: Database
metadata: {name: orders, namespace: data, labels: {team: db}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: orders, namespace: data}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: redis, namespace: flux}
spec: {targetNamespace: cache}
---
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: clone, namespace: data}
spec: {replicas: 4, template: {metadata: {labels: {app: clone}}, spec: {containers: [{name: c, image: x}]}}}
`
	s := setOf(t, operators)
	tests := []struct {
		namespace string
		selector  map[string]string
		want      string
	}{
		{"monitoring", map[string]string{"app.kubernetes.io/name": "prometheus", "prometheus": "k8s"}, "Prometheus/k8s"},
		{"monitoring", map[string]string{"prometheus": "k8s", "app.kubernetes.io/part-of": "kube-prometheus"}, "Prometheus/k8s"},
		{"monitoring", map[string]string{"team": "infra"}, "Prometheus/k8s"},
		{"monitoring", map[string]string{"app.kubernetes.io/name": "grafana"}, ""},
		{"monitoring", map[string]string{"prometheus": "other"}, ""},
		{"data", map[string]string{"cluster": "orders"}, "Database/orders"},
		{"data", map[string]string{"app": "orders-primary"}, "Database/orders"},
		{"data", map[string]string{"team": "db"}, "Database/orders"},
		{"data", map[string]string{"app": "web"}, ""},
		{"cache", map[string]string{"app": "anything"}, "HelmRelease/redis"},
		{"flux", map[string]string{"app": "anything"}, ""},
	}
	for _, tt := range tests {
		pods := s.PodsOf(PlainSelector(tt.selector), tt.namespace)
		if got := names(pods.Unknown); got != tt.want || len(pods.Workloads) > 0 {
			t.Errorf("%s %v: unknown %q, workloads %q, want unknown %q", tt.namespace, tt.selector, got, workloadNames(pods.Workloads), tt.want)
		}
		if _, known := pods.Count(); known != (tt.want == "") || pods.None() != (tt.want == "") {
			t.Errorf("%s %v: known %v, none %v", tt.namespace, tt.selector, known, pods.None())
		}
	}
	pods := s.PodsOf(PlainSelector(map[string]string{"app": "clone"}), "data")
	if n, known := pods.Count(); n != 4 || !known || workloadNames(pods.Workloads) != "CloneSet/clone" {
		t.Errorf("CloneSet: %d pods, known %v, of %s", n, known, workloadNames(pods.Workloads))
	}
}

func TestReferences(t *testing.T) {
	s := setOf(t, shop)
	describe := func(refs []Reference) []string {
		var out []string
		for _, r := range refs {
			text := fmt.Sprintf("%s %s -> %s", r.From.Ref.Kind, r.Use, r.To)
			for _, extra := range []struct {
				is   bool
				text string
			}{{r.Key != "", " key " + r.Key}, {r.Port != "", " port " + r.Port}, {r.Optional, " optional"}, {r.SubPath, " subPath"}, {r.Container != "", " in " + r.Container}} {
				if extra.is {
					text += extra.text
				}
			}
			if !r.From.At(string(r.Path)).Exists() {
				t.Errorf("%s: nothing at %s", text, r.Path)
			}
			out = append(out, text)
		}
		return out
	}
	tests := []struct {
		name string
		got  []Reference
		want []string
	}{
		{"of a Deployment", s.References(s.Get(Ref{"unit", "apps", "Deployment", "shop", "web"})), []string{
			"Deployment service account -> ServiceAccount shop/web", "Deployment priority class -> PriorityClass high", "Deployment image pull secret -> Secret shop/pull optional",
			"Deployment envFrom -> Secret shop/db in migrate", "Deployment env -> ConfigMap shop/web key mode optional in app",
			"Deployment volume -> ConfigMap shop/web key x.yaml subPath", "Deployment projected volume -> Secret shop/tls", "Deployment claim -> PersistentVolumeClaim shop/web-data",
		}},
		{"to a Service", s.ReferencesTo(Ref{"unit", "", "Service", "shop", "web"}), []string{
			"ValidatingWebhookConfiguration webhook -> Service shop/web port 443", "HTTPRoute backend -> Service shop/web port 80", "VirtualService backend -> Service shop/web port 80",
			"Ingress backend -> Service shop/web port http", "IngressRoute backend -> Service shop/web port 80",
		}},
		{"routes", s.RoutesTo(Ref{"unit", "", "Service", "shop", "web"}), []string{
			"HTTPRoute backend -> Service shop/web port 80", "VirtualService backend -> Service shop/web port 80", "Ingress backend -> Service shop/web port http", "IngressRoute backend -> Service shop/web port 80",
		}},
		{"to a workload", s.ReferencesTo(Ref{"unit", "apps", "Deployment", "shop", "web"}), []string{"HorizontalPodAutoscaler scale target -> Deployment shop/web"}},
		{"to a governing Service", s.ReferencesTo(Ref{"unit", "", "Service", "shop", "cache"}), []string{"StatefulSet governing service -> Service shop/cache"}},
		{"to an account", s.ReferencesTo(Ref{"unit", "", "ServiceAccount", "shop", "web"}), []string{"Deployment service account -> ServiceAccount shop/web", "RoleBinding subject -> ServiceAccount shop/web"}},
		{"to a Secret", s.ReferencesTo(Ref{"unit", "", "Secret", "shop", "tls"}), []string{"Deployment projected volume -> Secret shop/tls", "Ingress tls -> Secret shop/tls"}},
		{"to nothing", s.ReferencesTo(Ref{"unit", "", "Secret", "shop", "none"}), nil},
	}
	for _, tt := range tests {
		if got := describe(tt.got); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestMentions(t *testing.T) {
	s := setOf(t, shop)
	describe := func(ms []Mention) []string {
		var out []string
		for _, m := range ms {
			out = append(out, fmt.Sprintf("%s %s %s", m.From.Ref.Kind, m.Host, m.Port))
		}
		return out
	}
	tests := []struct {
		namespace, name string
		want            []string
	}{
		{"shop", "cache", []string{"ConfigMap cache.shop.svc ", "ConfigMap cache 6379", "Deployment cache.shop ", "Deployment cache 6379"}},
		{"data", "postgres", []string{"Deployment postgres.data.svc.cluster.local 5432"}},
		{"", "postgres", []string{"Deployment postgres.data.svc.cluster.local 5432"}},
		{"shop", "web-headless", []string{"Deployment web-headless.shop.svc 9000"}},
		{"ops", "cache", nil},
		{"shop", "web", []string{"VirtualService web.shop.svc.cluster.local "}},
	}
	for _, tt := range tests {
		if got := describe(s.Mentions(tt.namespace, tt.name)); !slices.Equal(got, tt.want) {
			t.Errorf("%s/%s: %q, want %q", tt.namespace, tt.name, got, tt.want)
		}
	}
}

func TestServiceHost(t *testing.T) {
	tests := []struct {
		host, name, namespace string
		ok                    bool
	}{
		{"cache", "cache", "here", true}, {"cache.prod", "cache", "prod", true}, {"cache.prod.svc", "cache", "prod", true}, {"cache.prod.svc.cluster.local.", "cache", "prod", true},
		{"cache-0.cache.prod.svc", "cache", "prod", true}, {"cache-0.cache.prod", "cache", "prod", true}, {"_http._tcp.cache.prod.svc", "cache", "prod", true},
		{"svc", "svc", "here", true}, {"a.svc", "", "", false}, {"a.b.example.com", "", "", false}, {"", "", "here", false}, {"Cache", "Cache", "here", false}, {"-a", "-a", "here", false}, {"my_host.prod", "my_host", "prod", false},
	}
	for _, tt := range tests {
		name, namespace, ok := ServiceHost(tt.host, "here")
		if ok != tt.ok || ok && (name != tt.name || namespace != tt.namespace) {
			t.Errorf("ServiceHost(%q) = %s, %s, %v", tt.host, name, namespace, ok)
		}
	}
}

func TestContainers(t *testing.T) {
	s := setOf(t, shop)
	w, ok := s.Workload(Ref{"unit", "apps", "Deployment", "shop", "web"})
	if !ok {
		t.Fatal("no workload")
	}
	var got []string
	for _, c := range w.Containers() {
		got = append(got, fmt.Sprintf("%s %d", c.Path, c.Kind))
		if w.At(string(c.Path)).String() != c.Spec.String() {
			t.Errorf("%s leads elsewhere", c.Path)
		}
	}
	want := []string{"spec.template.spec.initContainers[name=migrate] 1", "spec.template.spec.initContainers[name=proxy] 2", "spec.template.spec.containers[name=app] 0"}
	if !slices.Equal(got, want) {
		t.Errorf("containers %q, want %q", got, want)
	}
	if len(w.Running()) != 2 {
		t.Errorf("%d running containers, want 2", len(w.Running()))
	}
	app, _ := w.Container("app")
	var flags []string
	for _, f := range app.Flags() {
		flags = append(flags, f.Name+"="+f.Value)
	}
	if want := []string{"cache=cache:6379", "db=postgres.data.svc.cluster.local:5432", "name=cache", "v="}; !slices.Equal(flags, want) {
		t.Errorf("flags %q, want %q", flags, want)
	}
	if env := app.Env(); len(env) != 2 || env[0].Path != "spec.template.spec.containers[name=app].env[name=PEERS]" || env[1].Value.Exists() {
		t.Errorf("env %v", env)
	}
	if p := app.Probes(); len(p) != 1 || p[0].Kind != "readinessProbe" {
		t.Errorf("probes %v", p)
	}
	for port, want := range map[any]int64{"http": 8080, "admin": 9901, 80: 80, "none": 0, "8080": 8080} {
		if got, ok := w.Port(Of(port)); got != want || ok != (want != 0) {
			t.Errorf("port %v is %d, %v, want %d", port, got, ok, want)
		}
	}
}

func TestAnEmptySetHasNoRelations(t *testing.T) {
	var s *Set
	ref := Ref{Kind: "Service", Name: "x"}
	if len(s.Workloads())+len(s.Autoscalers())+len(s.AutoscalersOf(ref))+len(s.ServicesFor(ref))+len(s.ReferencesTo(ref))+len(s.References(nil))+len(s.Mentions("", "x"))+len(s.PodsOf(PlainSelector(map[string]string{"a": "b"}), "").Workloads) != 0 {
		t.Error("an empty set has relations")
	}
	if !s.PodsOfService(nil).None() {
		t.Error("no Service has pods")
	}
}

func BenchmarkRelations(b *testing.B) {
	for _, n := range []int{500, 2000} {
		b.Run(fmt.Sprint(n, " objects"), func(b *testing.B) {
			var text strings.Builder
			for i := range n / 4 {
				fmt.Fprintf(&text, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w%d, namespace: shop}\nspec: {template: {metadata: {labels: {app: w%d}}, spec: {containers: [{name: app, image: x, args: [--peer=w%d:80], env: [{name: A, valueFrom: {configMapKeyRef: {name: w%d, key: a}}}]}]}}}\n", i, i, i/2, i)
				fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Service\nmetadata: {name: w%d, namespace: shop}\nspec: {selector: {app: w%d}}\n", i, i)
				fmt.Fprintf(&text, "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: w%d, namespace: shop}\nspec: {selector: {matchLabels: {app: w%d}}}\n", i, i)
				fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: w%d, namespace: shop}\ndata: {a: \"upstream: w%d.shop.svc:80\"}\n", i, i)
			}
			objects := setOf(b, text.String()).All()
			b.ReportAllocs()
			for b.Loop() {
				s := NewSet(objects)
				for _, w := range s.Workloads() {
					s.ServicesFor(w.Ref)
					s.BudgetsFor(w.Ref)
					s.ReferencesTo(Ref{"unit", "", "ConfigMap", "shop", w.Ref.Name})
					s.Mentions("shop", w.Ref.Name)
				}
			}
		})
	}
}
