package rules_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/rules"
)

// service is one application: four objects that refer to each other. Every third
// one changes in ways that rules look at.
func service(i int, after bool) string {
	label, image, most, port := "", 1, 10, "http"
	if after && i%3 == 0 {
		label, image, most, port = ", ring: a", 2, 40, "web"
	}
	name := fmt.Sprintf("app-%d", i)
	namespace := fmt.Sprintf("team-%d", i%20)
	return strings.NewReplacer("NAME", name, "NAMESPACE", namespace, "LABEL", label, "IMAGE", fmt.Sprint(image), "MOST", fmt.Sprint(most), "PORT", port).Replace(`
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec: {selector: {app: NAMELABEL}, ports: [{name: PORT, port: 80, targetPort: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAMELABEL}}
    spec:
      containers:
      - name: app
        image: registry.example/app:IMAGE
        env: [{name: BACKEND, value: "http://NAME.NAMESPACE.svc:80"}, {name: GRPC_BACKOFF, value: 300ms}]
        ports: [{name: http, containerPort: 8080}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 128Mi}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME, namespace: NAMESPACE}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}, minReplicas: 2, maxReplicas: MOST}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME, namespace: NAMESPACE}
spec: {rules: [{host: NAME.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: NAME, port: {name: PORT}}}}]}}]}
`)
}

// crowd is service in one namespace where every application changes, all pods share a
// label that a policy of each application selects, and every selector matches nothing
// afterwards: what a rule that walks over all pods for every change would choke on.
func crowd(i int, after bool) string {
	policies := "[Ingress]"
	selector := "{part: shop, app: "
	if after {
		policies, selector = "[Ingress, Egress]", "{part: shop, zone: "
	}
	text := strings.ReplaceAll(service(3*i, after), fmt.Sprintf("team-%d", 3*i%20), "shop")
	text = strings.ReplaceAll(text, "labels: {app: ", "labels: {part: shop, app: ")
	text = strings.ReplaceAll(text, "selector: {app: ", "selector: "+selector)
	return text + fmt.Sprintf(`
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: app-%[1]d, namespace: shop}
spec: {podSelector: {matchLabels: {part: shop}}, ingress: [{from: [{podSelector: {matchLabels: {part: shop}}}]}], policyTypes: %[2]s}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: app-%[1]d, namespace: shop}
spec: {selector: {matchLabels: {app: app-%[1]d}}, maxUnavailable: 1}
`, i, policies)
}

// sides are the objects before and after of so many applications, and what differs.
type sides struct {
	before, after []*object.Object
	changes       []diff.Change
}

func sidesOf(tb testing.TB, application func(i int, after bool) string, applications int) sides {
	tb.Helper()
	parse := func(after bool) []*object.Object {
		var text strings.Builder
		for i := range applications {
			text.WriteString(application(i, after))
		}
		objects, errs := object.Parse("prod", "all.yaml", []byte(text.String()))
		if len(errs) > 0 {
			tb.Fatal(errs[0])
		}
		return objects
	}
	s := sides{before: parse(false), after: parse(true)}
	s.changes = diff.Compare(object.NewSet(s.before), object.NewSet(s.after), diff.Options{})
	return s
}

// check runs all rules over each of the sides as a unit of its own. Relations between
// the objects are found anew each time, as in a run.
func check(tb testing.TB, all ...sides) {
	tb.Helper()
	var units []*rule.Unit
	for i, s := range all {
		units = append(units, &rule.Unit{Name: fmt.Sprint("prod-", i), Before: object.NewSet(s.before), After: object.NewSet(s.after), Changes: s.changes})
	}
	if len(rule.Run(rules.All, units)) == 0 {
		tb.Fatal("no findings")
	}
}

func BenchmarkAll(b *testing.B) {
	for _, objects := range []int{2000, 8000, 32000} {
		b.Run(fmt.Sprint(objects, " objects"), func(b *testing.B) {
			s := sidesOf(b, service, objects/4)
			b.ReportAllocs()
			for b.Loop() {
				check(b, s)
			}
		})
	}
}

// BenchmarkGrowth holds one large unit against several small ones of as many objects in
// all, turn by turn. Both have the same in memory, so that what the caches of the
// processor do to large heaps counts on both sides: rules whose cost is linear in the
// objects of a unit give 1.
func BenchmarkGrowth(b *testing.B) {
	const units, applications = 8, 500
	for _, shape := range []struct {
		name        string
		application func(i int, after bool) string
	}{{"services in namespaces", service}, {"a crowd in one namespace", crowd}} {
		b.Run(shape.name, func(b *testing.B) {
			var small []sides
			for range units {
				small = append(small, sidesOf(b, shape.application, applications))
			}
			large := sidesOf(b, shape.application, units*applications)
			var one, several time.Duration
			for b.Loop() {
				start := time.Now()
				check(b, small...)
				several += time.Since(start)
				start = time.Now()
				check(b, large)
				one += time.Since(start)
			}
			b.ReportMetric(float64(one)/float64(several), "times-as-long-as-8-units")
		})
	}
}

// TestCostGrowsWithTheObjects counts what is allocated, which unlike time is the same on
// every machine: four times as many objects take four times as many bytes, give or take
// how maps and slices grow.
func TestCostGrowsWithTheObjects(t *testing.T) {
	for name, application := range map[string]func(i int, after bool) string{"services": service, "a crowd": crowd} {
		cost := func(applications int) float64 {
			s := sidesOf(t, application, applications)
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			check(t, s)
			runtime.ReadMemStats(&end)
			return float64(end.TotalAlloc - start.TotalAlloc)
		}
		cost(1) // what is made once for all
		if few, many := cost(250), cost(1000); many > 4.3*few {
			t.Errorf("%s: %.0f bytes for 1000 applications, %.0f for 250", name, many, few)
		}
	}
}
