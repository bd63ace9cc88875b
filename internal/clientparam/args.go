package clientparam

import "strings"

// readArgs finds flags in the arguments of a program: --x=y, -x y, -Dx=y, x=y.
// One dash and two mean the same, as in Go's flag package. A flag without value
// is "true". Each entry bears the index of the argument that holds its value.
func readArgs(args []string) []entry {
	var out []entry
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if strings.ContainsAny(arg, " \t\n") && !strings.HasPrefix(arg, "-") {
			// A command line for a shell.
			if parts := splitShell(arg); len(parts) > 1 {
				for _, e := range readArgs(parts) {
					e.arg = i
					out = append(out, e)
				}
			}
			continue
		}
		name := strings.TrimLeft(arg, "-")
		dashes := len(arg) - len(name)
		switch {
		case dashes > 2 || name == "":
		case dashes == 1 && strings.HasPrefix(name, "D") && strings.Contains(name, "="):
			k, v, _ := strings.Cut(name[1:], "=")
			out = appendArg(out, i, k, v)
		case strings.Contains(name, "="):
			k, v, _ := strings.Cut(name, "=")
			if strings.HasSuffix(k, "set") && dashes == 2 {
				k, v, _ = strings.Cut(v, "=") // --set a.b=c
			}
			out = appendArg(out, i, k, v)
		case dashes == 0:
		case i+1 < len(args) && !isFlag(args[i+1]):
			i++
			if k, v, ok := strings.Cut(args[i], "="); ok && (name == "set" || name == "e" || name == "o") {
				out = appendArg(out, i, k, v)
			} else {
				out = appendArg(out, i, name, args[i])
			}
		default:
			out = appendArg(out, i, name, "true")
		}
	}
	return out
}

func appendArg(out []entry, arg int, name, value string) []entry {
	if !isName(name) {
		return out
	}
	return append(out, entry{name: name, value: unquote(value), arg: arg})
}

// isFlag tells -x from -1 and from a lone dash.
func isFlag(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && !isDigit(arg[1]) && arg[1] != '.'
}

// splitShell cuts text into words as a shell does, commas and quotes included;
// quotes that do not end reach to the end.
func splitShell(text string) []string {
	var out []string
	var word strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '"' || c == '\'':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\' || c == ',' || c == ';':
			if open {
				out = append(out, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out
}
