package clientparam

// A Family is a kind of client, with the words by which a manifest tells that a
// short name such as connect_timeout belongs to it.
type Family struct {
	ID    string
	Name  string
	Hints []string // words of names, images, ConfigMaps and file names
	group string   // families of one group share names; "" stands alone
}

// Families gives the families, by ID.
func Families() []Family { return families }

// FamilyName gives the name of a family as readers know it.
func FamilyName(id string) string {
	if f := family(id); f != nil {
		return f.Name
	}
	return id
}

func family(id string) *Family {
	for i := range families {
		if families[i].ID == id {
			return &families[i]
		}
	}
	return nil
}

var families = []Family{
	{"alloy", "Grafana Alloy", []string{"alloy", "river", "loki_write"}, ""},
	{"aws_lb", "AWS load balancers", []string{"alb", "nlb", "elb"}, ""},
	{"aws_sdk", "AWS SDKs", []string{"aws", "boto", "boto3", "botocore", "s3", "dynamodb", "sqs", "kinesis"}, ""},
	{"cassandra", "Cassandra drivers", []string{"cassandra", "datastax", "scylla"}, ""},
	{"celery", "Celery", []string{"celery", "broker", "kombu"}, ""},
	{"consul", "Consul", []string{"consul"}, ""},
	{"coredns", "CoreDNS", []string{"coredns", "corefile", "nodelocaldns"}, ""},
	{"dskit", "Loki, Mimir and Tempo", []string{"loki", "mimir", "tempo", "cortex", "pyroscope", "dskit", "memberlist", "ingester", "querier", "distributor", "frontend_worker", "bigtable"}, ""},
	{"elasticsearch", "Elasticsearch clients", []string{"elasticsearch", "elastic", "opensearch", "es"}, ""},
	{"envoy", "Envoy", []string{"envoy", "envoyproxy", "static_resources", "bootstrap"}, ""},
	{"etcd", "etcd", []string{"etcd", "etcdctl"}, ""},
	{"fluent_bit", "Fluent Bit", []string{"fluent_bit", "fluentbit"}, ""},
	{"go_http", "Go's net/http", []string{"transport"}, ""},
	{"grpc", "gRPC", []string{"grpc"}, ""},
	{"haproxy", "HAProxy", []string{"haproxy"}, "haproxy"},
	{"haproxy_ingress", "HAProxy's ingress controller", []string{"haproxy"}, "haproxy"},
	{"hikaricp", "HikariCP", []string{"hikari", "hikaricp"}, ""},
	{"ingress_nginx", "ingress-nginx", []string{"ingress_nginx", "nginx_ingress"}, "nginx"},
	{"istio", "Istio", []string{"istio", "mesh"}, ""},
	{"kafka_java", "Kafka clients", []string{"kafka", "confluent", "kstreams", "ksql", "ksqldb", "debezium"}, "kafka"},
	{"kubernetes_components", "Kubernetes components", []string{"kubelet", "kube", "apiserver", "controller", "operator", "scheduler", "leader"}, ""},
	{"librdkafka", "librdkafka", []string{"rdkafka", "librdkafka", "librdkafka_options"}, "kafka"},
	{"linkerd", "Linkerd", []string{"linkerd"}, ""},
	{"mongodb", "MongoDB drivers", []string{"mongo", "mongodb", "mongos"}, ""},
	{"mysql", "MySQL clients", []string{"mysql", "mariadb"}, ""},
	{"nats", "NATS clients", []string{"nats", "jetstream", "stan"}, ""},
	{"nginx", "NGINX", []string{"nginx", "openresty"}, "nginx"},
	{"node_python", "Node.js and Python clients", []string{"urllib3"}, ""},
	{"otel_collector", "OpenTelemetry Collector", []string{"otel", "otelcol", "opentelemetry", "exporters", "otlp"}, ""},
	{"pgbouncer", "PgBouncer", []string{"pgbouncer"}, ""},
	{"pgjdbc", "PostgreSQL's JDBC driver", []string{"jdbc", "pgjdbc"}, ""},
	{"postgresql", "PostgreSQL clients", []string{"pg", "postgres", "postgresql", "pgx", "libpq", "psql"}, ""},
	{"prometheus", "Prometheus", []string{"prometheus", "remote_write", "scrape_configs", "prom"}, ""},
	{"promtail", "Promtail", []string{"promtail"}, ""},
	{"rabbitmq", "RabbitMQ clients", []string{"rabbitmq", "amqp", "amqps", "rabbit"}, ""},
	{"redis_clients", "Redis clients", []string{"redis", "rediss", "valkey", "ioredis", "lettuce", "jedis"}, ""},
	{"redis_server", "Redis", []string{"redis", "valkey"}, ""},
	{"resolv_conf", "the resolver", []string{"resolv", "dnsconfig", "options", "res"}, ""},
	{"spring", "Spring and resilience4j", []string{"spring", "resilience4j"}, ""},
	{"tempo_vulture", "tempo-vulture", []string{"tempo", "vulture"}, ""},
	{"temporal", "Temporal", []string{"temporal"}, ""},
	{"traefik", "Traefik", []string{"traefik"}, ""},
	{"vault", "Vault clients", []string{"vault"}, ""},
	{"vector", "Vector", []string{"vector", "sinks"}, ""},
	{"zookeeper", "ZooKeeper", []string{"zookeeper", "zoo", "zk"}, ""},
}
