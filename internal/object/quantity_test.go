package object

import (
	"math"
	"testing"
)

func TestQuantity(t *testing.T) {
	tests := []struct {
		text          string
		millis, bytes int64
	}{
		// https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
		{"0.1", 100, 1}, {"100m", 100, 1}, {"1", 1000, 1}, {"0.5", 500, 1}, {"1500m", 1500, 2},
		{"128974848", 128974848000, 128974848}, {"129e6", 129000000000, 129000000}, {"129M", 129000000000, 129000000}, {"128974848000m", 128974848000, 128974848}, {"123Mi", 128974848000, 128974848},
		{"400m", 400, 1},
		// Every suffix.
		{"1n", 1, 1}, {"1u", 1, 1}, {"1k", 1e6, 1e3}, {"1G", 1e12, 1e9}, {"1T", 1e15, 1e12}, {"1P", 1e18, 1e15}, {"1E", math.MaxInt64, 1e18},
		{"1Ki", 1024000, 1024}, {"1Gi", 1 << 30 * 1000, 1 << 30}, {"1Ti", 1 << 40 * 1000, 1 << 40}, {"1Pi", 1 << 50 * 1000, 1 << 50}, {"1Ei", math.MaxInt64, 1 << 60},
		{"1.5Gi", 3 << 29 * 1000, 3 << 29}, {"1e3", 1e6, 1e3}, {"1E3", 1e6, 1e3}, {"1E-3", 1, 1}, {"12e-1", 1200, 2}, {"+5", 5000, 5}, {"-5m", -5, -1}, {".5", 500, 1}, {"5.", 5000, 5}, {"0", 0, 0}, {"16Ei", math.MaxInt64, math.MaxInt64}, {"-16Ei", math.MinInt64, math.MinInt64},
	}
	for _, tt := range tests {
		q, err := ParseQuantity(tt.text)
		if err != nil {
			t.Errorf("ParseQuantity(%q): %v", tt.text, err)
			continue
		}
		if got := q.Millis(); got != tt.millis {
			t.Errorf("ParseQuantity(%q).Millis() = %d, want %d", tt.text, got, tt.millis)
		}
		if got := q.Bytes(); got != tt.bytes {
			t.Errorf("ParseQuantity(%q).Bytes() = %d, want %d", tt.text, got, tt.bytes)
		}
	}
	for _, text := range []string{"", "m", "Gi", "1gi", "1K", "1ki", "1mi", "1 Gi", "1Gi ", "1ee3", "1e", "e3", "1e3k", "1e1000", "1.5.5", "0x10", "1_000", "1/2", "∞", "--1", "1kM", "1e3.5", "1Mim", "1e+", "."} {
		if q, err := ParseQuantity(text); err == nil {
			t.Errorf("ParseQuantity(%q) = %d bytes, want an error", text, q.Bytes())
		}
	}
}

func TestQuantityComparesExactly(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1000m", "1", 0}, {"1Gi", "1024Mi", 0}, {"1G", "1Gi", -1}, {"0.1", "100m", 0}, {"1e3", "1k", 0}, {"2", "1999m", 1}, {"9007199254740993", "9007199254740992", 1}, {"-1", "0", -1}, {"0", "-0", 0}, {"1.0", "1", 0},
	}
	for _, tt := range tests {
		a, err := ParseQuantity(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseQuantity(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Cmp(b); got != tt.want {
			t.Errorf("%s Cmp %s = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestQuantityOfValue(t *testing.T) {
	half, err := Of(0.5).Quantity()
	if err != nil || half.Millis() != 500 {
		t.Errorf("Of(0.5).Quantity() = %d, %v", half.Millis(), err)
	}
	two, err := Of(2).Quantity()
	if err != nil || two.Add(half).Mul(4).Bytes() != 10 {
		t.Errorf("(2 + 0.5) x 4 = %d, %v", two.Add(half).Mul(4).Bytes(), err)
	}
	if got := half.Ratio(two); got != 0.25 {
		t.Errorf("0.5 / 2 = %v", got)
	}
	if got := (Quantity{}).Ratio(Quantity{}); got != 0 {
		t.Errorf("0 / 0 = %v", got)
	}
	for _, v := range []Value{{}, Of(true), Of("x"), Of([]any{1})} {
		if _, err := v.Quantity(); err == nil {
			t.Errorf("%v is a quantity", v)
		}
	}
}

func TestIntOrString(t *testing.T) {
	tests := []struct {
		raw      any
		total    int64
		up, down int64
		ok       bool
	}{
		{"25%", 10, 3, 2, true}, {"10%", 140, 14, 14, true}, {3, 10, 3, 3, true}, {"3", 10, 3, 3, true}, {"0%", 7, 0, 0, true}, {"100%", 7, 7, 7, true}, {"50%", 7, 4, 3, true}, {"150%", 3, 5, 4, true},
		{"x%", 1, 0, 0, false}, {"%", 1, 0, 0, false}, {"", 1, 0, 0, false}, {true, 1, 0, 0, false}, {"1.5%", 1, 0, 0, false},
	}
	for _, tt := range tests {
		n, ok := Of(tt.raw).IntOrString()
		if ok != tt.ok {
			t.Errorf("%v: ok = %v, want %v", tt.raw, ok, tt.ok)
			continue
		}
		if ok && (n.Of(tt.total, true) != tt.up || n.Of(tt.total, false) != tt.down) {
			t.Errorf("%v of %d = %d up, %d down, want %d and %d", tt.raw, tt.total, n.Of(tt.total, true), n.Of(tt.total, false), tt.up, tt.down)
		}
	}
}

// A sign keeps a quantity from the short way by which most are read.
func TestQuantityIsTheSameOnBothWays(t *testing.T) {
	var texts []string
	for _, number := range []string{"0", "1", "7", "250", "999999999", "1000000000"} {
		for _, suffix := range []string{"", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti"} {
			texts = append(texts, number+suffix)
		}
	}
	read := func(s string) Quantity {
		q, err := ParseQuantity(s)
		if err != nil {
			t.Fatalf("ParseQuantity(%q): %v", s, err)
		}
		return q
	}
	for _, text := range texts {
		q, exact := read(text), read("+"+text)
		if q.Cmp(exact) != 0 || q.Millis() != exact.Millis() || q.Bytes() != exact.Bytes() || q.IsZero() != exact.IsZero() {
			t.Errorf("%s: %d millis, %d bytes; want %d, %d", text, q.Millis(), q.Bytes(), exact.Millis(), exact.Bytes())
		}
		for _, other := range texts {
			o, exactOther := read(other), read("+"+other)
			if q.Cmp(o) != exact.Cmp(exactOther) || q.Add(o).Cmp(exact.Add(exactOther)) != 0 || q.Ratio(o) != exact.Ratio(exactOther) {
				t.Errorf("%s and %s do not compare or add up as exactly", text, other)
			}
		}
	}
}
