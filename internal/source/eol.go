package source

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// lineEndings says what git does to a file's line endings when it stores it.
type lineEndings int

const (
	storedAsIs lineEndings = iota
	storedAsLF             // CR LF becomes LF
	guessed                // the same, if it looks like text and the stored file has no CR LF
)

// clean gives data as git would store it. stored reads the blob that the index has.
func (e lineEndings) clean(data []byte, stored func() ([]byte, error)) ([]byte, error) {
	if e == storedAsIs || !bytes.Contains(data, []byte("\r\n")) {
		return data, nil
	}
	if e == guessed {
		if looksBinary(data) {
			return data, nil
		}
		before, err := stored()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(before, []byte("\r\n")) && !looksBinary(before) {
			return data, nil
		}
	}
	return toLF(data), nil
}

func toLF(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// looksBinary guesses as git does: a NUL, a CR on its own, or more than one
// unprintable byte in 128 (convert_is_binary in git's convert.c).
func looksBinary(data []byte) bool {
	var printable, odd int
	for i, c := range data {
		switch {
		case c == 0:
			return true
		case c == '\r':
			if i+1 == len(data) || data[i+1] != '\n' {
				return true
			}
		case c == '\n':
		case c == '\b', c == '\t', c == '\033', c == '\f':
			printable++
		case c < 32, c == 127:
			// A final Ctrl-Z is how DOS ended a text.
			if c != 26 || i != len(data)-1 {
				odd++
			}
		default:
			printable++
		}
	}
	return printable>>7 < odd
}

// readAttributes asks git what its attributes say of the files that it would
// have to store anew.
func (s *workStore) readAttributes(ctx context.Context, r *repo) error {
	var ask []string
	for name, f := range s.odd {
		if !f.sparse {
			ask = append(ask, name)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	slices.Sort(ask)
	out, err := r.git(ctx, strings.NewReader(strings.Join(ask, "\x00")+"\x00"),
		"check-attr", "-z", "--stdin", "text", "crlf", "eol", "filter")
	if err != nil {
		return err
	}
	answers := splitNames(out)
	if len(answers) != len(ask)*4*3 {
		return fmt.Errorf("git check-attr: %d answers for %d files", len(answers)/3, len(ask))
	}
	autocrlf := strings.ToLower(r.config.get("core.autocrlf"))
	for i, name := range ask {
		value := func(attr int) string { return answers[(i*4+attr)*3+2] }
		f := s.odd[name]
		f.eol = lineEndingsOf(value(0), value(1), value(2), autocrlf)
		f.lfsClean = value(3) == "lfs"
		s.odd[name] = f
	}
	return nil
}

// lineEndingsOf is how git reads the attributes
// (https://git-scm.com/docs/gitattributes#_end_of_line_conversion). "crlf" is the old name of "text".
func lineEndingsOf(text, crlf, eol, autocrlf string) lineEndings {
	if text == "unspecified" {
		text = crlf
	}
	switch text {
	case "unset":
		return storedAsIs
	case "set", "input":
		return storedAsLF
	case "auto":
		return guessed
	}
	switch {
	case eol == "lf" || eol == "crlf":
		return storedAsLF
	case autocrlf == "input" || autocrlf == "true" || autocrlf == "yes" || autocrlf == "on" || autocrlf == "1":
		return guessed
	}
	return storedAsIs
}
