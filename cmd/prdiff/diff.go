package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
)

// sideFlags say which two states are compared.
type sideFlags struct{ base, head string }

func (f *sideFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.base, "base", "", "compare with this `REV`; REV... for the point where the head left it (default that of the branch that this one is merged into)")
	fs.StringVar(&f.head, "head", "", "the `REV` to look at (default the working tree)")
}

func diffCommand(e env) *cobra.Command {
	var sides sideFlags
	var work workFlags
	var shown reportFlags
	var published publishFlags
	var shard string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "diff [--base REV] [--head REV] [PATH ...] | diff BEFORE AFTER",
		Short: "Compare two states and say what is dangerous",
		Long: `Compare two states of a repository, or two folders or files, and say what merging
would change in the cluster and which of it is dangerous.

With two arguments that exist, and no --base or --head, these are compared.
Otherwise arguments name the units to look at, by their paths. In GitHub Actions
the event says what is compared: of a pull request the merge commit and its first
parent, of a push what the branch was before it, of a merge queue the group and
what it is merged into.

On a terminal, text goes through the pager that PRDIFF_PAGER names, else PAGER
(export PAGER=less); without one, a long text ends with the verdict. --open shows
the report as a page in the browser, and says where its file is.

Exit codes: 0 nothing at or above --fail-on, 1 something is, 2 not everything
could be looked at, or prdiff was called wrongly.`,
		Example: `  prdiff diff --base main
  prdiff diff --base v1.4 --head v1.5 environments/prod
  prdiff diff before.yaml after.yaml --fail-on error
  prdiff diff --open
  prdiff diff --format markdown=comment.md --format json=report.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			part, err := parseShard(shard)
			if err := errors.Join(err, shown.check(), work.check(), published.check()); err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			rep, err := func() (*report.Report, error) {
				shop, err := work.workshop(e)
				if err != nil {
					return nil, err
				}
				defer shop.close()
				shop.pool.Warm(sidesAhead(e, args))
				c, err := open(ctx, e, sides, work, args)
				if err != nil {
					return nil, err
				}
				defer c.src.Close()
				c.shop, c.shard, c.limit = shop, part, limit
				tell, finish := e.progress(shown.quiet)
				defer finish()
				c.tell = tell
				c.fetcher = work.fetcher(e)
				c.online = e.online(work, shown.verbose)
				return compare(ctx, c)
			}()
			if err != nil {
				return published.publishFailure(ctx, e, err)
			}
			rep.Part = shard
			return published.publish(ctx, e, &shown, rep)
		},
	}
	fs := cmd.Flags()
	sides.register(fs)
	work.register(fs)
	shown.register(fs)
	published.register(fs)
	fs.DurationVar(&limit, "time-limit", 0, "report what is known after this long, and name what was not looked at; 0 for no limit")
	fs.StringVar(&shard, "shard", "", "do only part `I/N` of the units, as prdiff units --shards divides them")
	return cmd
}

// sidesAhead is how many processes to start before it is known what there is to render:
// one for each side, or one for two files, which are read by the same.
func sidesAhead(e env, args []string) int {
	if len(args) == 2 && !e.isFolder(args[0]) && !e.isFolder(args[1]) {
		return 1
	}
	return 2
}

// open opens what is compared.
func open(ctx context.Context, e env, sides sideFlags, work workFlags, args []string) (comparison, error) {
	c := comparison{jobs: work.jobs, timeout: work.timeout, now: e.now, tell: func(int, int) {}}
	var err error
	if c.scope.Forced, err = work.forced(e); err != nil {
		return c, err
	}
	o := source.Options{Getenv: e.getenv}
	if sides.base == "" && sides.head == "" && len(args) == 2 {
		switch before, after := e.exists(args[0]), e.exists(args[1]); {
		case before && after:
			c.revs, c.folders = [2]string{args[0], args[1]}, e.isFolder(args[0]) && e.isFolder(args[1])
			if c.folders {
				if root, names, ok := projectOf(e.absolute(args[0]), e.absolute(args[1]), e.absolute(".")); ok {
					c.from = names
					c.src, err = source.Folders(root, root, o)
					return c, err
				}
			}
			c.src, err = source.Paths(e.path(args[0]), e.path(args[1]), o)
			return c, err
		case before != after:
			missing := args[0]
			if before {
				missing = args[1]
			}
			return c, usage("%s: no such file or folder (to look at single units, say what to compare with: --base REV)", missing)
		}
	}
	if sides.base == "" && sides.head == "" && e.inActions() && e.getenv("GITHUB_EVENT_NAME") != "" {
		event, err := e.sidesOfEvent(ctx, o)
		if err != nil {
			return c, err
		}
		sides.base, sides.head = event.base, event.head
		c.revs, c.sideNote = event.names, event.note
	}
	if c.src, err = source.Git(ctx, e.dir, sides.base, sides.head, o); err != nil {
		return c, err
	}
	head, err := c.src.Head(ctx)
	if err != nil {
		return c, errors.Join(err, c.src.Close())
	}
	for _, a := range args {
		name, err := head.Name(a)
		if err != nil {
			return c, errors.Join(err, c.src.Close())
		}
		c.paths = append(c.paths, name)
	}
	return c, nil
}
