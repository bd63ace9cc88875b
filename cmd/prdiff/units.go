package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/report"
)

// A shard is one part of the units of a run. The zero value is all of them.
type shard struct{ index, of int }

// parseShard reads I/N, counted from 1.
func parseShard(text string) (shard, error) {
	var s shard
	if text == "" {
		return s, nil
	}
	if n, err := fmt.Sscanf(text, "%d/%d", &s.index, &s.of); err != nil || n != 2 || fmt.Sprintf("%d/%d", s.index, s.of) != text ||
		s.index < 1 || s.index > s.of {
		return s, usage("--shard %s: it is I/N, such as 2/5", text)
	}
	return s, nil
}

// first says whether this part speaks for what belongs to no unit.
func (s shard) first() bool { return s.index <= 1 }

// has says whether the nth unit, counted from 0, is in this part.
func (s shard) has(n int) bool { return s.of == 0 || n%s.of == s.index-1 }

// take keeps the units of one part. Those to render and the others are dealt
// out apart, so that the parts are about as long.
func (s shard) take(units []pairing) []pairing {
	if s.of == 0 {
		return units
	}
	var out []pairing
	var affected, same int
	for _, p := range units {
		n := &affected
		if p.same {
			n = &same
		}
		if s.has(*n) {
			out = append(out, p)
		}
		*n++
	}
	return out
}

// maxShards is how many jobs GitHub Actions makes of one matrix
// (https://docs.github.com/en/actions/reference/limits).
const maxShards = 256

func unitsCommand(e env) *cobra.Command {
	var sides sideFlags
	var work workFlags
	var affected bool
	var shards int
	cmd := &cobra.Command{
		Use:   "units [PATH ...]",
		Short: "List the units found",
		Long: `List the units that prdiff finds, a line each: renderer and name. What looks like
a unit and is none is listed with the reason, on stderr.

With --affected, only those that differ between both sides. With --shards, print
the matrix of a GitHub Actions job instead: each job does its share with
prdiff diff --shard, and prdiff report merges what they wrote.`,
		Example: `  prdiff units
  prdiff units --affected --base main
  echo "matrix=$(prdiff units --affected --shards 10)" >> "$GITHUB_OUTPUT"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := work.check(); err != nil {
				return err
			}
			if cmd.Flags().Changed("shards") && (shards < 1 || shards > maxShards) {
				return usage("--shards %d: it is between 1 and %d, the most jobs of one matrix", shards, maxShards)
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			if !affected && shards == 0 && sides.base == "" {
				return listUnits(ctx, e, sides.head, work, args)
			}
			c, err := open(ctx, e, sides, work, args)
			if err != nil {
				return err
			}
			defer c.src.Close()
			base, head, err := c.sides(ctx)
			if err != nil {
				return err
			}
			units, rep, err := c.find(ctx, &base, &head)
			if err != nil {
				return err
			}
			if shards > 0 {
				return printMatrix(e.stdout, units, shards)
			}
			for _, p := range units {
				if !affected || !p.same {
					fmt.Fprintf(e.stdout, "%-9s %s\n", p.unit.Renderer, printable(p.unit.Name()))
				}
			}
			return tellLeftOut(e.stderr, rep)
		},
	}
	sides.register(cmd.Flags())
	work.register(cmd.Flags())
	cmd.Flags().BoolVar(&affected, "affected", false, "only units that differ between both sides")
	cmd.Flags().IntVar(&shards, "shards", 0, "print a matrix of at most `N` jobs for GitHub Actions")
	return cmd
}

// listUnits lists the units of one side.
func listUnits(ctx context.Context, e env, rev string, work workFlags, args []string) error {
	s, err := openSide(ctx, e, rev, work, nil, nil)
	if err != nil {
		return err
	}
	defer s.tree.Close()
	units, rep, err := s.find(ctx, args, work)
	if err != nil {
		return err
	}
	for _, u := range units {
		fmt.Fprintf(e.stdout, "%-9s %s\n", u.Renderer, printable(u.Name()))
	}
	return tellLeftOut(e.stderr, rep)
}

// tellLeftOut says on stderr what is no unit, and why.
func tellLeftOut(w io.Writer, rep *report.Report) error {
	for _, u := range rep.Units {
		if u.Error != "" {
			fmt.Fprintf(w, "prdiff: %s: %s\n", printable(u.Name), printable(strings.ReplaceAll(u.Error, "\n", " ")))
		}
	}
	if rep.Count(report.Failed) > 0 {
		return errIncomplete
	}
	return nil
}

// printMatrix prints {"shard":["1/2","2/2"]}. There are never more jobs than
// units to render, and at least one, so that its report says that nothing changes.
func printMatrix(w io.Writer, units []pairing, most int) error {
	affected := 0
	for _, p := range units {
		if !p.same {
			affected++
		}
	}
	n := max(1, min(most, affected))
	matrix := struct {
		Shard []string `json:"shard"`
	}{}
	for i := range n {
		matrix.Shard = append(matrix.Shard, fmt.Sprintf("%d/%d", i+1, n))
	}
	return json.NewEncoder(w).Encode(matrix)
}
