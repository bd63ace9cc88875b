package incident_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
)

func own(t *testing.T, id string) incident.Incident {
	t.Helper()
	entries, err := incident.Parse("incidents/"+id+".yaml", []byte(strings.Replace(sound, "cache-2026", id, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return entries[0]
}

func TestWithAddsATeamsOwn(t *testing.T) {
	public := incident.Embedded()
	before := public.Len()
	l, err := public.With(own(t, "cache-2026"))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := l.Get("cache-2026"); !ok || e.File != "incidents/cache-2026.yaml" || e.Line != 1 {
		t.Errorf("Get() = %+v, %v, want the entry with its file and line", e, ok)
	}
	if _, ok := public.Get("cache-2026"); ok || public.Len() != before {
		t.Error("With() changed the library that it was called on")
	}
}

func TestWithRefusesAnIDThatIsTaken(t *testing.T) {
	_, err := incident.Embedded().With(own(t, "buildkite-coredns"))
	want := `incidents/buildkite-coredns.yaml:1: incident "buildkite-coredns" is there twice: also in the library that prdiff carries`
	if got := errorText(err); got != want {
		t.Errorf("With() error = %q, want %q", got, want)
	}
	_, err = incident.New(own(t, "a"), own(t, "a"))
	want = `incidents/a.yaml:1: incident "a" is there twice: also incidents/a.yaml:1`
	if got := errorText(err); got != want {
		t.Errorf("New() error = %q, want %q", got, want)
	}
}

func TestWhatIsGivenCanBeChangedWithoutHarm(t *testing.T) {
	l := incident.Embedded()
	for _, change := range []func() []string{
		func() []string { e, _ := l.Get("buildkite-coredns"); return e.Kinds },
		func() []string { return l.All()[0].Kinds },
		func() []string { return l.Search("coredns autoscaler ceiling", 1)[0].Kinds },
	} {
		kinds := change()
		kinds[0] = "Changed"
		if again := change(); again[0] == "Changed" {
			t.Error("the library gave out its own slice")
		}
	}
}

func TestAllIsNewestFirst(t *testing.T) {
	all := incident.Embedded().All()
	if !slices.IsSortedFunc(all, func(a, b incident.Incident) int {
		if c := strings.Compare(b.Date, a.Date); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	}) {
		t.Error("All() is not sorted by date, newest first, then by ID")
	}
}

func TestSearch(t *testing.T) {
	tests := []struct{ name, words, want string }{
		{"words of the account", "gossip label selector", "grafana-loki-selector-2022"},
		{"another form of a word", "reconnecting conntrack tables", "datadog-grpc-reconnect-2021"},
		{"software and symptom", "coredns ndots oom", "zalando-coredns-2019"},
		{"an organisation", "reddit", "reddit-piday-2023"},
		{"one name in two spellings", "node local dns max_concurrent", "datadog-nodelocaldns-limits-2021"},
		{"an ID", "prow-configmap-2019", "prow-configmap-2019"},
		{"a case number", "IL-0005", "openai-telemetry-2024"},
		{"capitals", "LIVENESS PROBE DATABASE", "pawtograder-liveness-2026"},
		{"only words that say nothing", "the of and", ""},
		{"a word that nobody uses", "xyzzy", ""},
		{"nothing", "", ""},
	}
	l := incident.Embedded()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			matches := l.Search(tt.words, 5)
			got := ""
			if len(matches) > 0 {
				got = matches[0].ID
			}
			if got != tt.want {
				t.Errorf("Search(%q) = %q first, want %q", tt.words, got, tt.want)
			}
			if len(matches) > 5 {
				t.Errorf("Search() gave %d, want at most 5", len(matches))
			}
		})
	}
}

func TestAnswersDoNotDependOnTheOrderOfEntries(t *testing.T) {
	entries := readData(t)
	a, err := incident.New(entries...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	b, err := incident.New(entries...)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Search("dns retry storm oom certificate", 0), b.Search("dns retry storm oom certificate", 0)) {
		t.Error("Search() depends on the order of the entries")
	}
	for _, f := range readFindings(t) {
		if !reflect.DeepEqual(a.Rank(f.query(a)), b.Rank(f.query(b))) {
			t.Errorf("%s: Rank() depends on the order of the entries", f.Name)
		}
	}
}

func TestSimilar(t *testing.T) {
	l := incident.Embedded()
	matches, err := l.Similar("vault-operator-crd-2021", 3)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range matches {
		ids = append(ids, m.ID)
		if m.Reason == "" {
			t.Errorf("Similar() gives %s without a reason", m.ID)
		}
	}
	if !slices.Contains(ids, "lws-crd-2026") || slices.Contains(ids, "vault-operator-crd-2021") {
		t.Errorf("Similar() = %v, want the other removed definitions and not itself", ids)
	}
	if _, err := l.Similar("no-such", 3); err == nil {
		t.Error("Similar() of an ID that is not there gives no error")
	}
}

func TestSoftwareIn(t *testing.T) {
	tests := []struct {
		name  string
		texts []string
		want  []string
	}{
		{"an image with registry and tag", []string{"registry.k8s.io/coredns/coredns:v1.12.0"}, []string{"coredns"}},
		{"an image under another name", []string{"registry.k8s.io/dns/k8s-dns-node-cache:1.23"}, []string{"nodelocaldns"}},
		{"a chart's name and version", []string{"kube-prometheus-stack-58.0.0"}, []string{"prometheus"}},
		{"a part of a word", []string{"mycorednsfork"}, []string{}},
		{"nothing", nil, []string{}},
	}
	l := incident.Embedded()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := l.SoftwareIn(tt.texts...); !slices.Equal(got, tt.want) {
				t.Errorf("SoftwareIn(%q) = %q, want %q", tt.texts, got, tt.want)
			}
		})
	}
}

func BenchmarkEmbedded(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if incident.Decode().Len() == 0 {
			b.Fatal("empty")
		}
	}
}

// BenchmarkFirstSearch makes the index and searches, as one run of a command does.
func BenchmarkFirstSearch(b *testing.B) {
	entries := incident.Embedded().All()
	b.ReportAllocs()
	for b.Loop() {
		l, err := incident.New(entries...)
		if err != nil {
			b.Fatal(err)
		}
		if len(l.Search("coredns oom retry storm", 10)) == 0 {
			b.Fatal("nothing found")
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	l := incident.Embedded()
	b.ReportAllocs()
	for b.Loop() {
		l.Search("coredns oom retry storm", 10)
	}
}

func BenchmarkRank(b *testing.B) {
	l := incident.Embedded()
	findings := readFindings(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range findings {
			l.Rank(f.query(l))
		}
	}
}
