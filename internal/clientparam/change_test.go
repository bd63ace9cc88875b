package clientparam

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/object"
)

// deployment makes a Deployment with one container of that content, in YAML at
// the depth of a container's fields.
func deployment(name, image, content string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: prod}
spec:
  template:
    spec:
      containers:
      - name: app
        image: %s
%s`, name, image, indent(content, 8))
}

func configMap(name, key, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  %s: |\n%s", name, key, indent(text, 4))
}

func indent(text string, n int) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+pad) + "\n"
}

func parseOne(t testing.TB, manifest string) *object.Object {
	t.Helper()
	objects, errs := object.Parse("unit", "a.yaml", []byte(manifest))
	if len(errs) > 0 || len(objects) != 1 {
		t.Fatalf("%d objects, errors %v in:\n%s", len(objects), errs, manifest)
	}
	return objects[0]
}

// told writes changes in one line each: family and name, before, after, verdict.
func told(changes []Change) []string {
	var out []string
	for _, c := range changes {
		what := "? " + string(c.Category)
		if c.Parameter != nil {
			what = c.Parameter.Family + " " + c.Parameter.Name
		}
		side := func(set bool, v Value) string {
			switch {
			case !set:
				return "-"
			case c.Hidden && v.Kind == Unknown:
				return "hidden"
			}
			return v.String()
		}
		verdict := map[Verdict]string{Neutral: "neutral", Better: "better", Worse: "worse"}[c.Judge().Verdict]
		out = append(out, fmt.Sprintf("%s: %s -> %s %s", what, side(c.Set[0], c.Before), side(c.Set[1], c.After), verdict))
	}
	return out
}

func TestChangesInContainers(t *testing.T) {
	const none = "{}"
	env := func(pairs ...string) string {
		var b strings.Builder
		b.WriteString("env:\n")
		for i := 0; i+1 < len(pairs); i += 2 {
			fmt.Fprintf(&b, "- {name: %s, value: %q}\n", pairs[i], pairs[i+1])
		}
		return b.String()
	}
	args := func(args ...string) string {
		return fmt.Sprintf("args: [%s]", `"`+strings.Join(args, `", "`)+`"`)
	}
	tests := []struct {
		name          string
		image         string
		before, after string
		want          []string
	}{
		{"an env variable that names gRPC's own argument", "app", "env: []", env("GRPC_INITIAL_RECONNECT_BACKOFF_MS", "300"),
			[]string{"grpc grpc.initial_reconnect_backoff_ms: - -> 300 ms worse"}},
		{"the same with another prefix and unit", "app", "env: []", env("METRICS_CLIENT_GRPC_MAX_RECONNECT_BACKOFF_MS", "300ms"),
			[]string{"grpc grpc.max_reconnect_backoff_ms: - -> 300 ms worse"}},
		{"the default written out is no change for the worse", "app", "env: []", env("GRPC_INITIAL_RECONNECT_BACKOFF_MS", "1000"),
			[]string{"grpc grpc.initial_reconnect_backoff_ms: - -> 1 s neutral"}},
		{"an override that goes away", "app", env("GRPC_INITIAL_RECONNECT_BACKOFF_MS", "300"), "env: []",
			[]string{"grpc grpc.initial_reconnect_backoff_ms: 300 ms -> - better"}},
		{"equal durations", "app", env("RETRY_BACKOFF", "1000ms"), env("RETRY_BACKOFF", "1s"), nil},
		{"an unknown name with a short wait", "app", "env: []", env("PAYMENTS_RECONNECT_DELAY", "200ms"),
			[]string{"? reconnect: - -> 200 ms worse"}},
		{"an unknown name with a long wait", "app", "env: []", env("PAYMENTS_RECONNECT_DELAY", "5s"),
			[]string{"? reconnect: - -> 5 s neutral"}},
		{"an unknown wait that shrinks", "app", env("RECONNECT_WAIT_MS", "5000"), env("RECONNECT_WAIT_MS", "500"),
			[]string{"? reconnect: 5 s -> 500 ms worse"}},
		{"a value from elsewhere", "app", "env: []", "env: [{name: RETRY_BACKOFF, valueFrom: {configMapKeyRef: {name: a, key: b, optional: true}}}]",
			[]string{"? backoff: - -> hidden neutral"}},
		{"a service config as JSON switches to round_robin", "app", "env: []",
			env("GRPC_SERVICE_CONFIG", `{"loadBalancingConfig":[{"round_robin":{}}]}`),
			[]string{"grpc loadBalancingConfig[].round_robin: - -> {} worse"}},
		{"a policy by name", "app", env("GRPC_LB_POLICY", "pick_first"), env("GRPC_LB_POLICY", "round_robin"),
			[]string{"grpc loadBalancingConfig[].round_robin: pick_first -> round_robin worse"}},
		{"a Java system property inside JAVA_OPTS", "app", env("JAVA_OPTS", "-Xmx1g"),
			env("JAVA_OPTS", "-Xmx1g -Ddatastax-java-driver.advanced.reconnection-policy.base-delay=100ms"),
			[]string{"cassandra datastax-java-driver.advanced.reconnection-policy.base-delay: - -> 100 ms worse"}},
		{"a Kafka property as images take it", "confluentinc/cp-kafka-connect", "env: []", env("CONNECT_PRODUCER_RECONNECT_BACKOFF_MAX_MS", "100"),
			[]string{"kafka_java reconnect.backoff.max.ms: - -> 100 ms worse"}},
		{"a parameter in a database URL", "app", env("DATABASE_URL", "postgres://db/app?connect_timeout=10"),
			env("DATABASE_URL", "postgres://db/app?connect_timeout=1"),
			[]string{"postgresql connect_timeout: 10 s -> 1 s worse"}},
		{"a parameter in a libpq string", "app", env("DB_DSN", "host=db connect_timeout=10"), env("DB_DSN", "host=db connect_timeout=1"),
			[]string{"? connect_timeout: 10 -> 1 worse"}},
		{"a flag with one dash", "grafana/loki:2.9", args("-target=querier"), args("-target=querier", "-querier.frontend-client.backoff-min-period=10ms"),
			[]string{"dskit -<prefix>.backoff-min-period: - -> 10 ms worse"}},
		{"a flag with two dashes", "grafana/loki:2.9", args("-target=querier"), args("-target=querier", "--querier.frontend-client.backoff-min-period=10ms"),
			[]string{"dskit -<prefix>.backoff-min-period: - -> 10 ms worse"}},
		{"a flag whose value is the next argument", "app", args("--kube-api-qps", "5"), args("--kube-api-qps", "500"),
			[]string{"kubernetes_components --kube-api-qps: 5 -> 500 worse"}},
		{"a flag that moves from one to two words", "app", args("--kube-api-qps", "5"), args("--kube-api-qps=5"), nil},
		{"one dash that becomes two", "grafana/tempo", args("-tempo-read-backoff-duration=10s"), args("--tempo-read-backoff-duration=10s"), nil},
		{"a flag inserted before others", "grafana/tempo", args("-a=1", "-tempo-read-backoff-duration=10s"), args("-z=1", "-a=1", "-tempo-read-backoff-duration=10s"), nil},
		{"an empty flag that gets a value", "grafana/tempo-vulture", args("-tempo-read-backoff-duration="), args("-tempo-read-backoff-duration=10s"),
			[]string{"tempo_vulture -tempo-read-backoff-duration: - -> 10 s worse"}},
		{"a command line for a shell", "app", `command: [sh, -c, "exec app --kube-api-qps=5"]`, `command: [sh, -c, "exec app --kube-api-qps=500"]`,
			[]string{"kubernetes_components --kube-api-qps: 5 -> 500 worse"}},
		{"a flag that becomes an env variable", "quay.io/coreos/etcd", args("--heartbeat-interval=50"), env("ETCD_HEARTBEAT_INTERVAL", "50"), nil},
		{"a short name beside the name of its family", "app", env("NATS_TIMEOUT", "2s"), env("NATS_TIMEOUT", "100ms"),
			[]string{"nats Timeout: 2 s -> 100 ms worse"}},
		{"a short name with something between", "app", env("NATS_REQUEST_TIMEOUT", "2s"), env("NATS_REQUEST_TIMEOUT", "100ms"),
			[]string{"? request_timeout: 2 s -> 100 ms worse"}},

		{"the name of a queue", "app", "env: []", env("RETRY_QUEUE", "orders.retry", "RETRY_TOPIC", "5"), nil},
		{"sign-in limits", "app", env("MAX_LOGIN_ATTEMPTS", "5"), env("MAX_LOGIN_ATTEMPTS", "50"), nil},
		{"a button", "app", env("ENABLE_RETRY_BUTTON", "false"), env("ENABLE_RETRY_BUTTON", "true"), nil},
		{"an address", "app", env("RETRY_SERVICE_URL", "http://a"), env("RETRY_SERVICE_URL", "http://b"), nil},
		{"a switch that only sounds like it", "app", env("SHOW_RECONNECT", "false"), env("SHOW_RECONNECT", "true"), nil},
		{"a thread pool", "app", env("THREAD_POOL_SIZE", "8"), env("THREAD_POOL_SIZE", "80"), nil},
		{"probes", "app", "livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 5, initialDelaySeconds: 30}",
			"livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 1, initialDelaySeconds: 1}", nil},
		{"the name keepalived", "app", env("KEEPALIVED_INTERVAL", "5"), env("KEEPALIVED_INTERVAL", "1"), nil},
		{"nothing", "app", none, none, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			content := func(s string) string {
				if s == none {
					return "tty: false"
				}
				return s
			}
			before := parseOne(t, deployment("web", tt.image, content(tt.before)))
			after := parseOne(t, deployment("web", tt.image, content(tt.after)))
			compareTold(t, told(Changes(before, after)), tt.want)
			if got := Changes(after, after); len(got) > 0 {
				t.Errorf("a side against itself: %v", told(got))
			}
		})
	}
}

func compareTold(t *testing.T, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestChangesInConfigurationText(t *testing.T) {
	tests := []struct {
		name          string
		object, key   string
		before, after string
		want          []string
	}{
		{"Prometheus", "prometheus", "prometheus.yml",
			"remote_write:\n- url: http://a\n  queue_config:\n    min_backoff: 30ms\n    max_backoff: 5s\n",
			"remote_write:\n- url: http://a\n  queue_config:\n    min_backoff: 5ms\n    max_backoff: 5s\n",
			[]string{"prometheus remote_write[].queue_config.min_backoff: 30 ms -> 5 ms worse"}},
		{"a second entry of the list, and another order", "prometheus", "prometheus.yml",
			"remote_write:\n- queue_config: {min_backoff: 30ms}\n- queue_config: {min_backoff: 1s}\n",
			"remote_write:\n- queue_config: {min_backoff: 1s}\n- queue_config: {min_backoff: 30ms}\n", nil},
		{"Loki", "loki", "config.yaml",
			"ingester_client:\n  grpc_client_config:\n    backoff_config:\n      min_period: 100ms\n",
			"ingester_client:\n  grpc_client_config:\n    backoff_config:\n      min_period: 10ms\n",
			[]string{"dskit -<prefix>.backoff-min-period: 100 ms -> 10 ms worse"}},
		{"a template in YAML that no parser takes", "loki", "config.yaml",
			"{{ if .x }}\nmemberlist:\n  max_join_backoff: 1m\n{{ end }}\n",
			"{{ if .x }}\nmemberlist:\n  max_join_backoff: 1s\n{{ end }}\n",
			[]string{"dskit -memberlist.max-join-backoff: 60 s -> 1 s worse"}},
		{"OpenTelemetry Collector", "otel", "relay",
			"exporters:\n  otlp/2:\n    retry_on_failure:\n      initial_interval: 5s\n",
			"exporters:\n  otlp/2:\n    retry_on_failure:\n      initial_interval: 50ms\n",
			[]string{"otel_collector exporters.<name>.retry_on_failure.initial_interval: 5 s -> 50 ms worse"}},
		{"Vector, in TOML", "vector", "vector.toml",
			"[sinks.out.request]\nretry_initial_backoff_secs = 1\nretry_attempts = 5\n",
			"[sinks.out.request]\nretry_attempts = 500\n",
			[]string{"vector sinks.<name>.request.retry_attempts: 5 -> 500 neutral", "vector sinks.<name>.request.retry_initial_backoff_secs: 1 s -> - neutral"}},
		{"Kafka, as properties", "connect", "worker.properties",
			"producer.reconnect.backoff.ms=50\n", "producer.reconnect.backoff.ms=1\n",
			[]string{"kafka_java reconnect.backoff.ms: 50 ms -> 1 ms worse"}},
		{"PgBouncer, in INI", "pgbouncer", "pgbouncer.ini",
			"[pgbouncer]\nserver_login_retry = 15\n; a comment\n", "[pgbouncer]\nserver_login_retry = 1 ; quick\n",
			[]string{"pgbouncer server_login_retry: 15 s -> 1 s worse"}},
		{"HAProxy", "redis-ha", "haproxy.cfg",
			"defaults REDIS\n  timeout connect 4s\n  timeout server 30s\nbackend a\n  server R0 a:26379 check inter 3s\n",
			"defaults REDIS\n  timeout connect 40ms\n  timeout server 30s\nbackend a\n  server R0 a:26379 check inter 3s\n",
			[]string{"haproxy timeout connect: 4 s -> 40 ms worse"}},
		{"a bare number of HAProxy is in milliseconds", "lb", "haproxy.cfg",
			"defaults\n  timeout connect 5000\n  retries 3\n", "defaults\n  timeout connect 5s\n  retries 3\n", nil},
		{"NGINX", "web", "nginx.conf",
			"http {\n  server {\n    location / {\n      proxy_connect_timeout 60s;\n    }\n  }\n}\n",
			"http {\n  server {\n    location / {\n      proxy_connect_timeout 1s; # quick\n    }\n  }\n}\n",
			[]string{"nginx proxy_connect_timeout: 60 s -> 1 s worse"}},
		{"a Corefile", "coredns", "Corefile",
			".:53 {\n  forward . /etc/resolv.conf {\n    max_concurrent 1000\n  }\n  cache 30\n}\n",
			".:53 {\n  forward . /etc/resolv.conf {\n    max_concurrent 100\n  }\n  cache 30\n}\n",
			[]string{"coredns forward max_concurrent: 1000 -> 100 worse"}},
		{"Alloy", "agent", "config.alloy",
			"loki.write \"default\" {\n  endpoint {\n    url = \"http://loki\"\n    min_backoff_period = \"500ms\"\n  }\n}\n",
			"loki.write \"default\" {\n  endpoint {\n    url = \"http://loki\"\n    min_backoff_period = \"5ms\"\n  }\n}\n",
			[]string{"alloy loki.write endpoint.min_backoff_period: 500 ms -> 5 ms worse"}},
		{"redis.conf", "redis", "redis.conf", "tcp-keepalive 300\n", "tcp-keepalive 0\n",
			[]string{"redis_server tcp-keepalive: 5 min -> 0 s worse"}},
		{"Envoy as JSON", "envoy", "envoy.json",
			`{"static_resources":{"clusters":[{"name":"a","connect_timeout":"5s"}]}}`,
			`{"static_resources":{"clusters":[{"name":"a","connect_timeout":"0.05s"}]}}`,
			[]string{"envoy clusters[].connect_timeout: 5 s -> 50 ms worse"}},
		{"a gRPC service config", "app", "service-config.json",
			`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"10s"}}]}`,
			`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":5,"initialBackoff":"0.01s","maxBackoff":"10s"}}]}`,
			[]string{"grpc methodConfig[].retryPolicy.initialBackoff: 1 s -> 10 ms worse", "grpc methodConfig[].retryPolicy.maxAttempts: 2 -> 5 worse"}},
		{"Spring", "app", "application.yaml",
			"resilience4j:\n  retry:\n    instances:\n      orders:\n        maxAttempts: 3\n",
			"resilience4j:\n  retry:\n    instances:\n      orders:\n        maxAttempts: 30\n",
			[]string{"spring resilience4j.retry.instances.<name>.maxAttempts: 3 -> 30 worse"}},
		{"an env file", "app", "app.env", "GRPC_MAX_RECONNECT_BACKOFF_MS=120000\nA=1\n", "GRPC_MAX_RECONNECT_BACKOFF_MS=300\nA=1\n",
			[]string{"grpc grpc.max_reconnect_backoff_ms: 2 min -> 300 ms worse"}},
		{"camelCase of an application", "app", "config.yaml", "upstream:\n  reconnectBackoffMs: 5000\n", "upstream:\n  reconnectBackoffMs: 50\n",
			[]string{"? reconnect: 5 s -> 50 ms worse"}},
		{"kebab-case of an application", "app", "config.yaml", "upstream:\n  reconnect-backoff: 5s\n", "upstream:\n  reconnect-backoff: 50ms\n",
			[]string{"? reconnect: 5 s -> 50 ms worse"}},
		{"comments and order", "loki", "config.yaml", "# backoff: 1s\na: 1\nmax_backoff: 5s\n", "max_backoff: 5s # backoff\na: 1\n", nil},
		{"alerts about retries", "rules", "alerts.yaml", "groups:\n- name: a\n  rules:\n  - alert: HighRetryRate\n    expr: rate(grpc_client_retries_total[5m]) > 5\n",
			"groups:\n- name: a\n  rules:\n  - alert: HighRetryRate\n    expr: rate(grpc_client_retries_total[5m]) > 50\n", nil},
		{"a dashboard", "dash", "a.json", `{"panels":[],"schemaVersion":1,"refresh":{"retryInterval":"1m"}}`, `{"panels":[],"schemaVersion":1,"refresh":{"retryInterval":"1s"}}`, nil},
		{"a script", "app", "run.sh", "retry_delay=5s\nx\n", "retry_delay=1ms\nx\n", nil},
		{"the retention of a cache", "app", "config.yaml", "cache_ttl: 5m\nretention:\n  retryInterval: 5m\n", "cache_ttl: 5s\nretention:\n  retryInterval: 5s\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := parseOne(t, configMap(tt.object, tt.key, tt.before)), parseOne(t, configMap(tt.object, tt.key, tt.after))
			compareTold(t, told(Changes(before, after)), tt.want)
			if got := Changes(after, after); len(got) > 0 {
				t.Errorf("a side against itself: %v", told(got))
			}
		})
	}
}

func TestChangesInOtherObjects(t *testing.T) {
	tests := []struct {
		name          string
		before, after string
		want          []string
	}{
		{"a DestinationRule of Istio, in a subset",
			"{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a, subsets: [{name: v1, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 10s}}}}]}}",
			"{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a, subsets: [{name: v1, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 0.1s}}}}]}}",
			[]string{"istio DestinationRule spec.trafficPolicy.connectionPool.tcp.connectTimeout: 10 s -> 100 ms worse"}},
		{"retries of a VirtualService",
			"{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: a}, spec: {http: [{route: []}]}}",
			"{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: a}, spec: {http: [{route: [], retries: {attempts: 10, perTryTimeout: 2s}}]}}",
			[]string{"istio VirtualService spec.http[].retries.attempts: - -> 10 worse", "istio VirtualService spec.http[].retries.perTryTimeout: - -> 2 s neutral"}},
		{"the Prometheus of the operator",
			"{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a}, spec: {remoteWrite: [{url: 'http://a', queueConfig: {minBackoff: 30ms}}]}}",
			"{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a}, spec: {remoteWrite: [{url: 'http://a', queueConfig: {minBackoff: 3ms}}]}}",
			[]string{"prometheus remote_write[].queue_config.min_backoff: 30 ms -> 3 ms worse"}},
		{"env in a custom resource",
			"{apiVersion: example.io/v1, kind: App, metadata: {name: a}, spec: {pod: {env: [{name: GRPC_MAX_RECONNECT_BACKOFF_MS, value: '120000'}]}}}",
			"{apiVersion: example.io/v1, kind: App, metadata: {name: a}, spec: {pod: {env: [{name: GRPC_MAX_RECONNECT_BACKOFF_MS, value: '300'}]}}}",
			[]string{"grpc grpc.max_reconnect_backoff_ms: 2 min -> 300 ms worse"}},
		{"an annotation of Linkerd",
			"{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {retry.linkerd.io/limit: '1'}}}",
			"{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {retry.linkerd.io/limit: '10'}}}",
			[]string{"linkerd retry.linkerd.io/limit: 1 -> 10 worse"}},
		{"an attribute inside an annotation of AWS",
			"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, annotations: {alb.ingress.kubernetes.io/load-balancer-attributes: 'a.b=1,idle_timeout.timeout_seconds=60'}}}",
			"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, annotations: {alb.ingress.kubernetes.io/load-balancer-attributes: 'a.b=1,idle_timeout.timeout_seconds=4'}}}",
			[]string{"aws_lb alb.ingress.kubernetes.io/load-balancer-attributes idle_timeout.timeout_seconds: 60 s -> 4 s worse"}},
		{"resolver options of a pod",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {dnsConfig: {options: [{name: ndots, value: '1'}]}, containers: [{name: a}]}}",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {dnsConfig: {options: [{name: ndots, value: '5'}]}, containers: [{name: a}]}}",
			[]string{"resolv_conf options ndots: 1 -> 5 worse"}},
		{"the backoffLimit of a Job",
			"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {backoffLimit: 6, template: {spec: {containers: [{name: a}]}}}}",
			"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {backoffLimit: 0, template: {spec: {containers: [{name: a}]}}}}", nil},
		{"the retries of Argo CD's deployments",
			"{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: {syncPolicy: {retry: {limit: 5, backoff: {duration: 5s}}}}}",
			"{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: {syncPolicy: {retry: {limit: 5, backoff: {duration: 1s}}}}}", nil},
		{"a secret is left alone",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {RECONNECT_BACKOFF: 5s}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {RECONNECT_BACKOFF: 5ms}}", nil},
		{"a ConfigMap that becomes env",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {GRPC_MAX_RECONNECT_BACKOFF_MS: '120000'}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {GRPC_MAX_RECONNECT_BACKOFF_MS: '300'}}",
			[]string{"grpc grpc.max_reconnect_backoff_ms: 2 min -> 300 ms worse"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareTold(t, told(Changes(parseOne(t, tt.before), parseOne(t, tt.after))), tt.want)
		})
	}
}

func TestChangesOfOneSideAreNone(t *testing.T) {
	o := parseOne(t, deployment("web", "app", "env: [{name: GRPC_MAX_RECONNECT_BACKOFF_MS, value: '1'}]"))
	if got := append(Changes(nil, o), Changes(o, nil)...); len(got) > 0 {
		t.Errorf("got %v", told(got))
	}
	if got := Settings(nil); got != nil {
		t.Errorf("Settings(nil) = %v", got)
	}
	if got := Settings(o); len(got) != 1 || got[0].Name != "GRPC_MAX_RECONNECT_BACKOFF_MS" || got[0].Scope != "container app" {
		t.Errorf("Settings() = %+v", got)
	}
}

func FuzzChanges(f *testing.F) {
	f.Add("remote_write:\n- queue_config: {min_backoff: 30ms}\n", "remote_write:\n- queue_config: {min_backoff: 5ms}\n", "--a.backoff=1s -x y")
	f.Add("http {\n proxy_connect_timeout 5s; }}}}", "[a]\nb = {\n", "-Da.b=c,d=e")
	f.Add(`{"a":[{"b":{"retry":1}}]}`, `[[x]]`, "sh -c 'exec \"x")
	f.Add("- - - -\n{{{{", "options ndots:5\nserver a b c d", "-- - =")
	f.Fuzz(func(t *testing.T, before, after, arg string) {
		make := func(text string) *object.Object {
			o, err := object.New("u", object.Origin{Path: "a"}, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "redis"},
				"data": map[string]any{"haproxy.cfg": text, "a": arg},
			})
			if err != nil {
				t.Skip()
			}
			return o
		}
		a, b := make(before), make(after)
		if got := Changes(a, a); len(got) > 0 {
			t.Fatalf("a side against itself: %v", told(got))
		}
		if forth, back := Changes(a, b), Changes(b, a); len(forth) != len(back) {
			t.Fatalf("forth %v, back %v", told(forth), told(back))
		}
		pod, err := object.New("u", object.Origin{Path: "a"}, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "args": []any{arg, before}, "env": []any{map[string]any{"name": "A", "value": after}}}}},
		})
		if err == nil {
			Settings(pod)
		}
	})
}

func TestASecretInATextDoesNotHideTheRest(t *testing.T) {
	var sides []*object.Object
	for _, file := range []string{"password: one\nretry_backoff: 5s\n", "password: one\nretry_backoff: 1s\n"} {
		sides = append(sides, parseOne(t, configMap("web", "config.yaml", file)))
	}
	changes := Changes(sides[0], sides[1])
	if len(changes) != 1 || !strings.Contains(told(changes)[0], "5 s -> 1 s") {
		t.Errorf("got %q, want the backoff alone", told(changes))
	}
}
