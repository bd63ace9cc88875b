package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

// A Silencer is one suppression of the configuration, and what came of it here.
type Silencer struct {
	By       string `json:"by"`    // its place, such as ".prdiff.yaml:12"
	About    string `json:"about"` // rule, object, field and unit, in words
	Reason   string `json:"reason"`
	Expires  string `json:"expires,omitempty"` // YYYY-MM-DD
	State    State  `json:"state"`
	Findings int    `json:"findings"` // that it silences, or did before it expired
}

// A State is what became of a suppression.
type State string

// The states of suppressions, in the words of the report.
const (
	Used    State = "used"
	Unused  State = "unused"  // what it is for changes here, and there is nothing to silence
	Idle    State = "idle"    // what it is for does not change here
	Expired State = "expired" // its last day has passed: what it silenced counts
)

// silencerWords tells of the suppressions that somebody should look at, a line each.
func silencerWords(r *Report) []string {
	var out []string
	for _, s := range r.Silencers {
		switch s.State {
		case Expired:
			out = append(out, fmt.Sprintf("%s: %s: expired after %s%s: %s", s.By, s.About, s.Expires, counts(s.Findings), s.Reason))
		case Unused:
			out = append(out, fmt.Sprintf("%s: %s: silences nothing, though what it is for changes here: %s", s.By, s.About, s.Reason))
		}
	}
	return out
}

func counts(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 finding counts again"
	}
	return fmt.Sprintf(", %d findings count again", n)
}

// offWords names the rules that are switched off, "" when none is.
func offWords(r *Report, show func(string) string) string {
	if len(r.Off) == 0 {
		return ""
	}
	return "rules switched off: " + inUnits(r.Off, show)
}

func (t *text) silencers() {
	for i, line := range silencerWords(t.r) {
		if i == 0 {
			t.printf("\n%s\n", t.paint(bold, "Suppressions to look at"))
		}
		t.printf("  %s\n", inert(line))
	}
}

func countSilenced(r *Report) int {
	n := 0
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			n++
		}
	}
	return n
}

func mdSilenced(r *Report) string {
	n := countSilenced(r)
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%s silenced</summary>\n\n", plural(n, "finding"))
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			fmt.Fprintf(&b, "- %s %s: %s\n", mdCode(f.Rule), mdCode(f.Ref.String()), mdProse(cut(silencedBy(f), 400)))
		}
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}
func mdSilencers(r *Report) string {
	lines := silencerWords(r)
	if len(lines) == 0 {
		return ""
	}
	const most = 15
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>Suppressions to look at: %d</summary>\n\n", len(lines))
	for i, line := range lines {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(lines)-most)
			break
		}
		fmt.Fprintf(&b, "- %s\n", mdProse(cut(line, 400)))
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}

// mergeSilencers adds what a part says of suppressions to what others said.
func mergeSilencers(to, from []Silencer) []Silencer {
	weight := map[State]int{Idle: 0, Unused: 1, Used: 2, Expired: 3}
	for _, s := range from {
		i := slices.IndexFunc(to, func(have Silencer) bool { return have.By == s.By })
		if i < 0 {
			to = append(to, s)
			continue
		}
		to[i].Findings += s.Findings
		if weight[s.State] > weight[to[i].State] {
			to[i].State = s.State
		}
	}
	return to
}

// FoldFindings sorts findings, worst first, and tells once what several units have
// in common. Silenced ones stay apart from those that count, and from those that are
// silenced for another reason, and come last.
func FoldFindings(findings []Finding) []Finding {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			int(b.Severity-a.Severity),
			a.Ref.Compare(b.Ref),
			strings.Compare(string(a.Path), string(b.Path)),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
	var reasons []Suppression // in the order of their first finding; the zero one is that of findings that count
	reasons = append(reasons, Suppression{})
	byReason := map[Suppression][]rule.Finding{}
	whole := map[string]Finding{}
	for _, f := range findings {
		var s Suppression
		if f.Suppressed != nil {
			s = *f.Suppressed
		}
		if !slices.Contains(reasons, s) {
			reasons = append(reasons, s)
		}
		byReason[s] = append(byReason[s], f.Finding)
		whole[f.Fingerprint+"\x00"+f.Unit+"\x00"+f.Message] = f
	}
	var out []Finding
	for _, s := range reasons {
		for _, f := range rule.Fold(byReason[s]) {
			full := whole[f.Fingerprint+"\x00"+f.Unit+"\x00"+f.Message]
			full.Finding = f
			out = append(out, full)
		}
	}
	return out
}
