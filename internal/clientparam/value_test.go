package clientparam

import "testing"

func TestParseValue(t *testing.T) {
	tests := []struct {
		text, unit string
		kind       Kind
		number     float64
		shown      string
	}{
		{"1000ms", "duration", Duration, 1, "1 s"},
		{"1000", "ms", Duration, 1, "1 s"},
		{`"1s"`, "ms", Duration, 1, "1 s"},
		{"0.3s", "duration", Duration, 0.3, "300 ms"},
		{"1h2m3s", "duration", Duration, 3723, "3723 s"},
		{"PT1M30S", "duration", Duration, 90, "90 s"},
		{"10 seconds", "", Duration, 10, "10 s"},
		{"5 min", "", Duration, 300, "5 min"},
		{"2d", "", Duration, 172800, "2 d"},
		{"250us", "", Duration, 0.00025, "250 µs"},
		{"1_000", "ms", Duration, 1, "1 s"},
		{"30", "", Number, 30, "30"},
		{"30", "count", Number, 30, "30"},
		{"50%", "percent", Number, 50, "50%"},
		{"-1", "ms", Unlimited, 0, "-1"},
		{"2147483647", "count", Unlimited, 0, "2147483647"},
		{"infinity", "", Unlimited, 0, "infinity"},
		{"on", "flag", Bool, 1, "on"},
		{"0", "flag", Bool, 0, "0"},
		{"0", "duration", Duration, 0, "0 s"},
		{"round_robin", "name", Word, 0, "round_robin"},
		{"Inf", "ms", Unlimited, 0, "Inf"},
		{"0x1p4", "ms", Word, 0, "0x1p4"},
		{"1s2", "", Word, 0, "1s2"},
		{"1e999", "ms", Word, 0, "1e999"},
		{"", "ms", Unknown, 0, `""`},
	}
	for _, tt := range tests {
		v := ParseValue(tt.text, tt.unit)
		if v.Kind != tt.kind || v.Number-tt.number > 1e-12 || tt.number-v.Number > 1e-12 || v.String() != tt.shown {
			t.Errorf("ParseValue(%q, %q) = %v %v %q, want %v %v %q", tt.text, tt.unit, v.Kind, v.Number, v, tt.kind, tt.number, tt.shown)
		}
	}
}

func TestValuesThatMeanTheSame(t *testing.T) {
	same := [][2]Value{
		{ParseValue("1000ms", "duration"), ParseValue("1s", "duration")},
		{ParseValue("90", "s"), ParseValue("1m30s", "s")},
		{ParseValue("ROUND_ROBIN", "name"), ParseValue("round_robin", "name")},
		{ParseValue("true", "flag"), ParseValue("on", "flag")},
		{ParseValue("-1", "ms"), ParseValue("none", "ms")},
		{ParseValue("0.1", "s"), ParseValue("100ms", "s")},
	}
	for _, p := range same {
		if !p[0].Same(p[1]) {
			t.Errorf("%v and %v differ", p[0], p[1])
		}
	}
	if ParseValue("5", "").Same(ParseValue("5", "s")) {
		t.Error("5 without unit and 5 s are the same")
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"MAX_IDLE_CONNS":             "max idle conns",
		"maxIdleConnsPerHost":        "max idle conns per host",
		"reconnect.backoff.max.ms":   "reconnect backoff max ms",
		"HTTPTimeout":                "http timeout",
		"heartbeatFrequencyMS":       "heartbeat frequency ms",
		"http2MaxRequests":           "http2 max requests",
		"consecutive5xxErrors":       "consecutive5xx errors",
		"S3_BUCKET":                  "s3 bucket",
		"retry.linkerd.io/http":      "retry linkerd io http",
		"":                           "",
		"--":                         "",
		"grpc.initial_reconnect_µs_": "grpc initial reconnect s",
	} {
		got := ""
		for i, w := range words(name) {
			if i > 0 {
				got += " "
			}
			got += w
		}
		if got != want {
			t.Errorf("words(%q) = %q, want %q", name, got, want)
		}
	}
}
