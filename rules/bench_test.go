package rules_test

import (
	"fmt"
	"strings"
	"testing"

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

func side(b *testing.B, objects int, after bool) []*object.Object {
	b.Helper()
	var text strings.Builder
	for i := range objects / 4 {
		text.WriteString(service(i, after))
	}
	parsed, errs := object.Parse("prod", "all.yaml", []byte(text.String()))
	if len(errs) > 0 {
		b.Fatal(errs[0])
	}
	return parsed
}

// BenchmarkAll runs all rules over one unit. Relations between the objects are
// found anew each time, as in a run.
func BenchmarkAll(b *testing.B) {
	for _, objects := range []int{2000, 8000} {
		b.Run(fmt.Sprint(objects, " objects"), func(b *testing.B) {
			before, after := side(b, objects, false), side(b, objects, true)
			changes := diff.Compare(object.NewSet(before), object.NewSet(after), diff.Options{})
			b.ReportAllocs()
			for b.Loop() {
				u := &rule.Unit{Name: "prod", Before: object.NewSet(before), After: object.NewSet(after), Changes: changes}
				if findings := rule.Run(rules.All, []*rule.Unit{u}); len(findings) == 0 {
					b.Fatal("no findings")
				}
			}
		})
	}
}
