package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DataKeptLess reports stores that keep what they were given less safely, or not as long.
var DataKeptLess = &rule.Rule{
	ID:       "data-kept-less",
	Title:    "A store keeps its data less safely, or for a shorter time",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
Some settings decide nothing until the day on which a process or a node dies. Without fsync, or with an append-only file switched off, what was confirmed to clients is
gone after a crash. With fewer replicas that must confirm, one lost disk is lost data. A cache with another eviction policy answers writes with errors when it is full
(noeviction), or throws away what was meant to stay. A shorter retention deletes what is older, at the next round of the store's own cleaning, and no revert brings it back.

It knows such settings of Redis, PostgreSQL, MySQL, Kafka, etcd, Elasticsearch, MongoDB, Prometheus, Thanos and Loki, as flags, variables and lines of ConfigMaps, and how long a Schedule of Velero keeps its backups.`,
	Advice: "Take a snapshot first, and look at what is older than the new retention. For speed use faster disks, batches, or a replica for reads before durability is given up; where it is given up on purpose (a cache), say so beside the setting.",
	Kinds:  append([]string{"ConfigMap", "Kafka.kafka.strimzi.io", "KafkaTopic.kafka.strimzi.io", "Prometheus.monitoring.coreos.com", "Cluster.postgresql.cnpg.io", backupSchedule}, servingKinds...),

	Actions: updates,
	Check:   checkDataKeptLess,
}

// A keeping is a setting of a store: which values are safer, or that less of it is worse.
type keeping struct {
	software []string // words of the file, image or object that tell what store it is; none means any
	name     string   // with words joined by underscores
	order    []string // values from the safest to the least safe; nil for numbers and durations
	def      string   // what holds without it
	follows  string
}

const (
	lostAfterCrash = "what was confirmed to clients is gone after a crash of the process or its node"
	lostWithDisk   = "one lost disk or node is lost data"
	deletesOlder   = "what is older is deleted, and a revert does not bring it back"
)

// evictions are the policies by which Redis makes room.
var evictions = []string{"volatile-ttl", "volatile-lru", "volatile-lfu", "volatile-random", "allkeys-lru", "allkeys-lfu", "allkeys-random"}

// keepings are the settings, with sources for their defaults.
var keepings = []keeping{
	// https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/
	{[]string{"redis", "valkey", "sentinel", "keydb"}, "appendonly", []string{"yes", "no"}, "no", lostAfterCrash},
	{[]string{"redis", "valkey", "sentinel", "keydb"}, "appendfsync", []string{"always", "everysec", "no"}, "everysec", lostAfterCrash},
	// https://redis.io/docs/latest/develop/reference/eviction/
	{[]string{"redis", "valkey", "sentinel", "keydb"}, "maxmemory_policy", append([]string{"noeviction"}, evictions...), "noeviction", "when it is full it throws away what was meant to stay"},
	{[]string{"redis", "valkey", "sentinel", "keydb"}, "maxmemory_policy", append(slices.Clone(evictions), "noeviction"), "noeviction", "when it is full it answers every write with an error"},
	// https://www.postgresql.org/docs/current/runtime-config-wal.html
	{[]string{"postgres", "postgresql", "patroni", "pg", "pgsql"}, "fsync", []string{"on", "off"}, "on", "a crash of the node may corrupt the whole database"},
	{[]string{"postgres", "postgresql", "patroni", "pg", "pgsql"}, "full_page_writes", []string{"on", "off"}, "on", "a crash of the node may corrupt the whole database"},
	{[]string{"postgres", "postgresql", "patroni", "pg", "pgsql"}, "synchronous_commit", []string{"remote_apply", "on", "remote_write", "local", "off"}, "on", lostAfterCrash},
	// https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit
	{[]string{"mysql", "mariadb", "percona", "mysqld", "my"}, "innodb_flush_log_at_trx_commit", []string{"1", "2", "0"}, "1", lostAfterCrash},
	{[]string{"mysql", "mariadb", "percona", "mysqld", "my"}, "sync_binlog", []string{"1", "0"}, "1", lostAfterCrash},
	// https://kafka.apache.org/documentation/#brokerconfigs
	{nil, "min_insync_replicas", nil, "1", lostWithDisk},
	{nil, "default_replication_factor", nil, "1", lostWithDisk},
	{nil, "offsets_topic_replication_factor", nil, "3", lostWithDisk},
	{nil, "transaction_state_log_min_isr", nil, "2", lostWithDisk},
	{nil, "unclean_leader_election_enable", []string{"false", "true"}, "false", "a replica that is behind may become leader, and what it does not have is lost"},
	{[]string{"kafka"}, "log_retention_hours", nil, "168", deletesOlder},
	{[]string{"kafka"}, "log_retention_ms", nil, "", deletesOlder},
	{[]string{"kafka"}, "log_retention_bytes", nil, "", deletesOlder},
	{nil, "retention_ms", nil, "", deletesOlder},
	// https://etcd.io/docs/v3.5/op-guide/configuration/
	{[]string{"etcd"}, "unsafe_no_fsync", []string{"false", "true"}, "false", "a crash of the node may corrupt the whole store"},
	// https://www.elastic.co/guide/en/elasticsearch/reference/current/index-modules-translog.html
	{nil, "index_translog_durability", []string{"request", "async"}, "request", lostAfterCrash},
	// https://prometheus.io/docs/prometheus/latest/storage/#operational-aspects
	// https://grafana.com/docs/loki/latest/configure/#common, https://grafana.com/docs/loki/latest/operations/storage/wal/
	{[]string{"loki", "mimir", "cortex", "tempo"}, "replication_factor", nil, "3", "each piece is on fewer ingesters until it is flushed: when one of them ends or restarts hard, what only it had is lost, and writes fail with fewer of them away"},
	{[]string{"loki", "mimir", "cortex", "tempo"}, "wal_enabled", []string{"true", "false"}, "true", "what an ingester has in memory is gone when it is killed"},
	{nil, "storage_tsdb_retention_time", nil, "15d", deletesOlder},
	{nil, "storage_tsdb_retention_size", nil, "", deletesOlder},
	{[]string{"prometheus"}, "retention", nil, "24h", deletesOlder},
	{[]string{"prometheus"}, "retention_size", nil, "", deletesOlder},
	// https://thanos.io/tip/components/compact.md/, https://grafana.com/docs/loki/latest/operations/storage/retention/
	{nil, "retention_resolution_raw", nil, "", deletesOlder},
	{nil, "retention_resolution_5m", nil, "", deletesOlder},
	{nil, "retention_resolution_1h", nil, "", deletesOlder},
	{[]string{"loki", "tempo", "mimir", "cortex"}, "retention_period", nil, "", deletesOlder},
	{[]string{"tempo"}, "block_retention", nil, "336h", deletesOlder},
	{[]string{"mimir", "cortex"}, "compactor_blocks_retention_period", nil, "", deletesOlder},
}

func checkDataKeptLess(p *rule.Pass, c diff.Change) {
	if c.Ref.GroupKind() == backupSchedule {
		checkBackupSchedule(p, c)
		return
	}
	if c.Ref.Kind != "ConfigMap" && !touched(c, ".env", ".args", ".command", "config", "retention", "postgresql") {
		return
	}
	if !hasAnyWord(c, keepingWords...) {
		return
	}
	before, after := clientparam.Settings(c.Before), clientparam.Settings(c.After)
	kind := strings.ToLower(c.Ref.Kind)
	for _, k := range keepings {
		b, a := keptAt(before, k, kind), keptAt(after, k, kind)
		if b.value == a.value && b.set == a.set {
			continue
		}
		path := a.path
		if !a.set {
			path = b.path
		}
		was, now := orText(b.value, k.def), orText(a.value, k.def)
		if was == "" || now == "" || !keepsLess(k, was, now) {
			continue
		}
		what := strings.ReplaceAll(b.name, " ", "_")
		if !b.set {
			what = a.name
			was += " by default"
		}
		if !a.set {
			now += " by default"
		}
		p.Report(c, rule.Finding{Path: path, Before: object.TextOf(b.value), After: object.TextOf(a.value),
			Message: fmt.Sprintf("%s goes from %s to %s", what, was, now), Consequence: k.follows})
	}
}

// backupSchedule makes backups of Velero.
const backupSchedule = "Schedule.velero.io"

// checkBackupSchedule tells of backups that are deleted earlier. Without a ttl they
// are kept for 30 days (https://velero.io/docs/main/how-velero-works/).
func checkBackupSchedule(p *rule.Pass, c diff.Change) {
	const path = "spec.template.ttl"
	const byDefault = "720h0m0s"
	was, now := orText(c.Before.Text(path), byDefault), orText(c.After.Text(path), byDefault)
	b, err := time.ParseDuration(was)
	if err != nil {
		return
	}
	a, err := time.ParseDuration(now)
	if err != nil || a >= b {
		return
	}
	p.Report(c, rule.Finding{Path: path, Before: object.TextOf(was), After: object.TextOf(now), Message: fmt.Sprintf("backups are kept for %s in place of %s", now, was),
		Consequence: "what is found out later than that cannot be restored any more"})
}

// A keptSetting is a setting as an object has it.
type keptSetting struct {
	name, value string
	set         bool
	path        object.Path
}

// keepingWords are in the names of all settings that are known.
var keepingWords = []string{"appendonly", "maxmemory", "fsync", "full_page", "synchronous_commit", "innodb_flush", "sync_binlog", "insync", "replication", "min.isr", "min_isr", "unclean", "retention", "durability", "wal"}

// keptAt finds a setting among those of an object: the first one of its name.
func keptAt(all []clientparam.Setting, k keeping, kind string) keptSetting {
	for _, s := range all {
		if !s.Known || !namesSetting(s.Name, k.name) || strings.Contains(s.Value, "{{") {
			continue
		}
		if len(k.software) > 0 && !s.About(k.software...) && !slices.Contains(k.software, kind) {
			continue
		}
		return keptSetting{s.Name[strings.LastIndexByte(s.Name, ' ')+1:], s.Value, true, s.Path}
	}
	return keptSetting{}
}

var underscored = strings.NewReplacer("-", "_", ".", "_", " ", "_")

// namesSetting says whether a name, as it is written, ends in the words of another one:
// KAFKA_MIN_INSYNC_REPLICAS and min.insync.replicas are min_insync_replicas.
func namesSetting(written, name string) bool {
	plain := strings.ToLower(underscored.Replace(written))
	return plain == name || strings.HasSuffix(plain, "_"+name)
}

// keepsLess says whether one value keeps less than another.
func keepsLess(k keeping, was, now string) bool {
	if k.order != nil {
		b, a := slices.Index(k.order, strings.ToLower(was)), slices.Index(k.order, strings.ToLower(now))
		if slices.Contains(evictions, strings.ToLower(was)) && slices.Contains(evictions, strings.ToLower(now)) {
			return false // another guess at what is needed least
		}
		return b >= 0 && a > b
	}
	b, ok := amountKept(was)
	a, alsoOK := amountKept(now)
	if !ok || !alsoOK || a == b {
		return false
	}
	// Zero and less mean for ever, as a rule.
	return b <= 0 && a > 0 || a > 0 && a < b
}

// amountKept reads a number, a duration or a size.
func amountKept(s string) (float64, bool) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n, true
	}
	if d, ok := parsePromDuration(s); ok {
		return float64(d) / float64(time.Second), true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d.Seconds(), true
	}
	if q, err := object.Of(strings.TrimSuffix(s, "B")).Quantity(); err == nil {
		return float64(q.Bytes()), true
	}
	return 0, false
}
