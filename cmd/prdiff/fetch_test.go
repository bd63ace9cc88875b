package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prdiff/prdiff/render/gitops"
)

// fakeHelm is what stands for the helm program in tests: helm pull, of a chart
// whose archive lies in the repository under its usual name.
func fakeHelm() {
	fail := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "warning: something else\nError: "+format+"\n", args...)
		os.Exit(1)
	}
	for _, v := range os.Environ() {
		if strings.Contains(v, tokenMark) {
			fail("the token is in the environment: %s", v)
		}
	}
	if plugins := os.Getenv("HELM_PLUGINS"); plugins == "" {
		fail("the plugins of the user are within reach")
	} else if _, err := os.Stat(plugins); err == nil {
		fail("there are plugins in %s", plugins)
	}
	fs := flag.NewFlagSet("pull", flag.ExitOnError)
	version, destination, repo := fs.String("version", "", ""), fs.String("destination", "", ""), fs.String("repo", "", "")
	if len(os.Args) < 2 || os.Args[1] != "pull" || fs.Parse(os.Args[2:]) != nil || fs.NArg() != 1 {
		fail("called with %q", os.Args)
	}
	name := fs.Arg(0)
	if strings.HasPrefix(name, "oci://") {
		*repo, name = "http://"+filepath.Dir(strings.TrimPrefix(name, "oci://")), filepath.Base(name)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(*destination, name), data, 0o600); err != nil {
			fail("%v", err)
		}
	}
	switch name {
	case "slow":
		time.Sleep(time.Minute)
	case "two":
		write("a.tgz", nil)
		write("b.tgz", nil)
		return
	case "huge":
		write("huge.tgz", make([]byte, 3*maxFetched))
		time.Sleep(time.Minute)
	}
	resp, err := http.Get(*repo + "/" + name + "-" + *version + ".tgz")
	if err != nil {
		fail("%v", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		fail("%s not found with password=hunter2-hunter2, %v", name, err)
	}
	write(name+"-"+*version+".tgz", data)
}

// packed gives a packed chart.
func packed(t *testing.T, name, version string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	files["Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n"
	for file, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chartRepository serves two versions of a chart, as helm and fakeHelm ask for them.
func chartRepository(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	files := map[string][]byte{}
	index := "apiVersion: v1\nentries:\n  web:\n"
	for version, image := range map[string]string{"1.0.0": "web:1", "1.1.0": "web:2"} {
		file := "/web-" + version + ".tgz"
		files[file] = packed(t, "web", version, map[string]string{
			"values.yaml":      "color: blue\nreplicas: 1\n",
			"templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {image: \"" + image + "\", color: {{ .Values.color | quote }}, replicas: {{ .Values.replicas | quote }}}\n",
		})
		index += fmt.Sprintf("  - {apiVersion: v2, name: web, version: %s, urls: [\"web-%s.tgz\"]}\n", version, version)
	}
	files["/evil-1.0.0.tgz"] = packed(t, "evil", "1.0.0", map[string]string{"../../../../tmp/evil": "x"})
	files["/index.yaml"] = []byte(index)
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// helmFolder gives a folder for PATH that has fakeHelm in it.
func helmFolder(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "helm")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFetchedOnceAndKept(t *testing.T) {
	address, asked := chartRepository(t)
	programs := map[string]string{"a helm of the test": filepath.Join(helmFolder(t), "helm")}
	if real, err := exec.LookPath("helm"); err == nil {
		programs["the helm of this machine"] = real
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			getenv := func(name string) string {
				return map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GITHUB_TOKEN": tokens["GITHUB_TOKEN"], "HELM_KUBETOKEN": tokenMark}[name]
			}
			dir := filepath.Join(home, "charts")
			r := gitops.Remote{Name: "web", Version: "1.0.0", Address: address}
			get := func() []byte {
				t.Helper()
				f := &fetcher{getenv: getenv, program: program, dir: dir}
				for range 3 {
					if _, err := f.get(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				data, err := f.get(t.Context(), r)
				if err != nil || !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
					t.Fatalf("got %d bytes, %v", len(data), err)
				}
				return data
			}
			first := get()
			was := asked.Load()
			if again := get(); !bytes.Equal(again, first) || asked.Load() != was {
				t.Errorf("the second run asks again: %d requests", asked.Load()-was)
			}
			blobs, _ := filepath.Glob(filepath.Join(dir, "sha256-"+digestOf(first)+".tgz"))
			if len(blobs) != 1 {
				t.Fatalf("it is not kept by its digest: %v", blobs)
			}
			if err := os.WriteFile(blobs[0], []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			if again := get(); !bytes.Equal(again, first) || asked.Load() == was {
				t.Error("a damaged chart is taken")
			}
			if data, err := os.ReadFile(blobs[0]); err != nil || !bytes.Equal(data, first) {
				t.Errorf("a damaged chart is not written anew: %v", err)
			}
		})
	}
}

func TestFetchingThatFails(t *testing.T) {
	address, _ := chartRepository(t)
	folder := helmFolder(t)
	for _, tt := range []struct{ name, version, address, want string }{
		{"nosuch", "1.0.0", address, "helm pull: Error: nosuch not found with password=***"},
		{"slow", "1.0.0", address, "helm pull was stopped after 1s"},
		{"huge", "1.0.0", address, "the chart has more than 20 MiB"},
		{"two", "1.0.0", address, "gave 2 packed charts"},
		{"web", "1.x", address, "only one exact version"},
		{"web", "", address, "only one exact version"},
		{"web", "1.0.0 --debug", address, "only one exact version"},
		{"--web", "1.0.0", address, "no name of a chart"},
		{"../web", "1.0.0", address, "no name of a chart"},
		{"web", "1.0.0", "file:///etc", "only addresses with"},
		{"web", "1.0.0", "s3://charts", "only addresses with"},
		{"web", "1.0.0", "--plain-http", "only addresses with"},
		{"web", "1.0.0", "https://user:hunter2@charts.example", "more than a host"},
		{"web", "1.0.0", "https://charts.example/?token=x", "more than a host"},
		{"web", "1.0.0", "https://charts.example/a b", "more than a host"},
		{"web", "1.0.0", "https://charts.example/../x", "more than a host"},
		{"web", "1.0.0", "http://169.254.169.254/latest", "no address of charts"},
		{"web", "1.0.0", "http://[fe80::1]/x", "more than a host"},
		{"web", "1.0.0", "http://metadata.google.internal/x", "no address of charts"},
		{"web", "1.0.0", "http://Metadata.Google.Internal./x", "no address of charts"},
		{"web", "1.0.0", "http://169.254.169.254./latest", "no address of charts"},
		{"web", "1.0.0", "http://2852039166/latest", "no address of charts"},
		{"web", "1.0.0", "oci://0xa9fea9fe/latest", "no address of charts"},
		{"web", "1.0.0", "http://169.254.43518/latest", "no address of charts"},
		{"web", "1.0.0", "https://-x.example", "more than a host"},
	} {
		f := &fetcher{getenv: os.Getenv, program: filepath.Join(folder, "helm"), timeout: time.Second}
		if tt.name == "huge" {
			f.timeout = time.Minute
		}
		data, err := f.get(t.Context(), gitops.Remote{Name: tt.name, Version: tt.version, Address: tt.address})
		if err == nil || !strings.Contains(err.Error(), tt.want) || data != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %s from %s: got %d bytes, %v; want an error with %q", tt.name, tt.version, tt.address, len(data), err, tt.want)
		}
	}
	none := &fetcher{getenv: func(string) string { return "." + string(filepath.ListSeparator) + "bin" }}
	if _, err := none.get(t.Context(), gitops.Remote{Name: "web", Version: "1.0.0", Address: address}); err == nil || !strings.Contains(err.Error(), "no helm program") {
		t.Errorf("without helm: %v", err)
	}
}

func TestTheChartsThatAreKeptAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i, size := range []int64{maxKept / 2, maxKept / 2, maxKept / 4} {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	trimCharts(dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "1" {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// TestRemoteChartsAreRendered compares two versions of a chart that is elsewhere.
func TestRemoteChartsAreRendered(t *testing.T) {
	address, asked := chartRepository(t)
	folder := helmFolder(t)
	const on = "helm: {fetch: true}\n"
	object := func(chart, version, values string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: shop}\nspec: {url: \"" + address + "\"}\n---\n" +
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  chart: {spec: {chart: " + chart + ", version: " + version + ", sourceRef: {kind: HelmRepository, name: charts}}}\n  values: " + values + "\n---\n" +
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n  source: {repoURL: \"" + strings.TrimPrefix(address, "http://") + "\", chart: " + chart + ", targetRevision: " + version + ", helm: {valuesObject: " + values + "}}\n  destination: {server: \"https://kubernetes.default.svc\", namespace: store}\n"
	}
	for _, tt := range []struct {
		name, base, head, chart, version string
		want                             []string
		code                             int
		quiet                            bool // no request is made
	}{
		{"it is on", on, on, "web", "1.1.0", []string{"image: web:1", "image: web:2", `replicas: "3"`, "- color: blue", "charts"}, exitClean, false},
		{"it is off", "", "", "web", "1.1.0", []string{"chart not rendered: it is remote"}, exitClean, true},
		{"a pull request switches it on", "", on, "web", "1.1.0", []string{"chart not rendered: it is remote"}, exitClean, true},
		{"a version that is not there", on, on, "web", "7.0.0", []string{"chart not rendered: it is remote", "helm.fetch: helm pull: Error: web not found"}, exitFailed, false},
		{"a version that is none", on, on, "web", "'*'", []string{"helm.fetch: only one exact version is fetched"}, exitFailed, false},
		{"an archive that leads out of itself", on, on, "evil", "1.0.0", []string{"evil-1.0.0.tgz"}, exitFailed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeTree(t, map[string]string{
				"before/.prdiff.yaml": tt.base, "after/.prdiff.yaml": tt.head,
				"before/apps/a.yaml": object("web", "1.0.0", "{replicas: 2}"), "after/apps/a.yaml": object(tt.chart, tt.version, "{replicas: 3, color: null}"),
			})
			home := t.TempDir()
			getenv := func(name string) string {
				if token, ok := tokens[name]; ok {
					return token
				}
				return map[string]string{"HOME": home, "CI": "true", "PATH": folder}[name]
			}
			was := asked.Load()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), env{strings.NewReader(""), &stdout, &stderr, getenv, dir, time.Now}, []string{"diff", "before", "after"})
			text := stdout.String()
			if code != tt.code || stderr.Len() > 0 {
				t.Errorf("exit code %d, want %d; stderr %s", code, tt.code, stderr.String())
			}
			flat := strings.Join(strings.Fields(text), " ")
			for _, want := range tt.want {
				if !strings.Contains(flat, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			if strings.Contains(text, tokenMark) || strings.Contains(text, "hunter2") {
				t.Errorf("a secret is in\n%s", text)
			}
			if quiet := asked.Load() == was; quiet != tt.quiet {
				t.Errorf("%d requests", asked.Load()-was)
			}
			if slices.Contains(tt.want, "charts") && strings.Contains(text, "not rendered") {
				t.Errorf("something is not rendered:\n%s", text)
			}
		})
	}
}
