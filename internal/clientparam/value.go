package clientparam

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A Kind is what a Value turned out to be.
type Kind int

// The kinds.
const (
	Unknown   Kind = iota // nothing, or not known
	Duration              // Number is in seconds
	Number                // without a time unit
	Bool                  // Number is 0 or 1
	Word                  // any other text
	Unlimited             // -1, none, INT_MAX: off, or without limit
)

// A Value is a parameter's value by meaning.
type Value struct {
	Kind   Kind
	Number float64
	Text   string // as it was written, without quotes
}

// ParseValue reads a value as the parameter's unit says. 1000ms, 1s, 1000 with
// unit ms, "0.001e3s" and PT1S are one value. It never fails: what is no number
// and no time is a Word.
func ParseValue(text, unit string) Value {
	text = strings.TrimSpace(text)
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = strings.TrimSpace(text[1 : n-1])
	}
	v := Value{Text: text}
	lower := strings.ToLower(text)
	switch lower {
	case "":
		return v
	case "none", "null", "nil", "-1", "infinity", "inf", "unlimited", "never", "no_limits", "no_retries", "int_max",
		"2147483647", "4294967295", "9223372036854775807", "18446744073709551615":
		v.Kind = Unlimited
		return v
	case "true", "on", "yes", "enabled", "enable":
		v.Kind, v.Number = Bool, 1
		return v
	case "false", "off", "no", "disabled", "disable":
		v.Kind = Bool
		return v
	}
	if n, err := strconv.ParseFloat(strings.ReplaceAll(lower, "_", ""), 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && plainNumber(lower) {
		v.Kind, v.Number = Number, n
		switch scale, ok := units[unit]; {
		case unit == "flag":
			v.Kind = Bool
		case ok:
			v.Kind, v.Number = Duration, n*scale
		case n == 0 && unit == "duration":
			v.Kind = Duration
		}
		return v
	}
	if n, ok := parseDuration(lower); ok {
		v.Kind, v.Number = Duration, n
		return v
	}
	if digits, ok := strings.CutSuffix(lower, "%"); ok {
		if n, err := strconv.ParseFloat(digits, 64); err == nil && plainNumber(digits) {
			v.Kind, v.Number = Number, n
			return v
		}
	}
	v.Kind = Word
	return v
}

// plainNumber refuses what ParseFloat takes but no manifest means: 0x1p4, Inf.
func plainNumber(s string) bool {
	return strings.Trim(s, "0123456789.+-e_") == "" && strings.ContainsAny(s, "0123456789")
}

// units are the time units of parameters and of texts, in seconds.
var units = map[string]float64{
	"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800,
	"msec": 1e-3, "msecs": 1e-3, "millis": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
	"sec": 1, "secs": 1, "second": 1, "seconds": 1, "mins": 60, "minute": 60, "minutes": 60,
	"hour": 3600, "hours": 3600, "day": 86400, "days": 86400,
}

// parseDuration reads 1h2m, 0.3s, 10 seconds, PT1M30S, all in lower case.
func parseDuration(s string) (seconds float64, ok bool) {
	if rest, iso := strings.CutPrefix(s, "pt"); iso {
		s = rest
	}
	for s != "" {
		i := 0
		for i < len(s) && (isDigit(s[i]) || s[i] == '.') {
			i++
		}
		n, err := strconv.ParseFloat(s[:i], 64)
		if err != nil {
			return 0, false
		}
		s = strings.TrimLeft(s[i:], " ")
		i = 0
		for i < len(s) && !isDigit(s[i]) && s[i] != ' ' && s[i] != '.' {
			i++
		}
		scale, known := units[s[:i]]
		if !known {
			return 0, false
		}
		seconds += n * scale
		s = strings.TrimLeft(s[i:], " ")
		ok = true
	}
	return seconds, ok
}

// unitOf reads the unit of a bare number from the last word of the name it
// belongs to, "" when it names none.
func unitOf(name []string) string {
	if len(name) == 0 {
		return ""
	}
	switch last := name[len(name)-1]; last {
	case "ms", "msec", "msecs", "millis", "milliseconds", "millisecond":
		return "ms"
	case "s", "sec", "secs", "second", "seconds":
		return "s"
	case "minutes", "mins":
		return "min"
	}
	return ""
}

// Same says whether two values mean the same.
func (v Value) Same(o Value) bool {
	if v.Kind != o.Kind {
		return false
	}
	switch v.Kind {
	case Duration, Number, Bool:
		return v.Number == o.Number || math.Abs(v.Number-o.Number) <= 1e-9*math.Max(math.Abs(v.Number), math.Abs(o.Number))
	case Word:
		return strings.EqualFold(v.Text, o.Text)
	}
	return true
}

// Comparable says whether both are amounts of the same kind.
func (v Value) Comparable(o Value) bool {
	return v.Kind == o.Kind && (v.Kind == Duration || v.Kind == Number)
}

// Duration gives a time; ok is false when v is none, or longer than time.Duration holds.
func (v Value) Duration() (d time.Duration, ok bool) {
	if v.Kind != Duration || v.Number < 0 || v.Number > math.MaxInt64/1e9 {
		return 0, false
	}
	return time.Duration(math.Round(v.Number * 1e9)), true
}

// String shows v as readers compare best: times with their unit, everything else
// as it was written.
func (v Value) String() string {
	if v.Kind == Duration {
		return Seconds(v.Number)
	}
	if v.Text == "" {
		return `""`
	}
	const most = 60 // characters; longer texts are cut in messages
	if r := []rune(v.Text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return v.Text
}

// Seconds writes a time of that many seconds with the unit that needs the fewest
// digits: "300 ms", "1.5 s", "2 min", "1 h".
func Seconds(s float64) string {
	unit, scale := "s", 1.0
	switch {
	case s == 0:
	case math.Abs(s) < 1e-3:
		unit, scale = "µs", 1e-6
	case math.Abs(s) < 1:
		unit, scale = "ms", 1e-3
	case s >= 86400 && math.Mod(s, 86400) == 0:
		unit, scale = "d", 86400
	case s >= 3600 && math.Mod(s, 3600) == 0:
		unit, scale = "h", 3600
	case s >= 120 && math.Mod(s, 60) == 0:
		unit, scale = "min", 60
	}
	return strconv.FormatFloat(math.Round(s/scale*1e4)/1e4, 'f', -1, 64) + " " + unit
}
