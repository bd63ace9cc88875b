package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
)

//go:embed demo
var demoFiles embed.FS

// A replay is a pull request that re-enacts an incident: demo/NAME/before and
// after hold both sides.
type replay struct {
	name     string
	incident string // its ID in the library
	request  string // what the pull request does
	figures  func() []string
}

var replays = []replay{
	{
		name:     "grafana",
		incident: "grafana-loki-selector-2022",
		request: `A Tanka project. The pull request turns memberlist on for one cell of a log store:
its pods get a new label, and a helper copies every pod label into the Service's selector.`,
		figures: grafanaFigures,
	},
	{
		name:     "datadog",
		incident: "datadog-grpc-reconnect-2021",
		request: `Plain YAML. The pull request moves 900 gRPC clients to round_robin and sets their reconnect
backoff to 300 ms. (At Datadog the backoff was older than the policy; here both come at once.)`,
		figures: datadogFigures,
	},
	{
		name:     "buildkite",
		incident: "buildkite-coredns",
		request: `Plain YAML. The pull request splits a pool of workers in two, and the new pool keeps the
ceiling of the old one. CoreDNS stays as it is: three pods with 512 MiB each.`,
		figures: buildkiteFigures,
	},
}

// grafanaFigures: 16 of 140 is published; the surge and the unavailability that
// make 16 are not.
func grafanaFigures() []string {
	rollout := impact.Rollout{
		Replicas: 140, Strategy: impact.RollingUpdate,
		MaxSurge: impact.Amount{N: 15}, MaxUnavailable: impact.Amount{N: 1},
	}
	t := rollout.Traffic(impact.Reach{Before: true, New: true})
	return []string{
		fmt.Sprintf("%d of %d pods take all traffic, %.2f times their share, until they pass their probes",
			t.FirstWave, t.Before, impact.Share(t.Before, t.FirstWave)),
		"published: 140 distributors, 16 of them updated and receiving writes for the whole outage",
		"our assumption: a surge of 15 and 1 unavailable make these 16",
	}
}

func datadogFigures() []string {
	const clients, targets = 900, 10
	const quick = 300 * time.Millisecond
	set := impact.Reconnect(clients, targets, impact.GRPC{Initial: quick, Most: quick, ConnectLimit: quick, Multiplier: 1.6}.Schedule())
	usual := impact.Reconnect(clients, targets, impact.DefaultGRPC().Schedule())
	return []string{
		fmt.Sprintf("%d clients, %d dead targets, 0.3 s: %s attempts per second, %s half-open connections in a table that forgets after 60 s",
			clients, targets, thousands(set.PerSecond), thousands(set.HalfOpen)),
		fmt.Sprintf("with gRPC's defaults: %d attempts of each client at each target in the first minute, %s per second, %s half-open",
			usual.Attempts, thousands(usual.PerSecond), thousands(usual.HalfOpen)),
		"published: about 900 clients, a try about every 300 ms, up to 30,000 SYN packets per second, entries dropped after 60 s",
		"our assumption: 10 dead targets, the quotient of these; and that the setting stood in a manifest",
	}
}

func buildkiteFigures() []string {
	const ceiling, services = 400, 1
	dns := impact.Resolver{Replicas: 3, Memory: 512 << 20}
	before := impact.CeilingOf(impact.Autoscaler{Most: ceiling})
	after := impact.CeilingOf(impact.Autoscaler{Most: ceiling}, impact.Autoscaler{Most: ceiling})
	return []string{
		fmt.Sprintf("the ceilings add up to %d pods instead of %d: %.0f pods per CoreDNS replica instead of %.0f",
			after.Pods, before.Pods, dns.PodsPerReplica(after.Pods), dns.PodsPerReplica(before.Pods)),
		fmt.Sprintf("by CoreDNS's own rule a replica needs %.1f MB to hold them, of %d MiB: at rest it fits; what filled the memory were queries that waited",
			float64(dns.MemoryNeeded(after.Pods, services))/1e6, dns.Memory>>20),
		"published: three CoreDNS pods of a fixed size, 512 MiB each, one pool split in two with the same ceiling; later 12 pods of 2 GiB",
		"our assumption: a ceiling of 400, as the report gives no number",
	}
}

// thousands writes a number with commas.
func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func demoCommand(e env) *cobra.Command {
	var shown reportFlags
	var write string
	cmd := &cobra.Command{
		Use:   "demo [NAME ...]",
		Short: "Replay the incidents that prdiff was made for",
		Long: `Replay three published outages as pull requests: prdiff compares both sides of a
small project that is built into it, shows what it finds, and then the figures of
the incident, worked out by its models. NAME is grafana, datadog or buildkite.

Nothing is installed, fetched or written, unless --write names a folder for the
projects, so that you can change them and compare again.`,
		Example: `  prdiff demo
  prdiff demo grafana
  prdiff demo --write /tmp/demo && prdiff diff /tmp/demo/grafana/before /tmp/demo/grafana/after`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shown.check(); err != nil {
				return err
			}
			chosen := replays
			if len(args) > 0 {
				chosen = nil
				for _, a := range args {
					i := slices.IndexFunc(replays, func(r replay) bool { return r.name == a })
					if i < 0 {
						return usage("there is no replay %q: there are grafana, datadog and buildkite", a)
					}
					chosen = append(chosen, replays[i])
				}
			}
			if write != "" {
				return writeDemo(e, write)
			}
			return e.page(cmd.Context(), func(w io.Writer) error {
				for _, r := range chosen {
					if err := r.play(cmd.Context(), e, w, shown.colors(e)); err != nil {
						return fmt.Errorf("%s: %w", r.name, err)
					}
				}
				_, err := io.WriteString(w, demoEnd)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&shown.color, "color", "auto", "colour text: auto, always, never")
	cmd.Flags().StringVar(&write, "write", "", "write the projects to a new `FOLDER` instead")
	return cmd
}

const demoEnd = `
Next: prdiff in a checkout of your own, or prdiff diff BEFORE AFTER on two folders.
The projects above: prdiff demo --write FOLDER. The incidents: prdiff incidents.
`

// play compares both sides and prints what is found, and the figures.
func (r replay) play(ctx context.Context, e env, w io.Writer, color bool) error {
	var trees [2]*source.Tree
	for i, name := range []string{"before", "after"} {
		sub, err := fs.Sub(demoFiles, path.Join("demo", r.name, name))
		if err != nil {
			return err
		}
		trees[i] = source.NewTree(name, sub)
	}
	rep, err := compare(ctx, comparison{
		src: source.Trees(trees[0], trees[1]), scope: config.Scope{}, jobs: 2, now: e.now, tell: func(int, int) {},
	})
	if err != nil {
		return err
	}
	i, ok := incident.Embedded().Get(r.incident)
	if !ok {
		return fmt.Errorf("no incident %s in the library", r.incident)
	}
	heading := fmt.Sprintf("%s, %s", i.Org, yearOf(i.Date))
	if i.Date == "" {
		heading = i.Org
	}
	rule := strings.Repeat("=", max(0, 96-len(heading)-4))
	if _, err := fmt.Fprintf(w, "\n== %s %s\n\n%s\n\n%s\n\n", heading, rule, strings.Join(wrap(i.Title+".", 96), "\n"), r.request); err != nil {
		return err
	}
	if err := report.Text(w, rep, report.Options{Color: color, Quiet: true}); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\nThe figures\n"); err != nil {
		return err
	}
	for _, f := range r.figures() {
		lines := wrap(f, 92)
		for n, l := range lines {
			lead := "    "
			if n == 0 {
				lead = "  - "
			}
			if _, err := fmt.Fprintf(w, "%s%s\n", lead, l); err != nil {
				return err
			}
		}
	}
	if rep.Count(report.Failed) > 0 {
		return errIncomplete
	}
	return nil
}

// writeDemo writes the projects to a folder that is not there yet.
func writeDemo(e env, dir string) error {
	if _, err := os.Stat(e.path(dir)); err == nil {
		return usage("--write %s: it is there already, and nothing is overwritten", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sub, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(e.path(dir), sub); err != nil {
		return err
	}
	for _, r := range replays {
		in := filepath.Join(dir, r.name)
		if _, err := fmt.Fprintf(e.stdout, "prdiff diff %s %s\n", filepath.Join(in, "before"), filepath.Join(in, "after")); err != nil {
			return err
		}
	}
	return nil
}
