package report

import (
	"strings"
	"testing"
)

func TestCheckParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		say   string // "" wants no error
	}{
		{"all of them, in any order", []string{"2/3", "1/3", "3/3"}, ""},
		{"a whole report alone", []string{""}, ""},
		{"one that is missing", []string{"1/3", "3/3"}, "1 of 3 parts are missing (2/3)"},
		{"the last ones", []string{"1/40"}, "39 of 40 parts are missing (2/40,"},
		{"one twice", []string{"1/2", "1/2"}, "1/2 is there 2 times"},
		{"another division", []string{"1/2", "2/3"}, "different runs"},
		{"a part and a whole", []string{"1/2", ""}, "do not belong together"},
		{"what is no part", []string{"0/2"}, "is no part"},
		{"what is no number", []string{"1/2\n::error::x"}, "is no part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var parts []*Report
			for _, p := range c.parts {
				parts = append(parts, &Report{Part: p})
			}
			err := CheckParts(parts)
			if c.say == "" && err != nil || c.say != "" && (err == nil || !strings.Contains(err.Error(), c.say)) {
				t.Errorf("error = %v, want %q", err, c.say)
			}
		})
	}
}
