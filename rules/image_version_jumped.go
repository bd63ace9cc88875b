package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ImageVersionJumped reports an image that goes back, or over a major version.
var ImageVersionJumped = &rule.Rule{
	ID:       "image-version-jumped",
	Title:    "An image goes back to an older version, or over a major one",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Going back is not the reverse of going forward: data, schemas and custom resources were written by the newer version, and the older one
may not read them. Often it is not meant: a merge that took an old line along, an overlay that pins what the base has raised.

A new major version is a note, since its release notes are the review; for databases and brokers that keep their data in a volume
it is an error or a warning. PostgreSQL does not start on the files of another major version, MySQL and MariaDB, Elasticsearch and MongoDB
upgrade them for good and only from the version before, and none of them can go back. A step within a major version is nobody's
business here.`,
	Advice: `Read the release notes between both versions for removed flags, formats and supported jumps; take a backup that was restored once; go one
major version at a time. To go back, look first for what the newer version has written.`,
	Incidents: []string{"berkeley-image-mismatch-2017", "circleci-kubeproxy-2023", "moj-nginx-tls-2020", "dfds-fluentd-2023",
		"moj-fluentbit-2023", "mybinder-culler-2018", "berkeley-chart-merge-2018", "prow-namespace-2019",
		"moj-ingress-waf-2026"},
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkImageVersionJumped,
}

// keepsData are programs whose files another major version does not read, or that
// change them for good when it does. dead says that they do not start at all
// (https://www.postgresql.org/docs/current/upgrading.html).
var keepsData = map[string]bool{
	"postgres": true, "postgresql": true, "postgis": true, "timescaledb": true, "spilo": true,
	"mysql": false, "mariadb": false, "percona-server": false, "mongo": false, "mongodb": false, "elasticsearch": false, "opensearch": false,
	"rabbitmq": false, "cassandra": false, "clickhouse-server": false, "clickhouse": false, "etcd": false, "kafka": false, "cp-kafka": false,
	"zookeeper": false, "influxdb": false, "neo4j": false, "gitlab-ce": false, "gitlab-ee": false, "keycloak": false, "vault": false, "nextcloud": false,
}

func checkImageVersionJumped(p *rule.Pass, c diff.Change) {
	if !touched(c, ".image") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was, now := parseImage(pair.before.Image()), parseImage(pair.after.Image())
		old, _, known := version(was.tag)
		next, _, alsoKnown := version(now.tag)
		if !known || !alsoKnown || was.name() != now.name() || compareVersions(old, next) == 0 {
			continue
		}
		f := rule.Finding{Path: pair.after.Path.Key("image")}
		dead, keeps := keepsData[now.name()]
		keeps = keeps && hasVolume(p, after, pair.after)
		back := compareVersions(next, old) < 0
		switch {
		case back && !slices.Equal(old[:1], next[:1]) && keeps:
			f.Severity = rule.Error
			f.Consequence = "it does not read what the newer version has written to its volume"
		case back:
			f.Consequence = "what the newer version has written (data, schemas, resources) the older one may not read"
			if old[0] == next[0] && (len(old) < 2 || len(next) < 2 || old[1] == next[1]) {
				f.Severity = rule.Note // a patch release taken back
			}
		case old[0] == next[0] && !(old[0] == 0 && keeps):
			continue
		case old[0] == 0 && old[0] == next[0]:
			continue
		case keeps && dead:
			f.Severity = rule.Error
			f.Consequence = "it does not start on the files of another major version: they must be moved with pg_upgrade or a dump first"
		case keeps:
			f.Consequence = "it changes the files in its volume for good, if it can at all: there is no way back but a backup"
		default:
			f.Severity = rule.Note
			f.Consequence = "a new major version may have removed flags, endpoints and formats that are in use"
		}
		verb := "goes over a major version"
		if back {
			verb = "goes back"
		}
		f.Message = fmt.Sprintf("the image of container %s %s: %s:%s becomes %s", pair.after.Name, verb, now.name(), was.tag, now.tag)
		p.Report(c, f)
	}
}
