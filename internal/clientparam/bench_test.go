package clientparam

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/object"
)

// An application with twenty variables of which one changes, its neighbour whose
// image changes, and a file of 500 lines of which one changes.
func BenchmarkChanges(b *testing.B) {
	env := func(backoff string) string {
		var s strings.Builder
		s.WriteString("args: [--log.level=info, --listen=:8080]\nenv:\n")
		for i := range 20 {
			fmt.Fprintf(&s, "- {name: SETTING_NUMBER_%d, value: \"%d\"}\n", i, i)
		}
		fmt.Fprintf(&s, "- {name: RETRY_BACKOFF, value: %s}", backoff)
		return s.String()
	}
	file := func(backoff string) string {
		var s strings.Builder
		for i := range 100 {
			fmt.Fprintf(&s, "section%d:\n  one: 1\n  two: a b\n  three:\n    four: \"x\"\n", i)
		}
		return s.String() + "backoff: " + backoff + "\n"
	}
	pairs := map[string][2]string{
		"env":   {deployment("web", "app:1", env("5s")), deployment("web", "app:1", env("1s"))},
		"image": {deployment("web", "app:1", env("5s")), deployment("web", "app:2", env("5s"))},
		"file":  {configMap("web", "config.yaml", file("5s")), configMap("web", "config.yaml", file("1s"))},
	}
	for _, name := range []string{"env", "image", "file"} {
		b.Run(name, func(b *testing.B) {
			before, after := parseOne(b, pairs[name][0]), parseOne(b, pairs[name][1])
			b.ReportAllocs()
			for b.Loop() {
				sink = Changes(before, after)
			}
		})
	}
}

var sink []Change

func TestAChangeOfTheImageAloneIsNoneOfTheParameters(t *testing.T) {
	content := "env: [{name: RETRY_BACKOFF, value: 5s}]"
	var sides []*object.Object
	for _, image := range []string{"app:1", "app:2"} {
		sides = append(sides, parseOne(t, deployment("web", image, content)))
	}
	compareTold(t, told(Changes(sides[0], sides[1])), nil)
}
