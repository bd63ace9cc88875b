package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// obj makes an object of YAML text.
func obj(t testing.TB, unit, text string) *object.Object {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	o, err := object.New(unit, object.Origin{Path: unit + "/main.jsonnet"}, m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// updated compares two states of one object.
func updated(t testing.TB, before, after *object.Object) diff.Change {
	t.Helper()
	changes := diff.Compare(object.NewSet([]*object.Object{before}), object.NewSet([]*object.Object{after}), diff.Options{})
	if len(changes) != 1 {
		t.Fatalf("%d changes of %s, want 1", len(changes), after.Ref)
	}
	return changes[0]
}

const service = `
apiVersion: v1
kind: Service
metadata: {name: distributor, namespace: logs}
spec:
  clusterIP: None
  ports: [{name: grpc, port: 9095}, {name: http, port: 80}]
  selector: {name: distributor}
`

// checked is a workload that restarts when its configuration changes.
const checked = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ingester, namespace: logs}
spec:
  replicas: 12
  selector: {matchLabels: {name: ingester}}
  template:
    metadata:
      labels: {name: ingester}
      annotations: {checksum/config: 4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce}
    spec: {containers: [{name: ingester, image: "registry.example/loki:2.9.1", resources: {requests: {cpu: 500m, memory: 2Gi}}}]}
`

// sample is one report with something of everything in it.
func sample(t testing.TB) *Report {
	narrowed := func(unit string) diff.Change {
		return updated(t, obj(t, unit, service), obj(t, unit, strings.Replace(service, "{name: distributor}", `{name: distributor, gossip_ring_member: "true"}`, 1)))
	}
	secret := updated(t,
		obj(t, "environments/cell-7", "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: logs}\nstringData: {token: one, user: me}"),
		obj(t, "environments/cell-7", "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: logs}\nstringData: {token: two, user: me}"))
	noisy := updated(t,
		obj(t, "environments/cell-7", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: logs, labels: {helm.sh/chart: a-1}}\ndata: {x: \"1\"}"),
		obj(t, "environments/cell-7", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: logs, labels: {helm.sh/chart: a-2}}\ndata: {x: \"1\"}"))
	created := obj(t, "environments/cell-7", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: logs}\ndata: {readme.md: \"# hi\\n```\\n@org/team <img src=x>\\n```\\n\"}")
	restarted := updated(t, obj(t, "environments/cell-8", checked), obj(t, "environments/cell-8", strings.Replace(checked, "4e07408562bedb8b60ce", "6b86b273ff34fce19d6b", 1)))
	const cell8 = "environments/cell-8"
	querier := unitOf(t, cell8, strings.Replace(checked, "ingester", "querier", -1),
		strings.NewReplacer("ingester", "querier", "loki:2.9.1", "loki:3.0.0", "replicas: 12", "replicas: 14").Replace(checked))
	upgraded := querier.Changes[0]
	ingester := &rule.Unit{Name: cell8, Before: object.NewSet([]*object.Object{restarted.Before, upgraded.Before}),
		After: object.NewSet([]*object.Object{restarted.After, upgraded.After}), Changes: []diff.Change{restarted, upgraded}}
	r := &Report{
		Version: "1.2.3",
		Base:    Side{Rev: "main", SHA: "3f2a1c9d4b5e6f708192a3b4c5d6e7f801234567"},
		Head:    Side{Rev: "8d01e77aa4b5e6f708192a3b4c5d6e7f80123456", SHA: "8d01e77aa4b5e6f708192a3b4c5d6e7f80123456"},
		Units: []Unit{
			{Name: "environments/cell-2", Renderer: "tanka", Status: Unchanged},
			{Name: "environments/cell-7", Renderer: "tanka", Status: Rendered, Before: 5, After: 6, Ms: 12, Notes: []string{"ConfigMap logs/c is there twice: the last one counts"}},
			{Name: cell8, Renderer: "tanka", Status: Rendered, Before: 5, After: 5, Ms: 9, Sources: []string{"environments/cell-8/main.jsonnet", "lib/loki.libsonnet"}},
			{Name: "environments/broken", Renderer: "tanka", Status: Failed, Error: "environments/broken/main.jsonnet:3: unexpected end of file, while parsing field\x1b[31m"},
			{Name: "charts/remote", Renderer: "helm", Status: Skipped, Error: "the chart is at https://charts.example/x: nothing is fetched"},
		},
		Changes: []Change{
			NewChange(noisy), NewChange(diff.Change{Action: diff.Create, Ref: created.Ref, After: created}),
			NewChange(secret), NewChange(narrowed("environments/cell-7")), NewChange(narrowed("environments/cell-8")),
			NewChange(restarted), NewChange(upgraded),
		},
		Incidents: []incident.Incident{{ID: "grafana-2022", Org: "Grafana Labs", Title: "A label in a selector", Date: "2022-08-31",
			URL: "https://grafana.example/blog", Lesson: "a selector that copies every label breaks when one is added"}},
		Hidden: []Hidden{{Filter: "chart-labels", Fields: 1, Objects: 1}, {Filter: "checksum-annotations", Fields: 1, Objects: 1}},
		Silencers: []Silencer{
			{By: ".prdiff.yaml:12", About: "service-recreated of Service logs/old", Reason: "planned", Expires: "2026-01-31", State: Expired, Findings: 2},
			{By: ".prdiff.yaml:16", About: "dns-capacity", Reason: "CoreDNS scales by itself", State: Idle},
			{By: ".prdiff.yaml:20", About: "image-tag-unpinned of Deployment logs/*", Reason: "a build's own tags", State: Unused},
		},
		Off: []string{"replicas-reduced"},
	}
	Group(r.Changes)
	r.Numbers = Count([]*rule.Unit{ingester})
	r.Rules = []Rule{
		{"secret-changed", "A Secret changes under running pods", rule.Warning, "Pods read it when they start."},
		{"service-selector-narrowed", "A Service selector asks for a label that running pods do not carry", rule.Error, "A selector counts from the moment of the merge."},
	}
	c := r.Changes[3]
	r.Findings = []Finding{
		{Finding: rule.Finding{
			Rule: "service-selector-narrowed", Severity: rule.Error, Unit: c.Ref.Unit, Units: []string{"environments/cell-7", "environments/cell-8"},
			Ref: c.Ref, Origin: c.Origin, Path: "spec.selector", Before: c.Before.At("spec.selector"), After: c.After.At("spec.selector"),
			Message:     "none of the 140 running pods of Deployment distributor carries `gossip_ring_member=true`",
			Consequence: "only pods of the new rollout are reached: at first 16 of 140 take all traffic, 8.75 times their share",
			Advice:      "keep the label out of the selector, or label the pods first. Ask @org/team, see #12 and https://evil.example/<script>",
			Related:     []object.Ref{{Unit: c.Ref.Unit, Group: "apps", Kind: "Deployment", Namespace: "logs", Name: "distributor"}},
			Incidents:   []string{"grafana-2022"}, Fingerprint: "0123456789abcdef",
			Rollout: &rule.Rollout{Workload: object.Ref{Unit: c.Ref.Unit, Group: "apps", Kind: "Deployment", Namespace: "logs", Name: "distributor"},
				Before: 140, FirstWave: 16, ReachesNew: true, Steps: []rule.Step{{Old: 140}, {Old: 139}, {Old: 139, New: 16}, {Old: 123, New: 16}, {New: 140}}},
		}, APIVersion: "v1", RelatedVersions: []string{"apps/v1"}, Reasons: []string{"cited by the rule, same field"}},
		{Finding: rule.Finding{
			Rule: "secret-changed", Severity: rule.Warning, Unit: "environments/cell-7", Units: []string{"environments/cell-7"},
			Ref: r.Changes[2].Ref, Origin: c.Origin, Path: "stringData.token",
			Before: r.Changes[2].Before.At("stringData.token"), After: r.Changes[2].After.At("stringData.token"),
			Message: "the token changes while 3 pods hold the old one", Advice: "restart them", Fingerprint: "aa",
		}, APIVersion: "v1"},
		{Finding: rule.Finding{
			Rule: "no-probe", Severity: rule.Error, Unit: "environments/cell-7", Units: []string{"environments/cell-7"}, Ref: created.Ref, Origin: created.Origin,
			Message: "nothing looks after it", Fingerprint: "bb",
		}, APIVersion: "v1", Suppressed: &Suppression{By: ".prdiff.yaml:12", Reason: "known, *really*", Expires: "2027-01-01"}},
	}
	return r
}

// TestGolden holds every format against its golden file.
func TestGolden(t *testing.T) {
	nothing := &Report{Base: Side{Rev: "before"}, Head: Side{Rev: "after"}, Units: []Unit{{Name: "manifests", Renderer: "plain", Status: Unchanged}}}
	pageOf := func(w io.Writer, r *Report, o Options) error {
		_, err := io.WriteString(w, page(t, r, o))
		return err
	}
	for _, tt := range []struct {
		file   string
		report *Report
		write  Reporter
		o      Options
	}{
		{"report.html", sample(t), pageOf, Options{Times: true}},
		{"nothing.html", nothing, pageOf, Options{}},
		{"report.txt", sample(t), Text, Options{}},
		{"report-color-hidden.txt", sample(t), Text, Options{Color: true, ShowHidden: true, Times: true}},
		{"report-quiet.txt", sample(t), Text, Options{Quiet: true}},
		{"report.md", sample(t), Markdown, Options{}},
		{"report-short.md", sample(t), Markdown, Options{Budget: 3200, Key: "cells"}},
		{"report.gitlab.md", sample(t), GitLab, Options{}},
		{"nothing.gitlab.md", nothing, GitLab, Options{}},
		{"report.json", sample(t), JSON, Options{}},
		{"report.sarif", sample(t), SARIF, Options{Key: "cells"}},
		{"report.github", sample(t), GitHub, Options{}},
		{"nothing.sarif", nothing, SARIF, Options{}},
		{"nothing.github", nothing, GitHub, Options{}},
		{"nothing.txt", nothing, Text, Options{}},
		{"nothing.md", nothing, Markdown, Options{}},
		{"nothing.json", nothing, JSON, Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := tt.write(&b, tt.report, tt.o); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", tt.file)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("%s = %s\nwant %s", tt.file, got, want)
			}
		})
	}
}
