package report

import (
	"fmt"
	"strings"
)

// CheckParts says which parts of a divided run are missing, or there twice: what
// a missing part would have told is not unchanged.
func CheckParts(parts []*Report) error {
	of := 0
	have := map[int]int{}
	for _, p := range parts {
		var i, n int
		if p.Part == "" {
			if len(parts) > 1 {
				return fmt.Errorf("one of the %d files is a whole report and no part of one: they do not belong together", len(parts))
			}
			return nil
		}
		if k, err := fmt.Sscanf(p.Part, "%d/%d", &i, &n); err != nil || k != 2 || i < 1 || i > n || n > 1_000_000 || fmt.Sprintf("%d/%d", i, n) != p.Part {
			return fmt.Errorf("%q is no part of anything: it should be I/N", inert(cut(p.Part, 40)))
		}
		if of != 0 && n != of {
			return fmt.Errorf("one part is of %d and one of %d: they are of different runs", of, n)
		}
		of = n
		have[i]++
	}
	var missing []string
	for i := 1; i <= of; i++ {
		switch {
		case have[i] == 0 && len(missing) < 10:
			missing = append(missing, fmt.Sprintf("%d/%d", i, of))
		case have[i] > 1:
			return fmt.Errorf("the part %d/%d is there %d times", i, of, have[i])
		}
	}
	if len(have) < of {
		return fmt.Errorf("%d of %d parts are missing (%s): their jobs failed, or their files were not handed on", of-len(have), of, strings.Join(missing, ", "))
	}
	return nil
}
