package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestChartsThatAreDependedOnAreRendered compares two versions of a chart that is not in
// the repository and that a kustomization or another chart depends on.
func TestChartsThatAreDependedOnAreRendered(t *testing.T) {
	address, asked := chartRepository(t)
	folder := helmFolder(t)
	const on = "helm: {fetch: true}\n"
	overlay := func(version string) map[string]string {
		return map[string]string{
			"over/kustomization.yaml": "namePrefix: my-\nresources: [own.yaml]\nhelmCharts: [{name: web, repo: \"" + address + "\", version: \"" + version + "\", releaseName: web, valuesInline: {replicas: 7}}]\n",
			"over/own.yaml":           "{apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {a: b}}\n",
		}
	}
	umbrella := func(version, locked string) map[string]string {
		files := map[string]string{
			"shop/Chart.yaml":         "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: web, version: \"" + version + "\", repository: \"" + address + "\"}]\n",
			"shop/values.yaml":        "web: {color: red}\n",
			"shop/templates/own.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {a: b}}\n",
		}
		if locked != "" {
			files["shop/Chart.lock"] = "dependencies: [{name: web, version: " + locked + ", repository: \"" + address + "\"}]\ndigest: sha256:x\n"
		}
		return files
	}
	applied := func(files map[string]string) map[string]string {
		files["apps/a.yaml"] = "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: live, namespace: argocd}, spec: {source: {repoURL: https://git.example/shop, path: shop}, destination: {namespace: live}}}\n"
		return files
	}
	nested := func(version string) map[string]string {
		files := umbrella(version, "")
		files["shop/Chart.yaml"] = "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.0.0, repository: \"file://../lib\"}]\n"
		files["lib/Chart.yaml"] = "apiVersion: v2\nname: lib\nversion: 1.0.0\ndependencies: [{name: web, version: \"" + version + "\", repository: \"" + address + "\"}]\n"
		return files
	}
	packedIn := func(files map[string]string) map[string]string {
		files["shop/charts/web-1.0.0.tgz"] = string(packed(t, "web", "1.0.0", map[string]string{"templates/c.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: vendored}}\n"}))
		return files
	}
	for _, tt := range []struct {
		name, config  string
		before, after map[string]string
		want, not     string
		code          int
		quiet         bool // no request is made
	}{
		{"helmCharts of a kustomization", on, overlay("1.0.0"), overlay("1.1.0"), "name: my-web data: color: blue - image: web:1 + image: web:2 replicas: \"7\"", "not vendored", exitClean, false},
		{"helmCharts, and it is off", "", overlay("1.0.0"), overlay("1.1.0"), "needs chart web 1.1.0", "web:2", exitClean, true},
		{"helmCharts of a range", on, overlay("1.x"), overlay("1.1.x"), `helm.fetch: web: only one exact version is fetched, and "1.1.x" is none`, "web:2", exitClean, true},
		{"a dependency of a chart", on, umbrella("1.0.0", ""), umbrella("1.1.0", ""), "- image: web:1 + image: web:2", "not vendored", exitClean, false},
		{"its values come from the chart above", on, umbrella("1.0.0", ""), umbrella("1.1.0", ""), "color: red", "color: blue", exitClean, false},
		{"a range that is locked", on, umbrella("^1.0.0", "1.0.0"), umbrella("^1.0.0", "1.1.0"), "- image: web:1 + image: web:2", "not vendored", exitClean, false},
		{"a range that is not", on, umbrella("^1.0.0", ""), umbrella("^1.1.0", ""), `helm.fetch: web: only one exact version is fetched, and "^1.1.0" is none`, "web:2", exitClean, true},
		{"a dependency of a chart that an Application installs", on, applied(umbrella("1.0.0", "")), applied(umbrella("1.1.0", "")), "~ ConfigMap live/live in shop:live", "not vendored", exitClean, false},
		{"a dependency of a dependency", on, nested("1.0.0"), nested("1.1.0"), "- image: web:1 + image: web:2", "not vendored", exitClean, false},
		{"one that is vendored is not asked for", on, packedIn(umbrella("1.0.0", "")), packedIn(umbrella("^1.0.0", "")), "Nothing changes", "not vendored", exitClean, true},
		{"a version that is not there", on, umbrella("1.0.0", ""), umbrella("7.0.0", ""), "helm.fetch: web: helm pull: Error: web not found", "web:2", exitFailed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := map[string]string{}
			for side, files := range map[string]map[string]string{"before/": tt.before, "after/": tt.after} {
				for file, text := range files {
					all[side+file] = text
				}
				all[side+".prdiff.yaml"] = tt.config
			}
			dir := writeTree(t, all)
			home := t.TempDir()
			getenv := func(name string) string {
				if token, ok := tokens[name]; ok {
					return token
				}
				return map[string]string{"HOME": home, "CI": "true", "PATH": folder}[name]
			}
			was := asked.Load()
			for range 2 { // the second time from the cache
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), env{strings.NewReader(""), &stdout, &stderr, getenv, dir, time.Now}, []string{"diff", "before", "after"})
				if code != tt.code || stderr.Len() > 0 {
					t.Errorf("exit code %d, want %d; stderr %s", code, tt.code, stderr.String())
				}
				flat := strings.Join(strings.Fields(stdout.String()), " ")
				if !strings.Contains(flat, tt.want) || strings.Contains(flat, tt.not) || strings.Contains(flat, tokenMark) {
					t.Errorf("want %q and not %q in\n%s", tt.want, tt.not, stdout.String())
				}
			}
			if quiet := asked.Load() == was; quiet != tt.quiet {
				t.Errorf("%d requests", asked.Load()-was)
			}
		})
	}
}
