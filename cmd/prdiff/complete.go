package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeTime bounds what a press of the tab key may cost.
const completeTime = 2 * time.Second

// A completer gives what may stand at a place of the command line.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete teaches the shell the words of all commands below one.
func (e env) complete(cmd *cobra.Command) {
	words := func(list ...string) completer {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return list, cobra.ShellCompDirectiveNoFileComp
		}
	}
	flags := map[string]completer{
		"fail-on": words("never\texit 0 whatever is found", "note", "warning", "error", "change\tany visible change"),
		"color":   words("auto", "always", "never"),
		"comment": words("always", "changes", "findings"),
		"publish": words(places...),
		"format":  completeFormat,
	}
	units := e.completeUnits()
	arguments := map[string]completer{
		"prdiff diff": units, "prdiff render": units, "prdiff units": units,
		"prdiff incidents show": e.completeIncidents, "prdiff incidents similar": e.completeIncidents,
		"prdiff demo": func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, r := range replays {
				names = append(names, r.name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for name, f := range flags {
			flag := c.Flags().Lookup(name)
			if flag == nil {
				flag = c.PersistentFlags().Lookup(name)
			}
			if flag == nil {
				continue
			}
			if strings.HasPrefix(c.CommandPath(), "prdiff incidents") && name == "format" {
				f = words(incidentFormats...)
			}
			// The one error is that the flag is not there, or has its words already.
			_ = c.RegisterFlagCompletionFunc(name, f)
		}
		if f := arguments[c.CommandPath()]; f != nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = f
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd)
}

// completeFormat gives the formats, and files after NAME=.
func completeFormat(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeIncidents gives the ids of the incidents, with who they happened to.
func (e env) completeIncidents(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	library, err := e.library(completeContext(cmd))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, i := range library.All() {
		out = append(out, printable(i.ID+"\t"+strings.Join(strings.Fields(i.Org+": "+i.Title), " ")))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeUnits gives the paths of the units of the working tree, or files where
// there are none.
func (e env) completeUnits() completer {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, stop := context.WithTimeout(completeContext(cmd), completeTime)
		defer stop()
		var work workFlags
		s, err := openSide(ctx, e, "", work, nil, nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		defer s.tree.Close()
		if s.tree.Prefix != "." {
			return nil, cobra.ShellCompDirectiveDefault // below the root, paths are files as they stand there
		}
		work.jobs = 1
		found, _, err := s.find(ctx, nil, work)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var out []string
		for _, u := range found {
			if strings.HasPrefix(u.Path, typed) {
				out = append(out, printable(u.Path+"\t"+u.Renderer))
			}
		}
		return out, cobra.ShellCompDirectiveDefault
	}
}

func completeContext(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
