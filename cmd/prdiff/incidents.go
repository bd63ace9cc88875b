package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/incident"
)

// incidentFormats are the ways to print incidents.
var incidentFormats = []string{"text", "markdown", "json"}

func incidentsCommand(e env) *cobra.Command {
	var format string
	check := func() error {
		if !slices.Contains(incidentFormats, format) {
			return usage("--format %s: it is %s", format, strings.Join(incidentFormats, ", "))
		}
		return nil
	}
	// list prints many incidents, page a single one.
	list := func(cmd *cobra.Command, found []incident.Match, text func(io.Writer) error) error {
		return e.page(cmd.Context(), func(w io.Writer) error {
			switch format {
			case "json":
				return incident.WriteJSON(w, found)
			case "markdown":
				return incident.WriteTableMarkdown(w, found)
			}
			return text(w)
		})
	}
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "List, search and tell the incidents that prdiff knows, and keep your own",
		Long: `List the public incidents that prdiff knows, and your own: postmortems in the
files and folders that incidents.paths in ` + config.File + ` names, Markdown with front
matter or YAML. Your own are shown in your reports and sent nowhere.`,
		Example: `  prdiff incidents
  prdiff incidents search coredns memory
  prdiff incidents show IL-0191
  prdiff incidents new checkout-2026-03`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("prdiff incidents has search, show, similar, check and new, not %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			library, err := e.library(cmd.Context())
			if err := errors.Join(check(), err); err != nil {
				return err
			}
			found := incident.Listed(library.All())
			return list(cmd, found, func(w io.Writer) error { return incident.WriteTable(w, found, e.width()) })
		},
	}
	cmd.PersistentFlags().StringVar(&format, "format", "text", "print as "+strings.Join(incidentFormats, ", "))
	cmd.AddCommand(&cobra.Command{
		Use:     "search WORDS",
		Short:   "Find incidents that say something about the words",
		Example: "  prdiff incidents search grpc reconnect",
		RunE: func(cmd *cobra.Command, args []string) error {
			words := strings.TrimSpace(strings.Join(args, " "))
			if words == "" {
				return usage("prdiff incidents search needs words to look for")
			}
			library, err := e.library(cmd.Context())
			if err := errors.Join(check(), err); err != nil {
				return err
			}
			found := library.Search(words, 20)
			if len(found) == 0 && format == "text" {
				_, err := fmt.Fprintf(e.stderr, "prdiff: no incident says anything about %s\n", printable(words))
				return err
			}
			return list(cmd, found, func(w io.Writer) error { return incident.WriteTable(w, found, e.width()) })
		},
	}, &cobra.Command{
		Use:     "show ID",
		Short:   "Tell one incident",
		Example: "  prdiff incidents show datadog-grpc-reconnect-2021",
		Args:    oneIncident,
		RunE: func(cmd *cobra.Command, args []string) error {
			library, err := e.library(cmd.Context())
			if err := errors.Join(check(), err); err != nil {
				return err
			}
			i, ok := library.Get(args[0])
			if !ok {
				return usage("there is no incident %q: prdiff incidents lists them", args[0])
			}
			similar, err := library.Similar(i.ID, 3)
			if err != nil {
				return err
			}
			return e.page(cmd.Context(), func(w io.Writer) error {
				switch format {
				case "json":
					return incident.WriteJSON(w, incident.Listed([]incident.Incident{i}))
				case "markdown":
					return incident.WritePageMarkdown(w, i)
				}
				if err := incident.WritePage(w, i, e.width()); err != nil || len(similar) == 0 {
					return err
				}
				if _, err := io.WriteString(w, "\nLike it\n\n"); err != nil {
					return err
				}
				return incident.WriteMatches(w, similar, e.width())
			})
		},
	}, &cobra.Command{
		Use:     "similar ID",
		Short:   "Find the incidents that are most like one",
		Example: "  prdiff incidents similar zalando-coredns-2019",
		Args:    oneIncident,
		RunE: func(cmd *cobra.Command, args []string) error {
			library, err := e.library(cmd.Context())
			if err := errors.Join(check(), err); err != nil {
				return err
			}
			found, err := library.Similar(args[0], 10)
			if err != nil {
				return usage("there is no incident %q: prdiff incidents lists them", args[0])
			}
			return list(cmd, found, func(w io.Writer) error { return incident.WriteMatches(w, found, e.width()) })
		},
	}, incidentsCheckCommand(e), incidentsNewCommand(e))
	return cmd
}

func oneIncident(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s needs the id of one incident: prdiff incidents lists them", cmd.CommandPath())
	}
	return nil
}

func incidentsCheckCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "check [PATH ...]",
		Short: "Check your own postmortems, and the rules that they make",
		Long: `Check the postmortems below the paths, or those that incidents.paths in ` + config.File + `
names: keys and texts, the rules that they name, and the expressions of their
triggers. Each mistake has file and line.

Exit codes: 0 all are sound, 2 one is not, or there is none.`,
		Example: `  prdiff incidents check
  prdiff incidents check docs/postmortems`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := e.workplace(cmd.Context())
			if err != nil {
				return err
			}
			defer w.tree.Close()
			c := config.Config{}
			if w.config != nil {
				c = *w.config
			}
			if len(args) > 0 {
				c.IncidentPaths = nil
				for _, a := range args {
					name, err := w.tree.Name(a)
					if err != nil {
						return err
					}
					c.IncidentPaths = append(c.IncidentPaths, name)
				}
			}
			if len(c.IncidentPaths) == 0 {
				return usage("there is nothing to check: name files or folders, here or as incidents.paths in %s", config.File)
			}
			own, err := readOwn(w.tree, &c)
			if err != nil {
				return err
			}
			if _, err := incident.Embedded().With(own.incidents...); err != nil {
				return err
			}
			if len(own.incidents) == 0 {
				return usage("no postmortem below %s", strings.Join(c.IncidentPaths, ", "))
			}
			triggers := 0
			for _, i := range own.incidents {
				if i.Trigger != nil {
					triggers++
				}
			}
			_, err = fmt.Fprintf(e.stdout, "%d of your own, %d of them with a trigger: all sound\n", len(own.incidents), triggers)
			return err
		},
	}
}

func incidentsNewCommand(e env) *cobra.Command {
	var day string
	cmd := &cobra.Command{
		Use:   "new ID [FILE]",
		Short: "Begin a postmortem that prdiff reads",
		Long: `Write a new postmortem in Markdown with front matter, to be filled in. It goes to
FILE, else to ID.md in the first folder of incidents.paths in ` + config.File + `, else to
stdout. A file that is there already is left alone.`,
		Example: "  prdiff incidents new checkout-2026-03 --date 2026-03-02",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("prdiff incidents new takes an id, and perhaps a file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if day == "" {
				day = e.now().UTC().Format(time.DateOnly)
			}
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				return usage("--date %s: a day is written as 2026-12-31", day)
			}
			for _, p := range (incident.Incident{ID: args[0]}).Validate() {
				if p.Field == "id" {
					return usage("%s", p)
				}
			}
			text := incident.Template(args[0], day)
			if len(args) == 2 {
				return e.writeNew(args[1], text)
			}
			w, err := e.workplace(cmd.Context())
			if err != nil {
				return err
			}
			defer w.tree.Close()
			if w.config != nil {
				for _, p := range w.config.IncidentPaths {
					if path.Ext(p) == "" { // a folder, which need not be there yet
						name, err := filepath.Rel(filepath.FromSlash(w.tree.Prefix), filepath.FromSlash(path.Join(p, args[0]+".md")))
						if err != nil {
							return err
						}
						return e.writeNew(filepath.ToSlash(name), text)
					}
				}
			}
			_, err = io.WriteString(e.stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&day, "date", "", "the `DAY` of the incident, YYYY-MM-DD (default today)")
	return cmd
}

// yearOf gives the year of a date, "?" when there is none.
func yearOf(date string) string {
	if len(date) < 4 {
		return "?"
	}
	return date[:4]
}

// wrap breaks a text at blanks into lines of at most n characters.
func wrap(s string, n int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}
