package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ArgsFlagRenamed reports flags that a program is started with under another name, or
// without.
var ArgsFlagRenamed = &rule.Rule{
	ID:       "args-flag-renamed",
	Title:    "A flag of a container's command line is renamed or goes, or the command changes",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Most programs do not start with a flag that they do not know. When a flag is renamed while the image stays, one of both names is wrong: the
old one was ignored all the time, or the new one crashes each new pod. A chart may be ahead of the program that it starts, or
behind. When the image changes with it the rename is likely the reason for both, and a note.

A flag that goes falls back to its default in silence, which is a note. It is a warning when the name says that it decided on where the program
listens or stores, whom it trusts and asks, and what it looks after: a certificate, an address, a namespace, a class, a leader's lease. Another command is another program to start, and a warning, as
is a command that goes: then the image's own entry point counts.`,
	Advice:    `Run the image of exactly this tag with --help and look for the flag. Change image and flags in one pull request, per environment.`,
	Incidents: []string{"dfds-kiam-args-2020"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkArgsFlagRenamed,
}

func checkArgsFlagRenamed(p *rule.Pass, c diff.Change) {
	if !touched(c, ".args", ".command") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		sameImage := pair.before.Image() == pair.after.Image()
		reportCommand(p, c, pair, sameImage)
		olds, news := pair.before.Flags(), pair.after.Flags()
		var gone, come []object.Flag
		for _, f := range olds {
			if !hasFlag(news, f.Name) && !hasFlag(gone, f.Name) {
				gone = append(gone, f)
			}
		}
		for _, f := range news {
			if !hasFlag(olds, f.Name) {
				come = append(come, f)
			}
		}
		var left []string
		var first object.Flag
		var decided bool
		for _, f := range gone {
			i := slices.IndexFunc(come, func(x object.Flag) bool { return x.Value != "" && x.Value == f.Value && sameFlag(f.Name, x.Name) })
			if i < 0 {
				if d := decides(f.Name); len(left) == 0 || d && !decided {
					first, decided = f, d
				}
				left = append(left, "--"+f.Name)
				continue
			}
			finding := rule.Finding{
				Path:        come[i].Path,
				Before:      object.Of(flagText(f)),
				After:       object.Of(flagText(come[i])),
				Message:     fmt.Sprintf("container %s is started with --%s in place of --%s", pair.after.Name, come[i].Name, f.Name),
				Consequence: "the image is the same: it knows one of both names, and most programs do not start with a flag that they do not know",
			}
			if !sameImage {
				finding.Severity = rule.Note
				finding.Consequence = "the image must know the new name, and most programs do not start with a flag that they do not know"
			}
			p.Report(c, finding)
		}
		if len(left) > 0 && sameImage {
			f := rule.Finding{
				Path:        first.Path,
				Severity:    rule.Note,
				Before:      object.Of(flagText(first)),
				Message:     fmt.Sprintf("container %s is started without %s", pair.after.Name, listed(left)),
				Consequence: "what it set falls back to the program's default",
			}
			if decided && first.Value != "false" && !otherProgram(pair) {
				f.Severity = rule.Warning
				f.Consequence = "--" + first.Name + " falls back to the program's default, and by its name it decides on where the program listens or stores, whom it trusts, or what it looks after"
			}
			p.Report(c, f)
		}
	}
}

// decidingWords are words of flags whose default is another place, peer or scope.
var decidingWords = []string{
	"address", "addr", "addresses", "bind", "listen", "port", "endpoint", "endpoints", "url", "server", "upstream",
	"tls", "cert", "certificate", "ca", "insecure", "auth", "authentication", "authorization", "secret", "token",
	"namespace", "namespaces", "class", "selector", "provider", "source", "domain", "zone", "zones", "filter", "kubelet", "owner",
	"leader", "election", "elect", "webhook", "storage", "store", "datadir", "bucket", "replication", "ring", "memberlist", "join", "peer", "peers",
}

// quietWords are words of flags that only say what is told, or how much.
var quietWords = []string{"log", "logs", "logging", "logtostderr", "level", "verbosity", "v", "profiling", "pprof", "metrics", "metric", "telemetry", "trace", "tracing", "timeout", "debug", "usage", "report", "reporting", "experimental", "duration", "period", "interval"}

// decides says whether a flag's name tells that it decides on a place, a peer or a scope.
func decides(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == '/' })
	has := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return has(decidingWords) && !has(quietWords)
}

func hasFlag(flags []object.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f object.Flag) bool { return f.Name == name })
}

// sameFlag says whether two names of flags with one value share a word, so that one
// was likely renamed to the other.
func sameFlag(a, b string) bool {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == '/' })
	}
	for _, word := range split(a) {
		if len(word) > 2 && slices.Contains(split(b), word) {
			return true
		}
	}
	return strings.EqualFold(strings.ReplaceAll(a, "-", ""), strings.ReplaceAll(b, "-", ""))
}

func flagText(f object.Flag) string {
	if f.Value == "" {
		return "--" + f.Name
	}
	return "--" + f.Name + "=" + f.Value
}

// reportCommand tells of another program to start.
func reportCommand(p *rule.Pass, c diff.Change, pair containerPair, sameImage bool) {
	was, now := pair.before.At("command").Texts(), pair.after.At("command").Texts()
	program := func(words []string) string {
		if len(words) == 0 {
			return ""
		}
		return words[0]
	}
	b, a := program(was), program(now)
	if b == a || b == "" && !sameImage {
		return
	}
	f := rule.Finding{Path: pair.after.Path.Key("command")}
	switch {
	case a == "":
		f.Message = fmt.Sprintf("container %s no longer starts %s", pair.after.Name, b)
		f.Consequence = "the image's own entry point counts, with the same arguments"
	case b == "":
		f.Message = fmt.Sprintf("container %s starts %s in place of the image's own entry point", pair.after.Name, a)
		f.Consequence = "what the entry point did before, setting up users, files and signals, is not done; the image must have the program"
		if isShell(a) {
			f.Consequence += "; a shell passes no SIGTERM on unless it ends with exec"
		}
	default:
		f.Message = fmt.Sprintf("container %s starts %s in place of %s", pair.after.Name, a, b)
		f.Consequence = "the image must have it, and it must take the same arguments"
	}
	if !sameImage || b[strings.LastIndexByte(b, '/')+1:] == a[strings.LastIndexByte(a, '/')+1:] {
		f.Severity = rule.Note
	}
	p.Report(c, f)
}

// otherProgram says whether a container starts another program than before, which has
// flags of its own.
func otherProgram(pair containerPair) bool {
	was, now := pair.before.At("command").Texts(), pair.after.At("command").Texts()
	return len(was) != len(now) && (len(was) == 0 || len(now) == 0) || len(was) > 0 && was[0] != now[0]
}

func isShell(program string) bool {
	switch program[strings.LastIndexByte(program, '/')+1:] {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}
