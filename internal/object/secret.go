package object

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// Mask is what stands in every output where a secret was. It is not valid
// base64, so a masked Secret that is applied by mistake is refused by the API
// server instead of stored.
const Mask = "***"

// Unsettled stands in an object for a value that is another one each time the same
// files are rendered, or for the part of a text that is. It is the same words on
// both sides of a change, so it is never a difference.
const Unsettled = "(differs on every rendering)"

// Unsettled says whether v is a text with such a value in it.
func (v Value) Unsettled() bool {
	return v.Type() == String && strings.Contains(v.Text(), Unsettled)
}

// HoldsUnsettled says whether there is such a text anywhere in v.
func (v Value) HoldsUnsettled() bool {
	switch x := v.raw.(type) {
	case *mapping:
		for _, p := range x.pairs {
			if (Value{p.value}).HoldsUnsettled() {
				return true
			}
		}
	case []any:
		for _, item := range x {
			if (Value{item}).HoldsUnsettled() {
				return true
			}
		}
	case string:
		return holdsUnsettled(x)
	case *Masked:
		return v.Unsettled()
	}
	return false
}

// holdsUnsettled looks for the words in a text. Nearly all texts are shorter, and
// whole sets are gone through.
func holdsUnsettled(s string) bool {
	return len(s) >= len(Unsettled) && strings.Contains(s, Unsettled)
}

// A Masked is a text of which all or a part is secret. It can be compared with
// another one of the same run, and shown without the secret; what it hides is
// not kept.
type Masked struct {
	Shown string // the text with each secret part replaced by Mask
	parts []maskedPart
}

// A maskedPart is one secret part: where its Mask stands in Shown, and its hash.
type maskedPart struct {
	at  int
	sum [sha256.Size]byte
}

// Same says whether two masked texts are the same, what they hide included.
func (m *Masked) Same(o *Masked) bool {
	return m.Shown == o.Shown && slices.Equal(m.parts, o.parts)
}

// Whole says whether nothing but a secret is in the text.
func (m *Masked) Whole() bool { return m.Shown == Mask && len(m.parts) == 1 }

// Spell gives the text with what name makes of each secret part in its place.
// Parts that hide the same have the same key, in this run and in no other.
func (m *Masked) Spell(name func(key [sha256.Size]byte) string) string {
	var b strings.Builder
	from := 0
	for _, p := range m.parts {
		b.WriteString(m.Shown[from:p.at])
		b.WriteString(name(p.sum))
		from = p.at + len(Mask)
	}
	b.WriteString(m.Shown[from:])
	return b.String()
}

// A mark is Mask with a fingerprint: markHead, 16 hex digits, markTail. It is one
// plain word to the readers of all common formats, which Mask is not.
const (
	markHead   = "prdiffmask"
	markTail   = "x"
	markDigits = 16
)

// Marked gives the text that v holds with a word in the place of each secret part
// that differs where the secrets differ: for comparing the lines or the structure
// inside a text. The words are others in each run: Unmark turns them into Mask
// before anything is shown.
func (v Value) Marked() string {
	m := v.Masked()
	if m == nil {
		return v.Text()
	}
	return m.Spell(func(sum [sha256.Size]byte) string {
		return markHead + hex.EncodeToString(sum[:markDigits/2]) + markTail
	})
}

// Unmark replaces the words that Marked puts in by Mask.
func Unmark(text string) string {
	const length = len(markHead) + markDigits + len(markTail)
	var b strings.Builder
	for {
		i := strings.Index(text, markHead)
		if i < 0 {
			break
		}
		if end := i + length; end <= len(text) && isHex(text[i+len(markHead):end-len(markTail)]) && strings.HasSuffix(text[:end], markTail) {
			b.WriteString(text[:i] + Mask)
			text = text[end:]
			continue
		}
		b.WriteString(text[:i+len(markHead)])
		text = text[i+len(markHead):]
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// MaskText replaces what is secret in a text by Mask: for error texts, and lines
// of files that never became an object.
func MaskText(text string) string {
	if m := maskSpans(text, manifestSpans(text)); m != nil {
		text = m.Shown
	}
	if m := maskSpans(text, secretSpans(text, anyText)); m != nil {
		text = m.Shown
	}
	if m := maskSpans(text, proseSpans(text)); m != nil {
		text = m.Shown
	}
	return text
}

// run holds the key of the hashes of one run, so that a hash that would leak says
// nothing about the secret behind it.
var run struct {
	once sync.Once
	key  []byte
}

// RunKey is what the processes of one run share, so that secrets which they mask
// can be compared. It is never written anywhere.
func RunKey() []byte {
	run.once.Do(func() {
		run.key = make([]byte, 32)
		rand.Read(run.key) // never fails since Go 1.24
	})
	return run.key
}

// JoinRun makes the run of another process that of this one. It comes before the
// first object; afterwards it has no effect, and the answer is no.
func JoinRun(key []byte) bool {
	run.once.Do(func() { run.key = bytes.Clone(key) })
	return bytes.Equal(run.key, key)
}

func hash(secret string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, RunKey())
	mac.Write([]byte(secret))
	mac.Sum(sum[:0])
	return sum
}

// maskWhole masks all of a text.
func maskWhole(secret string) *Masked {
	return &Masked{Shown: Mask, parts: []maskedPart{{0, hash(secret)}}}
}

// maskSettled masks all of a text but the words of Unsettled, which hide nothing.
func maskSettled(secret string) any {
	if !strings.Contains(secret, Unsettled) {
		return maskWhole(secret)
	}
	var spans []span
	from := 0
	for part := range strings.SplitSeq(secret, Unsettled) {
		if part != "" {
			spans = append(spans, span{from, from + len(part)})
		}
		from += len(part) + len(Unsettled)
	}
	if len(spans) == 0 {
		return secret
	}
	return maskSpans(secret, spans)
}

// A span is a part of a text, from its first byte to the one behind it.
type span struct{ start, end int }

// maskSpans masks parts of a text, nil when there are none. Spans may overlap and
// come in any order.
func maskSpans(text string, spans []span) *Masked {
	if len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	m := &Masked{}
	var b strings.Builder
	from := 0
	for i := 0; i < len(spans); {
		s := spans[i]
		for i++; i < len(spans) && spans[i].start <= s.end; i++ {
			s.end = max(s.end, spans[i].end)
		}
		b.WriteString(text[from:s.start])
		m.parts = append(m.parts, maskedPart{b.Len(), hash(text[s.start:s.end])})
		b.WriteString(Mask)
		from = s.end
	}
	b.WriteString(text[from:])
	m.Shown = b.String()
	return m
}
