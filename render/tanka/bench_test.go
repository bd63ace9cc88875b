package tanka

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
)

// monorepo is a repository of n environments over three levels of libraries,
// each with some fifty objects.
func monorepo(n int) *source.Tree {
	files := map[string]string{"jsonnetfile.json": "{}"}
	kinds := []string{"ConfigMap", "Service", "Deployment", "ServiceAccount", "Secret", "Job", "CronJob", "Ingress", "Namespace", "StatefulSet", "PodDisruptionBudget", "HorizontalPodAutoscaler"}
	var index strings.Builder
	for _, kind := range kinds {
		var setters strings.Builder
		for i := range 60 {
			fmt.Fprintf(&setters, "  with%s%d(value):: { spec+: { field%d: value } },\n", kind, i, i)
		}
		files["lib/kube/"+kind+".libsonnet"] = fmt.Sprintf("{\n  new(name):: { apiVersion: 'v1', kind: '%s', metadata: { name: name } },\n%s}\n", kind, setters.String())
		fmt.Fprintf(&index, "  %s: import 'kube/%s.libsonnet',\n", kind, kind)
	}
	files["lib/kube/main.libsonnet"] = "{\n" + index.String() + "}\n"
	files["lib/workload/main.libsonnet"] = `local kube = import 'kube/main.libsonnet';
{
  new(name, replicas, config):: {
    local this = self,
    local labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'tanka' },
    config: kube.ConfigMap.new(name + '-config') + { metadata+: { labels: labels }, data: { 'config.yaml': std.manifestYamlDoc(config), 'config.json': std.manifestJsonEx(config, '  ') } },
    account: kube.ServiceAccount.new(name),
    service: kube.Service.new(name) + { spec: { selector: { app: name }, ports: [{ name: 'http', port: 80 }] } },
    deployment: kube.Deployment.new(name) + { spec: {
      replicas: replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: labels, annotations: { checksum: std.md5(std.manifestJsonEx(this.config, ' ')) } },
        spec: { containers: [{ name: name, image: name + ':1', env: [{ name: 'A%d' % i, value: 'v' } for i in std.range(1, 8)] }] },
      },
    } },
  },
}
`
	files["lib/platform/main.libsonnet"] = `local workload = import 'workload/main.libsonnet';
function(stage, n) {
  ['svc%d' % i]: workload.new('svc%d' % i, i, { stage: stage, limits: { ['limit%d' % j]: j * 100 for j in std.range(1, 20) } })
  for i in std.range(1, n)
}
`
	for i := range n {
		dir := fmt.Sprintf("environments/team%d/env%d/", i%10, i)
		files[dir+"main.jsonnet"] = fmt.Sprintf("local platform = import 'platform/main.libsonnet';\nplatform('stage%d', 12)\n", i)
		files[dir+"spec.json"] = `{"spec": {"namespace": "team", "injectLabels": true}}`
	}
	return tree(files)
}

func BenchmarkRenderFirst(b *testing.B) {
	t := monorepo(1)
	b.ReportAllocs()
	for b.Loop() {
		renderOne(b, newRenderer(), t, 0)
	}
}

// BenchmarkRenderNext is one more environment over libraries already parsed.
func BenchmarkRenderNext(b *testing.B) {
	t, r, i := monorepo(200), newRenderer(), 0
	renderOne(b, r, t, 0)
	b.ReportAllocs()
	for b.Loop() {
		renderOne(b, r, t, i%200)
		i++
	}
}

func renderOne(b *testing.B, r *Renderer, t *source.Tree, i int) {
	b.Helper()
	out, err := r.Render(context.Background(), t, render.Unit{Renderer: "tanka", Path: fmt.Sprintf("environments/team%d/env%d", i%10, i)})
	if err != nil || len(out.Parts[0].Objects) != 48 {
		b.Fatalf("Render = %v, %v", out, err)
	}
}

// BenchmarkScan200 finds 200 environments and follows the imports of each, from
// nothing.
func BenchmarkScan200(b *testing.B) {
	t := monorepo(200)
	b.ReportAllocs()
	for b.Loop() {
		r := &Renderer{Engine: &jsonnet.Engine{}}
		found, err := r.Find(t)
		if err != nil || len(found.Units) != 200 {
			b.Fatalf("Find = %d units, %v", len(found.Units), err)
		}
		for _, u := range found.Units {
			if in, err := r.Inputs(t, u); err != nil || in.Unknown != "" || len(in.Files) < 16 {
				b.Fatalf("Inputs(%s) = %v, %v", u.Path, in, err)
			}
		}
	}
}
