package rule

import "fmt"

// ParseSeverity reads what Severity.String writes.
func ParseSeverity(s string) (Severity, error) {
	for _, sev := range []Severity{Note, Warning, Error} {
		if s == sev.String() {
			return sev, nil
		}
	}
	return 0, fmt.Errorf("unknown severity %q: it is note, warning or error", s)
}
