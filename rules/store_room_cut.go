package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// StoreRoomCut reports stores that take less data or fewer clients than before, or more
// data than their pods have memory.
var StoreRoomCut = &rule.Rule{
	ID:       "store-room-cut",
	Title:    "A store takes less data or fewer clients, or more data than its pods have memory",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
maxmemory is where Redis begins to throw keys away, or, with the policy noeviction, to refuse writes. Cut below what it holds, it does so at once: a cache that suddenly misses sends its whole load to the
database behind it. Without it, or above the memory limit of the pod, nothing is thrown away in time: the kernel kills the process at the limit, and each replica in turn
([Redis](https://redis.io/docs/latest/develop/reference/eviction/)). Persistence and replication need room besides, so that the limit has to be well above.

etcd that holds more than its quota, and Prometheus whose volume is smaller than what it may keep, stop taking writes until somebody helps by hand.

maxclients of Redis and max_connections of PostgreSQL and MySQL refuse the next client. Pools of all pods together, those of a rollout twice, must fit into it.`,
	Advice: `Look at used_memory, connected_clients or numbackends of the last weeks first, and keep a third above the highest. Keep maxmemory at about three quarters of the memory limit, and change both in one pull request.`,
	Kinds:  append([]string{"ConfigMap", "Cluster.postgresql.cnpg.io"}, servingKinds...), Actions: updates,
	Check: checkStoreRoomCut,
}

var (
	redisLike = []string{"redis", "valkey", "sentinel", "keydb", "dragonfly"}
	sqlLike   = []string{"postgres", "postgresql", "patroni", "pg", "pgsql", "mysql", "mariadb", "percona", "mysqld", "my", "cluster"}
)

func checkStoreRoomCut(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "ConfigMap" && !touched(c, ".env", ".args", ".command", "postgresql") {
		return
	}
	if !hasAnyWord(c, "maxmemory", "maxclients", "max_connections", "max-connections", "quota", "retention") {
		return
	}
	before, after := clientparam.Settings(c.Before), clientparam.Settings(c.After)
	kind := strings.ToLower(c.Ref.Kind)
	at := func(all []clientparam.Setting, name string, software []string) keptSetting {
		return keptAt(all, keeping{software: software, name: name}, kind)
	}
	reportRoom(p, c, at(before, "maxmemory", redisLike), at(after, "maxmemory", redisLike))
	reportSpace(p, c, at(before, "quota_backend_bytes", []string{"etcd"}), at(after, "quota_backend_bytes", []string{"etcd"}))
	reportOverVolume(p, c, at(before, "storage_tsdb_retention_size", nil), at(after, "storage_tsdb_retention_size", nil))
	reportClients(p, c, at(before, "maxclients", redisLike), at(after, "maxclients", redisLike), 10000)
	reportClients(p, c, at(before, "max_connections", sqlLike), at(after, "max_connections", sqlLike), 0)
}

// hasAnyWord says whether a difference that is shown has one of the words, in small letters,
// in its path or its values: most changes have none, and are not read.
func hasAnyWord(c diff.Change, words ...string) bool {
	has := func(s string) bool {
		s = strings.ToLower(s)
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}
	return slices.ContainsFunc(c.Fields, func(f diff.Field) bool {
		return f.Hidden == "" && (has(string(f.Path)) || has(f.Before.String()) || has(f.After.String()))
	})
}

func reportRoom(p *rule.Pass, c diff.Change, was, now keptSetting) {
	if was.value == now.value && was.set == now.set {
		return
	}
	b, a := redisBytes(was.value), redisBytes(now.value)
	if a < 0 || b < 0 {
		return
	}
	f := rule.Finding{Path: now.path, Before: object.TextOf(was.value), After: object.TextOf(now.value), Message: fmt.Sprintf("maxmemory goes from %s to %s", orText(was.value, "none"), orText(now.value, "none"))}
	if !now.set {
		f.Path = was.path
	}
	limit, pods := memoryOfReaders(p, c)
	f.Related = refs(pods)
	switch {
	case a > 0 && limit > 0 && a > limit:
		f.Severity = rule.Error
		f.Consequence = fmt.Sprintf("that is above the memory limit of %s: the kernel kills the process before it makes room", bytes(limit))
	case b > 0 && a == 0:
		f.Consequence = "it makes no room any more, and grows until its memory ends"
		if limit > 0 {
			f.Consequence = fmt.Sprintf("it makes no room any more, and is killed when it reaches the memory limit of %s", bytes(limit))
		}
	case a > 0 && b > 0 && 4*a <= 3*b:
		f.Consequence = "what does not fit is thrown away at once, or writes are refused, by its policy; a cache that misses sends its load on to what it shields"
	default:
		return
	}
	p.Report(c, f)
}

// reportSpace looks at the room that etcd has, 2 GiB by default
// (https://etcd.io/docs/v3.5/op-guide/maintenance/#space-quota).
func reportSpace(p *rule.Pass, c diff.Change, was, now keptSetting) {
	b, okB := amountKept(orText(was.value, "2147483648"))
	a, okA := amountKept(orText(now.value, "2147483648"))
	if !okA || !okB || a <= 0 || 4*a > 3*b {
		return
	}
	s := now
	if !now.set {
		s = was
	}
	p.Report(c, rule.Finding{Path: s.path, Before: object.TextOf(was.value), After: object.TextOf(now.value),
		Message:     fmt.Sprintf("the room of etcd goes from %s to %s", bytes(int64(b)), bytes(int64(a))),
		Consequence: "a store that holds more raises the alarm NOSPACE and takes no write any more, until it is compacted, defragmented and the alarm is disarmed by hand"})
}

// reportOverVolume looks at Prometheus, which deletes the oldest blocks by size: it does so too
// late where the volume is full before
// (https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size: 80 to 85 %
// of the disk at most).
func reportOverVolume(p *rule.Pass, c diff.Change, was, now keptSetting) {
	size := func(s string) (int64, bool) {
		n, err := object.Of(binarySize.Replace(s)).Quantity() // GB is 1024^3 there
		return n.Bytes(), err == nil
	}
	a, ok := size(now.value)
	if b, had := size(was.value); !now.set || !ok || was.set && had && a <= b {
		return
	}
	w, isWorkload := p.After.Workload(c.After.Ref)
	if !isWorkload {
		return
	}
	for _, claim := range w.At("spec.volumeClaimTemplates").Items() {
		disk, err := claim.At("spec.resources.requests.storage").Quantity()
		if err == nil && w.At("spec.volumeClaimTemplates").Len() == 1 && a > disk.Bytes() {
			p.Report(c, rule.Finding{Path: now.path, Severity: rule.Error, Before: object.TextOf(was.value), After: object.TextOf(now.value),
				Message:     fmt.Sprintf("data is kept up to %s, on a volume of %s", now.value, bytes(disk.Bytes())),
				Consequence: "the volume is full before the oldest data goes: Prometheus stops writing, and crashes when it replays its log"})
		}
	}
}

// binarySize turns the units of Prometheus, powers of 1024 all, into those of Kubernetes.
var binarySize = strings.NewReplacer("KB", "Ki", "MB", "Mi", "GB", "Gi", "TB", "Ti", "PB", "Pi", "EB", "Ei", "B", "")

func reportClients(p *rule.Pass, c diff.Change, was, now keptSetting, def float64) {
	number := func(s keptSetting) float64 {
		if !s.set {
			return def
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(s.value), 64)
		if err != nil {
			return 0
		}
		return n
	}
	b, a := number(was), number(now)
	if a <= 0 || b <= 0 || 4*a > 3*b {
		return
	}
	s := now
	if !now.set {
		s = was
	}
	f := rule.Finding{Path: s.path, Before: object.TextOf(was.value), After: object.TextOf(now.value),
		Message:     fmt.Sprintf("%s goes from %s to %s", s.name, strconv.FormatFloat(b, 'f', -1, 64), strconv.FormatFloat(a, 'f', -1, 64)),
		Consequence: "the next client above that is refused, and pools that reconnect fill what becomes free"}
	_, pods := memoryOfReaders(p, c)
	f.Related = refs(pods)
	p.Report(c, f)
}

// memoryOfReaders gives the least memory limit of what runs with an object, in bytes, 0
// when none is known, and the workloads.
func memoryOfReaders(p *rule.Pass, c diff.Change) (limit int64, pods []object.Workload) {
	if w, ok := p.After.Workload(c.After.Ref); ok {
		pods = append(pods, w)
	} else {
		for _, r := range p.After.ReferencesTo(c.After.Ref) {
			if w, ok := p.After.Workload(r.From.Ref); ok && !slices.ContainsFunc(pods, func(x object.Workload) bool { return x.Ref == w.Ref }) {
				pods = append(pods, w)
			}
		}
	}
	for _, w := range pods {
		for _, box := range w.Running() {
			image := parseImage(box.Image()).repository
			if !slices.ContainsFunc(redisLike, func(s string) bool { return strings.Contains(image, s) }) || strings.Contains(image, "exporter") {
				continue
			}
			if q, err := box.At("resources.limits.memory").Quantity(); err == nil && (limit == 0 || q.Bytes() < limit) {
				limit = q.Bytes()
			}
		}
	}
	return limit, pods
}

// redisBytes reads a size as Redis writes it: kb is 1024, k is 1000
// (https://github.com/redis/redis/blob/7.4.0/redis.conf); 0 for none, -1 for what it cannot read.
func redisBytes(s string) int64 {
	s = strings.ToLower(strings.Trim(strings.TrimSpace(s), "\"'"))
	if s == "" {
		return 0
	}
	scale := int64(1)
	for _, unit := range []struct {
		suffix string
		scale  int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}} {
		if rest, ok := strings.CutSuffix(s, unit.suffix); ok {
			s, scale = strings.TrimSpace(rest), unit.scale
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<60/scale {
		return -1
	}
	return n * scale
}
