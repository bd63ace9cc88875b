package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

// annotations is how many of each kind a step of GitHub Actions shows; the rest is
// dropped in silence (https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations).
const annotations = 10

// GitHub writes findings as workflow commands, which GitHub Actions shows beside
// the lines of a pull request: ten errors, ten warnings and ten notices, units that
// could not be looked at before findings. Where there are more, the last one says
// how many. A line with the verdict follows, for the log.
func GitHub(w io.Writer, r *Report, _ Options) error {
	out := bufio.NewWriter(w)
	lines := map[string][]string{}
	add := func(command, file string, line int, title, text string) {
		var properties []string
		if file != "" {
			properties = append(properties, "file="+commandProperty(file))
			if line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", line))
			}
		}
		properties = append(properties, "title="+commandProperty(cut(title, 200)))
		lines[command] = append(lines[command], "::"+command+" "+strings.Join(properties, ",")+"::"+commandData(cut(text, 2000)))
	}
	for _, why := range reasons(r, Failed) {
		title := plural(len(why.units), "unit") + " could not be looked at"
		add("error", "", 0, title, inUnits(names(why.units), inert)+": "+why.text)
	}
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			add(commandOf(f.Severity), f.Origin.Path, f.Origin.Line, f.Ref.String()+" ("+f.Rule+")", annotation(r, f))
		}
	}
	for _, command := range []string{"error", "warning", "notice"} {
		list := lines[command]
		if len(list) > annotations {
			list = append(list[:annotations-1:annotations-1], fmt.Sprintf("::%s title=prdiff::and %d more: the report has them all", command, len(list)-annotations+1))
		}
		for _, l := range list {
			fmt.Fprintln(out, l)
		}
	}
	var words []string
	for _, v := range verdicts(r) {
		words = append(words, v.words)
	}
	fmt.Fprintf(out, "prdiff: %s. %s\n", strings.Join(words, " · "), accounting(r))
	return out.Flush()
}

func commandOf(s rule.Severity) string {
	switch s {
	case rule.Error:
		return "error"
	case rule.Warning:
		return "warning"
	}
	return "notice"
}

// annotation is what a finding says beside the line that it is about.
func annotation(r *Report, f Finding) string {
	text := sentence(f.Message)
	if len(f.Units) > 1 {
		text += " In " + inUnits(f.Units, inert) + "."
	}
	if what := happens(f); what != "" {
		text += "\nWhat happens: " + sentence(what)
	}
	if f.Advice != "" {
		text += "\nInstead: " + sentence(strings.Join(strings.Fields(f.Advice), " "))
	}
	for _, i := range cited(r, f) {
		text += "\nSeen before: " + whose(i.Incident) + ": " + sentence(i.Title)
		if webLink(i.URL) {
			text += " " + i.URL
		}
	}
	return text
}

// commandData escapes the text of a workflow command as the runner reads it back
// (https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts). The
// older form of commands, which counts anywhere in a line, is broken up.
func commandData(s string) string {
	lines := inertLines(s)
	s = strings.ReplaceAll(strings.Join(lines, "\n"), "##[", "## [")
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(inert(s)))
}
