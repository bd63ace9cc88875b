package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/assist"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/rule/fixture"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/rules"
)

// Bounds of a comparison that an assistant asks for.
const (
	assistTimeout = 30 * time.Second // for one side of one unit
	assistFile    = 16 << 20         // bytes of one file
)

func mcpCommand(e env) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve coding assistants over MCP, on stdin and stdout",
		Long: `Serve coding assistants over MCP, the Model Context Protocol, on stdin and stdout:
diff_manifests, explain_rule, search_incidents, get_incident and list_incidents.

The assistant starts this command itself. It writes nothing, asks no network, and
reads nothing outside of the folder that --root names. Secret values are masked.
Rules and postmortems of your own are among what it tells when the folder has a
.prdiff.yaml that names them.`,
		Example: `  claude mcp add prdiff -- prdiff mcp
  prdiff mcp --root clusters`,
		Args: atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := os.OpenRoot(e.path(root))
			if err != nil {
				return usage("--root: %v", err)
			}
			defer folder.Close()
			if isTerminal(e.stdin) {
				fmt.Fprintln(e.stderr, "prdiff: waiting for an assistant's messages on stdin: see prdiff mcp --help, and end with control-D")
			}
			return assist.Serve(cmd.Context(), e.stdin, e.stdout, e.tools(folder))
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "the `FOLDER` that paths are in")
	return cmd
}

// tools are what assistants can use.
func (e env) tools(root *os.Root) assist.Tools {
	return assist.Tools{
		Version: version(),
		Library: func(ctx context.Context) (*incident.Library, string) {
			_, library, problem := e.ownWithin(ctx, root)
			return library, problem
		},
		Rules: func(ctx context.Context) ([]assist.Rule, string) {
			own, _, problem := e.ownWithin(ctx, root)
			return assistRules(own), problem
		},
		Rule: func(ctx context.Context, id string) (assist.Rule, error) {
			own, library, problem := e.ownWithin(ctx, root)
			return assistRule(own, library, problem, id)
		},
		Compare: func(ctx context.Context, s assist.Sides) (*report.Report, error) {
			return e.compareWithin(ctx, root, s)
		},
	}
}

// compareWithin runs the pipeline on two texts, or on what is in a folder.
func (e env) compareWithin(ctx context.Context, root *os.Root, s assist.Sides) (*report.Report, error) {
	// Without a cache: an assistant's questions leave nothing behind.
	work := workFlags{jobs: runtime.GOMAXPROCS(0), timeout: assistTimeout, cache: cacheOff}
	c := comparison{jobs: work.jobs, timeout: work.timeout, now: e.now, tell: func(int, int) {}}
	if s.BeforePath == "" {
		c.src = source.Texts("manifests.yaml", bytesOf(s.Before), bytesOf(s.After))
	} else {
		names := [2]string{s.BeforePath, s.AfterPath}
		for i, p := range names {
			name, err := nameWithin(root, p)
			if err != nil {
				return nil, err
			}
			names[i] = name
		}
		o := source.Options{Getenv: e.getenv, MaxFileSize: assistFile}
		var err error
		if c.src, err = source.Within(root, names[0], names[1], o); err != nil {
			return nil, err
		}
		if c.folders = isFolderWithin(root, names[0]) && isFolderWithin(root, names[1]); c.folders {
			if project, from, ok := projectWithin(names[0], names[1], root.Name()); ok {
				whole, err := source.Within(root, project, project, o)
				if err != nil {
					return nil, errors.Join(err, c.src.Close())
				}
				if err := c.src.Close(); err != nil {
					return nil, errors.Join(err, whole.Close())
				}
				c.src, c.from = whole, from
			}
		}
		c.revs = names
	}
	defer c.src.Close()
	var err error
	if c.shop, err = work.workshop(e); err != nil {
		return nil, err
	}
	defer c.shop.close()
	return compare(ctx, c)
}

func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func isFolderWithin(root *os.Root, name string) bool {
	info, err := root.Stat(filepath.FromSlash(name))
	return err == nil && info.IsDir()
}

// nameWithin gives a path, as an assistant writes it, as a name in a folder.
func nameWithin(root *os.Root, p string) (string, error) {
	name := p
	if filepath.IsAbs(p) {
		dir, err := filepath.Abs(root.Name())
		if err != nil {
			return "", err
		}
		if name, err = filepath.Rel(dir, p); err != nil || !filepath.IsLocal(name) {
			return "", fmt.Errorf("%s: it is not in the folder that prdiff was started for", p)
		}
	}
	return path.Clean(filepath.ToSlash(name)), nil
}

// ownWithin reads the rules and postmortems of a team's own from the folder, anew
// each time, as they are edited meanwhile. When something is wrong with them, there
// are none, and the problem says what it is.
func (e env) ownWithin(ctx context.Context, root *os.Root) (own ownRules, library *incident.Library, problem string) {
	library = incident.Embedded()
	src, err := source.Within(root, ".", ".", source.Options{Getenv: e.getenv, MaxFileSize: assistFile})
	if err != nil {
		return own, library, err.Error()
	}
	defer src.Close()
	t, err := src.Base(ctx)
	if err != nil {
		return own, library, err.Error()
	}
	c, err := readConfig(t)
	if err != nil {
		return own, library, err.Error()
	}
	if own, err = readOwn(t, c); err == nil {
		var all *incident.Library
		if all, err = library.With(own.incidents...); err == nil {
			return own, all, ""
		}
	}
	return ownRules{}, library, "rules and postmortems of your own are left out: " + err.Error()
}

func assistRules(own ownRules) []assist.Rule {
	var out []assist.Rule
	for _, r := range slices.Concat(rules.All, own.set.Rules()) {
		out = append(out, assist.Rule{ID: r.ID, Title: r.Title, Subject: r.Subject, Severity: r.Severity.String()})
	}
	return out
}

func assistRule(own ownRules, library *incident.Library, problem, id string) (assist.Rule, error) {
	all := slices.Concat(rules.All, own.set.Rules())
	i := slices.IndexFunc(all, func(r *rule.Rule) bool { return r.ID == id })
	if i < 0 {
		if problem != "" {
			problem = "\n" + problem
		}
		return assist.Rule{}, fmt.Errorf("there is no rule %q%s: explain_rule without an id lists them%s", id, closest(all, id), problem)
	}
	r := all[i]
	var fixtures []*fixture.Case
	if own.set.FileOf(id) == "" {
		var err error
		if fixtures, err = builtInFixtures(id); err != nil {
			return assist.Rule{}, err
		}
	}
	return assist.Rule{
		ID: r.ID, Title: r.Title, Subject: r.Subject, Severity: r.Severity.String(),
		Story:     strings.TrimSpace(string(fixture.Story(r, fixtures))) + "\n",
		Incidents: library.Rank(incident.Query{Rule: r.ID, Cited: r.Incidents}),
	}, nil
}
