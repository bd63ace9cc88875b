package github

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// SummaryLimit is how many bytes the summary of one step may have. Of a longer
// one nothing is shown
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits).
const SummaryLimit = 1 << 20

// SummaryRoom gives how many bytes can still be added to the step's summary in
// path, the file that GITHUB_STEP_SUMMARY names.
func SummaryRoom(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return SummaryLimit
	}
	return int(max(0, SummaryLimit-info.Size()))
}

// WriteSummary adds a text to the step's summary. One that would make the whole
// summary too long is refused, and nothing is written.
func WriteSummary(path, text string) error {
	if room := SummaryRoom(path); len(text)+1 > room {
		return fmt.Errorf("the job summary has room for %d bytes, and %d are to be written", room, len(text)+1)
	}
	return appendFile(path, text+"\n")
}

// An Output is one result of the step for later ones.
type Output struct{ Name, Value string }

// WriteOutputs adds results to path, the file that GITHUB_OUTPUT names. Random
// gives a word that nobody can foresee, so that no value can end itself and set
// another output.
func WriteOutputs(path string, outputs []Output, random func() string) error {
	var b strings.Builder
	for _, o := range outputs {
		if o.Name == "" || strings.Trim(o.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return fmt.Errorf("%q cannot be the name of an output", o.Name)
		}
		end := "prdiff_" + random()
		for strings.Contains(o.Value, end) {
			end += random()
		}
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", o.Name, end, strings.ToValidUTF8(o.Value, "\uFFFD"), end)
	}
	return appendFile(path, b.String())
}

// appendFile adds to a file in one write, as other processes of the step may too.
func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// A Level is how much an annotation matters.
type Level string

// The levels, in the words of workflow commands.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNotice  Level = "notice"
)

// An Annotation is one remark on a line of a file. Its texts may come from strangers.
type Annotation struct {
	Level   Level
	Path    string // from the root of the repository, with slashes
	Line    int    // 0 for the file as a whole
	Title   string
	Message string // may have several lines
}

// AnnotationsPerLevel is how many annotations of one level the runner takes from
// a step; it drops the others without a word
// (https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations).
const AnnotationsPerLevel = 10

// WriteAnnotations prints annotations as workflow commands, the first of each
// level as far as the runner takes them, and gives the number of those left out.
// W must be the log itself: whatever keeps strangers' text from being obeyed
// would keep these too.
func WriteAnnotations(w io.Writer, annotations []Annotation) (left int, err error) {
	count := map[Level]int{}
	var b strings.Builder
	for _, a := range annotations {
		if count[a.Level]++; count[a.Level] > AnnotationsPerLevel {
			left++
			continue
		}
		b.WriteString(command(a))
	}
	_, err = io.WriteString(w, b.String())
	return left, err
}

// command writes an annotation as a workflow command, which ends with its line.
func command(a Annotation) string {
	var properties []string
	add := func(name, value string) {
		if value != "" {
			properties = append(properties, name+"="+escapeProperty(value))
		}
	}
	if a.Path != "" {
		add("file", plain(a.Path, 1024))
		add("line", fmt.Sprint(max(1, a.Line)))
	}
	add("title", plain(a.Title, 200))
	level := a.Level
	if level != LevelError && level != LevelWarning {
		level = LevelNotice
	}
	return fmt.Sprintf("::%s %s::%s\n", level, strings.Join(properties, ","), escapeData(plainLines(a.Message, 4096)))
}

// plainLines is plain for a text whose lines stay.
func plainLines(s string, limit int) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = plain(lines[i], limit)
	}
	return cutLines(strings.Join(lines, "\n"), limit)
}

// escapeData and escapeProperty are the runner's own escapes
// (https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts).
// "##[" would begin a command of the old form anywhere in a line.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "##[", `#\#[`).Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}
