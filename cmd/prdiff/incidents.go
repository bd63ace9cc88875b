package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/incident"
)

func incidentsCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "List, search and tell the public incidents that prdiff knows",
		Example: `  prdiff incidents
  prdiff incidents search coredns memory
  prdiff incidents show IL-0191`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("prdiff incidents has search and show, not %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.page(cmd.Context(), func(w io.Writer) error {
				for _, i := range incident.Embedded().All() {
					if err := incidentLine(w, i); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "search WORDS",
		Short:   "Find incidents that say something about the words",
		Example: "  prdiff incidents search grpc reconnect",
		RunE: func(cmd *cobra.Command, args []string) error {
			words := strings.TrimSpace(strings.Join(args, " "))
			if words == "" {
				return usage("prdiff incidents search needs words to look for")
			}
			found := incident.Embedded().Search(words, 20)
			if len(found) == 0 {
				_, err := fmt.Fprintf(e.stderr, "prdiff: no incident says anything about %s\n", printable(words))
				return err
			}
			return e.page(cmd.Context(), func(w io.Writer) error {
				for _, m := range found {
					if err := incidentLine(w, m.Incident); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}, &cobra.Command{
		Use:     "show ID",
		Short:   "Tell one incident",
		Example: "  prdiff incidents show datadog-grpc-reconnect-2021",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("prdiff incidents show needs the id of one incident: prdiff incidents lists them")
			}
			library := incident.Embedded()
			i, ok := library.Get(args[0])
			if !ok {
				return usage("there is no incident %q: prdiff incidents lists them", args[0])
			}
			similar, err := library.Similar(i.ID, 3)
			if err != nil {
				return err
			}
			return e.page(cmd.Context(), func(w io.Writer) error { return tellIncident(w, i, similar) })
		},
	})
	return cmd
}

func incidentLine(w io.Writer, i incident.Incident) error {
	_, err := fmt.Fprintf(w, "%-40s %-4s  %s: %s\n", i.ID, yearOf(i.Date), i.Org, i.Title)
	return err
}

// yearOf gives the year of a date, "?" when there is none.
func yearOf(date string) string {
	if len(date) < 4 {
		return "?"
	}
	return date[:4]
}

func tellIncident(w io.Writer, i incident.Incident, similar []incident.Match) error {
	var b strings.Builder
	date := i.Date
	if date == "" {
		date = "date not published"
	}
	fmt.Fprintf(&b, "%s (%s): %s\n%s\n\n", i.Org, date, i.Title, i.ID)
	for _, p := range [][2]string{
		{"What changed", i.Change}, {"What happened", i.Mechanism}, {"Impact", i.Impact}, {"Lesson", i.Lesson},
		{"Why a diff of manifests would not show it", i.Related}, {"Note", i.Note},
		{"Rules", strings.Join(i.Rules, ", ")}, {"Source", i.URL}, {"Case", i.IncidentLib},
	} {
		if p[1] != "" {
			lines := wrap(p[0]+": "+p[1], 96)
			if p[0] == "Source" {
				lines = []string{p[0] + ": " + p[1]} // an address is not broken
			}
			for n, l := range lines {
				if n > 0 {
					l = "  " + l
				}
				b.WriteString(l + "\n")
			}
		}
	}
	if len(similar) > 0 {
		b.WriteString("\nLike it\n")
		for _, m := range similar {
			fmt.Fprintf(&b, "  %s, %s: %s (%s; %s)\n", m.Org, yearOf(m.Date), m.Title, m.ID, m.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
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
