package report

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// unitOf compares both sides of a unit that YAML texts give.
func unitOf(t testing.TB, name, before, after string) *rule.Unit {
	t.Helper()
	side := func(text string) *object.Set {
		objects, errs := object.Parse(name, name+"/all.yaml", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return object.NewSet(objects)
	}
	u := &rule.Unit{Name: name, Before: side(before), After: side(after)}
	u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
	return u
}

const asked = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:%s
        resources: {requests: {cpu: %s, memory: 1Gi}, limits: {memory: 2Gi}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 4, maxReplicas: %d}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1", resources: {requests: {cpu: 100m, memory: %s}}}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: j, image: "j:1", resources: {requests: {cpu: "8"}}}]}}}}
`

func TestCount(t *testing.T) {
	u := unitOf(t, "prod", fmt.Sprintf(asked, 4, "1.2.0", "500m", 10, "64Mi"), fmt.Sprintf(asked, 4, "2.0.0", "750m", 40, "128Mi"))
	n := Count([]*rule.Unit{u, unitOf(t, "same", "", "")})
	const gib = 1 << 30
	want := []UnitLoad{{"prod",
		Load{Pods: 4, CPU: 2000, Memory: 4 * gib, MemoryLimit: 8 * gib, MostPods: 10, MostCPU: 5000, MostMemory: 10 * gib, NodeCPU: 100, NodeMemory: 64 << 20},
		Load{Pods: 4, CPU: 3000, Memory: 4 * gib, MemoryLimit: 8 * gib, MostPods: 40, MostCPU: 30000, MostMemory: 40 * gib, NodeCPU: 100, NodeMemory: 128 << 20},
	}}
	if !reflect.DeepEqual(n.Loads, want) {
		t.Errorf("loads = %+v\nwant %+v", n.Loads, want)
	}
	var restarts []string
	for _, r := range n.Restarts {
		restarts = append(restarts, fmt.Sprintf("%s %d %v %s", r.Ref, r.Pods, r.Known, r.How))
	}
	if want := []string{"DaemonSet shop/agent 0 false rolling", "Deployment shop/web 4 true rolling"}; !slices.Equal(restarts, want) {
		t.Errorf("restarts = %q, want %q", restarts, want)
	}
}

func TestRestarts(t *testing.T) {
	const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop%s}
spec:
  replicas: %s
  strategy: {type: %s}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:%s", envFrom: [{configMapRef: {name: c}}]}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {x: "%s"}}
`
	const reloader = ", annotations: {reloader.stakater.com/auto: 'true'}"
	for _, tt := range []struct{ name, before, after, want string }{
		{"a new image", fmt.Sprintf(workload, "", "3", "RollingUpdate", "1", "a"), fmt.Sprintf(workload, "", "3", "RollingUpdate", "2", "a"), "3 rolling"},
		{"a new image with Recreate", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), fmt.Sprintf(workload, "", "3", "Recreate", "2", "a"), "3 at once"},
		{"scaled to nothing", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), fmt.Sprintf(workload, "", "0", "Recreate", "1", "a"), "3 ends"},
		{"scaled up", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), fmt.Sprintf(workload, "", "4", "Recreate", "1", "a"), ""},
		{"a ConfigMap with a reloader", fmt.Sprintf(workload, reloader, "3", "Recreate", "1", "a"), fmt.Sprintf(workload, reloader, "3", "Recreate", "1", "b"), "3 rolling"},
		{"a ConfigMap without one", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), fmt.Sprintf(workload, "", "3", "Recreate", "1", "b"), ""},
		{"a new workload", "", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), "3 starts"},
		{"a workload that goes", fmt.Sprintf(workload, "", "3", "Recreate", "1", "a"), "", "3 ends"},
		{"a workload and what it mounts, once", fmt.Sprintf(workload, reloader, "3", "Recreate", "1", "a"), fmt.Sprintf(workload, reloader, "3", "Recreate", "2", "b"), "3 rolling"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range Count([]*rule.Unit{unitOf(t, "u", tt.before, tt.after)}).Restarts {
				got = append(got, fmt.Sprintf("%d %s", r.Pods, r.How))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("restarts = %q, want %q", s, tt.want)
			}
		})
	}
}

func TestLoadsNeverOverflow(t *testing.T) {
	u := unitOf(t, "u", "", fmt.Sprintf(asked, 2147483647, "1", "9E", 2147483647, "8E"))
	for _, l := range Count([]*rule.Unit{u}).Loads {
		if l.After.CPU < 0 || l.After.MostMemory < 0 || l.After.add(l.After).MostCPU < 0 {
			t.Errorf("load = %+v", l.After)
		}
	}
}

func TestJump(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"a:1.2.3", "a:1.2.4", ""},
		{"a:1.2.3", "a:2.0.0", "major version"},
		{"a:v2.0.0", "a:v1.9.9", "backwards"},
		{"r.example:5000/x/a:1.10", "a:1.9", "backwards"},
		{"a:1.2.3-alpine", "a:1.2.3", ""},
		{"a:1.2", "b:2.0", ""},
		{"a", "a:2", ""},
		{"a:latest", "a:2", ""},
		{"a:2024.1", "a:2025.1", ""},
		{"a:1034", "a:1035", ""},
		{"a:main-1", "a:main-2", ""},
		{"a:1.2.3@sha256:00", "a:1.2.3@sha256:01", ""},
		{"postgres:15", "postgres:16", "major version"},
		{"a:1234567", "a:89", ""}, // a hash
		{"", "", ""},
	} {
		if got := jump(tt.before, tt.after); got != tt.want {
			t.Errorf("jump(%q, %q) = %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{cores(250), "250m"}, {cores(1000), "1 core"}, {cores(1500), "1.5 cores"}, {cores(123456), "123 cores"}, {cores(0), "0 cores"},
		{mebibytes(512 << 20), "512 MiB"}, {mebibytes(3 << 29), "1.5 GiB"}, {mebibytes(20 << 40), "20 TiB"}, {mebibytes(0), "0"}, {mebibytes(17), "17 B"},
		{percent(100, 150), "+50 %"}, {percent(100, 50), "−50 %"}, {percent(0, 1), "new"}, {percent(1, 0), "none left"}, {percent(1, 40), "×40"}, {percent(7, 7), "same"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestNearestSources(t *testing.T) {
	files := []string{"environments/prod/main.jsonnet", "environments/prod/values.json", "lib/app.libsonnet", "vendor/x/y/z.libsonnet"}
	r := &Report{Units: []Unit{{Name: "environments/prod", Renderer: "tanka", Sources: files}, {Name: "apps", Renderer: "plain", Sources: []string{"apps/a.yaml", "apps/b.yaml"}}}}
	change := func(unit, origin string) Change {
		return Change{Change: diff.Change{Ref: object.Ref{Unit: unit}}, Origin: object.Origin{Path: origin}}
	}
	s := newSources(r)
	if got := s.of(change("environments/prod", "environments/prod/values.json")); !slices.Equal(got, []string{files[1], files[0], files[2], files[3]}) {
		t.Errorf("nearest first = %q", got)
	}
	if got := s.of(change("apps", "apps/b.yaml")); !slices.Equal(got, []string{"apps/b.yaml"}) {
		t.Errorf("sources of a plain manifest = %q, want itself alone", got)
	}
	if got := s.of(change("other", "x")); got != nil {
		t.Errorf("sources of a unit of which none are known = %q", got)
	}
}

func TestNumbersSurviveJSON(t *testing.T) {
	r := sample(t)
	var first, second bytes.Buffer
	if err := JSON(&first, r, Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := ParseJSON(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := JSON(&second, read, Options{}); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("printed again = %s\nwant %s", second.String(), first.String())
	}
	if len(read.Numbers.Loads) == 0 || len(read.Rules) == 0 || read.Findings[0].Rollout == nil {
		t.Error("numbers, rules or the rollout were lost")
	}
}
