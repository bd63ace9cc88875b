package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/tanka"
)

var (
	monorepoSize = flag.Int("environments", 200, "how many environments BenchmarkMonorepo has")
	monorepoSeed = flag.Uint64("seed", 1, "what the environments of BenchmarkMonorepo follow from")
)

// A monorepo is a Tanka repository of many environments: constructors for kinds,
// workloads made of them, a platform over these, one library a team, and
// environments of some fifty objects each.
type monorepo struct {
	tb  testing.TB
	dir string
	n   int
}

const monorepoTeams, monorepoServices = 10, 12

func newMonorepo(tb testing.TB, n int, seed uint64) *monorepo {
	m := &monorepo{tb, tb.TempDir(), n}
	rnd := rand.New(rand.NewPCG(seed, 0))
	m.write("jsonnetfile.json", `{"version": 1, "dependencies": []}`)
	m.kinds()
	m.write("lib/workload.libsonnet", workloadLibrary)
	m.write("lib/platform.libsonnet", platformLibrary)
	for team := range monorepoTeams {
		var services []map[string]any
		for s := range monorepoServices {
			env := map[string]string{}
			for i := range 3 + rnd.IntN(10) {
				env[fmt.Sprint("OPTION_", i)] = []string{"on", "off", "auto"}[rnd.IntN(3)]
			}
			services = append(services, map[string]any{
				"name": fmt.Sprintf("service-%02d-%02d", team, s), "port": 8000 + rnd.IntN(1000), "replicas": 1 + rnd.IntN(9),
				"tag": fmt.Sprintf("1.%d.%d", rnd.IntN(30), rnd.IntN(10)), "env": env,
			})
		}
		data, err := json.MarshalIndent(services, "", "  ")
		if err != nil {
			tb.Fatal(err)
		}
		m.write(fmt.Sprintf("lib/team-%02d.libsonnet", team), "{ services: "+string(data)+" }\n")
	}
	for e := range n {
		m.write(environmentPath(e)+"/spec.json", fmt.Sprintf(`{"spec": {"namespace": "team-%02d", "injectLabels": true}}`, e%monorepoTeams))
		m.write(environmentPath(e)+"/main.jsonnet", fmt.Sprintf("(import 'platform.libsonnet').environment('team-%02d', '%s', (import 'team-%02d.libsonnet').services, more=%d)\n",
			e%monorepoTeams, []string{"prod", "stage", "dev"}[e%3], e%monorepoTeams, e%4))
	}
	m.git("init", "-q", "-b", "main")
	m.git("add", "-A")
	m.git("commit", "-q", "-m", "one")
	return m
}

func environmentPath(e int) string {
	return fmt.Sprintf("environments/team-%02d/env-%03d", e%monorepoTeams, e)
}

// kinds writes a constructor library as generators write them: long, and mostly unused.
func (m *monorepo) kinds() {
	var index strings.Builder
	for _, kind := range []string{
		"v1 ConfigMap", "v1 Secret", "v1 Service", "v1 ServiceAccount", "v1 Namespace", "apps/v1 Deployment", "apps/v1 StatefulSet",
		"batch/v1 Job", "batch/v1 CronJob", "networking.k8s.io/v1 Ingress", "policy/v1 PodDisruptionBudget", "autoscaling/v2 HorizontalPodAutoscaler",
	} {
		version, name, _ := strings.Cut(kind, " ")
		var fields strings.Builder
		for i := range 60 {
			fmt.Fprintf(&fields, "  with%[1]s%[2]d(value):: { spec+: { field%[2]d: value } },\n  with%[1]s%[2]dMixin(value):: { spec+: { field%[2]d+: value } },\n", name, i)
		}
		m.write("lib/kinds/"+name+".libsonnet", fmt.Sprintf(`{
  new(name):: { apiVersion: '%s', kind: '%s', metadata: { name: name } },
  withLabels(labels):: { metadata+: { labels+: labels } },
  withSpec(spec):: { spec+: spec },
%s}
`, version, name, fields.String()))
		fmt.Fprintf(&index, "  %[1]s: import 'kinds/%[1]s.libsonnet',\n", name)
	}
	m.write("lib/kinds.libsonnet", "{\n"+index.String()+"}\n")
}

const workloadLibrary = `local kinds = import 'kinds.libsonnet';
{
  new(name, image, port, replicas, env, config):: {
    local labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'tanka' },
    local data = { 'config.yaml': std.manifestYamlDoc(config, quote_keys=false), 'config.json': std.manifestJsonEx(config, '  ') },
    config: kinds.ConfigMap.new(name + '-config') + kinds.ConfigMap.withLabels(labels) + { data: data },
    account: kinds.ServiceAccount.new(name) + kinds.ServiceAccount.withLabels(labels),
    service: kinds.Service.new(name) + kinds.Service.withLabels(labels)
             + kinds.Service.withSpec({ selector: { 'app.kubernetes.io/name': name }, ports: [{ name: 'http', port: port }] }),
    deployment: kinds.Deployment.new(name) + kinds.Deployment.withLabels(labels) + kinds.Deployment.withSpec({
      replicas: replicas,
      selector: { matchLabels: { 'app.kubernetes.io/name': name } },
      template: {
        metadata: { labels: labels, annotations: { 'checksum/config': std.md5(std.manifestJsonEx(data, '  ')) } },
        spec: {
          serviceAccountName: name,
          containers: [{
            name: name,
            image: image,
            ports: [{ name: 'http', containerPort: port }],
            env: [{ name: k, value: env[k] } for k in std.objectFields(env)],
            resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
            readinessProbe: { httpGet: { path: '/ready', port: port }, periodSeconds: 10 },
            volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
          }],
          volumes: [{ name: 'config', configMap: { name: name + '-config' } }],
        },
      },
    }),
  },
  each(f, tree):: if !std.isObject(tree) then tree
  else if std.objectHas(tree, 'kind') && std.member(['Deployment', 'StatefulSet'], tree.kind) then f(tree)
  else { [k]: $.each(f, tree[k]) for k in std.objectFields(tree) },
}
`

const platformLibrary = `local kinds = import 'kinds.libsonnet';
local workload = import 'workload.libsonnet';
local config(team, stage, name) = {
  server: { http_listen_port: 8080, log_level: if stage == 'prod' then 'warn' else 'debug' },
  tracing: { endpoint: 'http://tracing.%s:4318' % stage, sample_rate: if stage == 'prod' then 0.01 else 1.0 },
  owners: { team: team, service: name, channels: ['#%s' % team, '#%s-alerts' % team] },
  limits: { ['limit_%d' % i]: i * 100 for i in std.range(1, 20) },
};
local spread(o) = o { spec+: { template+: { spec+: {
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: o.spec.selector }],
  securityContext: { runAsNonRoot: true, fsGroup: 10001 },
} } } };
{
  environment(team, stage, services, more):: workload.each(spread, {
    namespace: kinds.Namespace.new(team),
    quota: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: team }, spec: { hard: { pods: std.toString(std.length(services) * 20) } } },
    services: {
      [s.name]: workload.new(s.name, 'registry.example/platform/%s:%s' % [s.name, s.tag], s.port, s.replicas + more, { STAGE: stage, TEAM: team } + s.env, config(team, stage, s.name))
      for s in services
    },
  }),
}
`

func (m *monorepo) write(name, text string) {
	m.tb.Helper()
	at := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		m.tb.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		m.tb.Fatal(err)
	}
}

func (m *monorepo) git(args ...string) {
	m.tb.Helper()
	cmd := exec.Command("git", append([]string{"-C", m.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// touch changes the number of replicas in the first n environments, or puts all
// back when n is 0.
func (m *monorepo) touch(n int) {
	m.git("checkout", "-q", ".")
	for e := range n {
		data, err := os.ReadFile(filepath.Join(m.dir, environmentPath(e), "main.jsonnet"))
		if err != nil {
			m.tb.Fatal(err)
		}
		m.write(environmentPath(e)+"/main.jsonnet", strings.Replace(string(data), "more=", "more=1+", 1))
	}
}

// A cost is what a run takes: its time, that of all processors together, and the
// most memory in bytes, children included.
type cost struct {
	wall, cpu time.Duration
	memory    int64
}

// run runs the program as a user does.
func (m *monorepo) run(changed int, args ...string) (c cost) {
	m.tb.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"diff", "--base", "main", "--format", "json"}, args...)...)
	cmd.Args[0] = "prdiff" // as which this test's program is prdiff itself: see TestMain
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "CI=", "GITHUB_ACTIONS=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		m.tb.Fatal(err)
	}
	stop, most := make(chan struct{}), make(chan int64)
	go func() { most <- watch(cmd.Process.Pid, stop) }()
	err := cmd.Wait()
	c.wall = time.Since(start)
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	close(stop)
	c.memory = <-most
	var rep struct {
		Summary struct{ Units map[string]int }
		Changes []struct{ Unit string }
	}
	if jsonErr := json.Unmarshal(stdout.Bytes(), &rep); err != nil || jsonErr != nil {
		m.tb.Fatalf("prdiff %v: %v, %v\n%s", args, err, jsonErr, stderr.String())
	}
	if got := rep.Summary.Units; got["rendered"] != changed || got["failed"] > 0 || got["unchanged"] != m.n-changed || len(rep.Changes) < changed {
		m.tb.Fatalf("prdiff %v: %v and %d changes, want %d units rendered", args, got, len(rep.Changes), changed)
	}
	return c
}

// watch gives the most resident memory of a process and its children.
func watch(pid int, stop chan struct{}) (most int64) {
	for {
		most = max(most, resident(pid))
		select {
		case <-stop:
			return most
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// resident gives the memory that a process and its children have of their own, in
// bytes, and the program's file once: all of them share its pages.
func resident(pid int) int64 {
	own, file := memoryOf(pid)
	return own + file
}

func memoryOf(pid int) (own, file int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "RssAnon:", "RssShmem:":
			own += n << 10
		case "RssFile:":
			file = n << 10
		}
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, c := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(c); err == nil {
				childOwn, childFile := memoryOf(n)
				own, file = own+childOwn, max(file, childFile)
			}
		}
	}
	return own, file
}

// naive renders every environment of both sides, one after the other, with a VM
// of its own each, and compares what they give.
func (m *monorepo) naive() (c cost) {
	m.tb.Helper()
	ctx := context.Background()
	src, err := source.Git(ctx, m.dir, "main", "", source.Options{})
	if err != nil {
		m.tb.Fatal(err)
	}
	defer src.Close()
	base, err := src.Base(ctx)
	if err != nil {
		m.tb.Fatal(err)
	}
	head, err := src.Head(ctx)
	if err != nil {
		m.tb.Fatal(err)
	}
	start, cpu := time.Now(), processorTime()
	for e := range m.n {
		var sets []*object.Set
		for _, t := range []*source.Tree{base, head} {
			r := &tanka.Renderer{Engine: &jsonnet.Engine{}}
			out, err := r.Render(ctx, t, render.Unit{Renderer: "tanka", Path: environmentPath(e)})
			if err != nil {
				m.tb.Fatal(err)
			}
			sets = append(sets, object.NewSet(out.Parts[0].Objects))
		}
		diff.Compare(sets[0], sets[1], diff.Options{})
	}
	return cost{wall: time.Since(start), cpu: processorTime() - cpu}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMonorepo measures whole runs of the program on a repository of many
// environments against the naive way. Run it alone on a machine at rest:
//
//	go test ./cmd/prdiff -run '^$' -bench Monorepo -benchtime 1x -timeout 1h
func BenchmarkMonorepo(b *testing.B) {
	m := newMonorepo(b, *monorepoSize, *monorepoSeed)
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	b.Setenv("HOME", b.TempDir())
	m.touch(1)
	var naive cost
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			naive = m.naive()
		}
	})
	few := min(20, m.n)
	for _, bb := range []struct {
		name    string
		touched int
		args    []string
		warm    int  // environments touched in a run before, which fills the cache with the base side
		fresh   bool // the least of three: it is short
	}{
		{"nothing touched", 0, []string{"--cache", "off"}, 0, true},
		{"one touched", 1, []string{"--cache", "off"}, 0, true},
		{fmt.Sprint(few, " touched"), few, []string{"--cache", "off"}, 0, false},
		{"all touched", m.n, []string{"--cache", "off"}, 0, false},
		{"all touched, base in the cache", m.n, nil, m.n, false},
	} {
		b.Run(bb.name, func(b *testing.B) {
			if naive.wall == 0 {
				b.Fatal("naive was not run: -bench must match it too")
			}
			for b.Loop() {
				if bb.warm > 0 {
					m.touch(bb.warm)
					m.run(bb.warm)
					// Another head, so that only the base side is known.
					for e := range bb.touched {
						data, err := os.ReadFile(filepath.Join(m.dir, environmentPath(e), "main.jsonnet"))
						if err != nil {
							b.Fatal(err)
						}
						m.write(environmentPath(e)+"/main.jsonnet", strings.Replace(string(data), "more=1+", "more=2+", 1))
					}
				} else {
					m.touch(bb.touched)
				}
				runs := 1
				if bb.fresh {
					runs = 3
				}
				least := m.run(bb.touched, bb.args...)
				for range runs - 1 {
					c := m.run(bb.touched, bb.args...)
					least = cost{min(least.wall, c.wall), min(least.cpu, c.cpu), max(least.memory, c.memory)}
				}
				b.ReportMetric(least.wall.Seconds(), "s")
				b.ReportMetric(naive.wall.Seconds()/least.wall.Seconds(), "x-faster")
				b.ReportMetric(naive.cpu.Seconds()/least.cpu.Seconds(), "x-less-cpu")
				b.ReportMetric(float64(least.memory)/(1<<20), "MiB-peak")
			}
		})
	}
}
