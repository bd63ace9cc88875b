package object

import "regexp"

var (
	secretKind = regexp.MustCompile(`"kind"\s*:\s*"Secret"`)
	secretData = regexp.MustCompile(`"(?:data|stringData)"\s*:\s*\{`)
)

// manifestSpans gives the values of a Secret that stands in a text as JSON, as
// jsonnet writes an object that is added to the text of an error. Their names need
// not say that they are secret. A text that was cut short may have lost the kind,
// which stands behind the data.
func manifestSpans(text string) []span {
	var out []span
	isSecret := secretKind.MatchString(text)
	for _, m := range secretData.FindAllStringIndex(text, -1) {
		if values, whole := valueSpans(text, m[1]); isSecret || !whole {
			out = append(out, values...)
		}
	}
	return out
}

// valueSpans gives the texts in the JSON object that is open at i, keys left out,
// and says whether it comes to an end.
func valueSpans(text string, i int) (out []span, whole bool) {
	for depth := 1; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return out, true
			}
		case '"':
			end := min(quoteEnd(text, i+1, '"'), len(text))
			if value := text[i+1 : end]; value != "" && value != Mask && !isKey(text, end+1) {
				out = append(out, span{i + 1, end})
			}
			i = end
		}
	}
	return out, false
}

// isKey says whether what ends at i is followed by a colon.
func isKey(text string, i int) bool {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
		i++
	}
	return i < len(text) && text[i] == ':'
}
