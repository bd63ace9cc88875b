package clientparam

import "math"

// A Verdict says which way a change goes.
type Verdict int

// The verdicts.
const (
	Neutral Verdict = iota // nothing that the documentation warns of, or not known
	Better
	Worse
)

// A Judgement is what a change means by the parameter's documentation.
type Judgement struct {
	Verdict Verdict
	Danger  Danger // the one that makes it worse
	// Factor is how many times larger or smaller the value becomes, counted from
	// what held before (the default where nothing was set); 0 where that cannot
	// be said, and always 1 or more otherwise.
	Factor float64
}

// fastestUnwarned is the wait in seconds below which a reconnect or backoff
// parameter without documented default is taken to be aggressive: gRPC, NATS,
// RabbitMQ, Cassandra and Temporal all start at 1 s or more.
const fastestUnwarned = 1.0

// Judge weighs a change. What is set after counts against what held before and,
// where that is known, against the default: a value that moves but stays on the
// safe side of the default is not worse.
func (c Change) Judge() Judgement {
	if c.Hidden {
		return Judgement{}
	}
	def := c.Default()
	was, is := c.Before, c.After
	if !c.Set[0] {
		was = def
	}
	if !c.Set[1] {
		is = def
		if is.Kind == Unknown {
			if c.Has(Removed) {
				return Judgement{Verdict: Worse, Danger: Removed}
			}
			return Judgement{}
		}
	}
	if was.Kind == Unknown {
		return c.judgeAlone(is)
	}
	if was.Same(is) {
		return Judgement{}
	}
	j := c.direction(was, is)
	safe := def.Comparable(is) && c.direction(def, is).Verdict != Worse || def.Kind == Unlimited && def.Text != "none" && j.Danger == TooLarge
	if j.Verdict == Worse && c.Set[1] && safe {
		// Worse than before, but not than the default.
		j.Verdict, j.Danger = Neutral, ""
	}
	return j
}

// judgeAlone weighs a value of which nothing is known to compare it with.
func (c Change) judgeAlone(is Value) Judgement {
	switch c.Category {
	case Reconnect, Backoff:
		if is.Kind == Duration && is.Number > 0 && is.Number < fastestUnwarned && c.Has(TooSmall) {
			return Judgement{Verdict: Worse, Danger: TooSmall}
		}
	case LoadBalancing:
		if is.Kind == Word && c.Has(Changed) {
			return Judgement{Verdict: Worse, Danger: Changed}
		}
	}
	return Judgement{}
}

func (c Change) direction(was, is Value) Judgement {
	was, is = c.offIsUnlimited(was), c.offIsUnlimited(is)
	worse := func(d Danger, factor float64) Judgement {
		if c.Has(d) {
			return Judgement{Worse, d, factor}
		}
		return Judgement{Factor: factor}
	}
	better := func(j Judgement, opposite Danger) Judgement {
		if j.Verdict == Neutral && c.Has(opposite) {
			j.Verdict = Better
		}
		return j
	}
	switch {
	case was.Comparable(is):
		if is.Number < was.Number {
			return better(worse(TooSmall, ratio(was.Number, is.Number)), TooLarge)
		}
		return better(worse(TooLarge, ratio(is.Number, was.Number)), TooSmall)
	case was.Kind == Unlimited && (is.Kind == Duration || is.Kind == Number):
		return better(worse(TooSmall, 0), TooLarge)
	case is.Kind == Unlimited && (was.Kind == Duration || was.Kind == Number):
		if j := worse(TooLarge, 0); j.Verdict == Worse {
			return j
		}
		return better(worse(Removed, 0), TooSmall)
	case was.Kind == Bool && is.Kind == Bool:
		if is.Number > was.Number {
			return better(worse(Enabled, 0), Disabled)
		}
		return better(worse(Disabled, 0), Enabled)
	}
	return worse(Changed, 0)
}

// offIsUnlimited reads 0 as no limit where it means that: a limit of 0 seconds
// is off, a documented wait of 0 seconds is none. Of an undocumented one nobody
// knows.
func (c Change) offIsUnlimited(v Value) Value {
	if v.Kind == Duration && v.Number == 0 {
		if c.Parameter == nil {
			return Value{Kind: Unlimited, Text: v.Text}
		}
		switch c.Category {
		case ConnectTimeout, RequestTimeout, Keepalive, Pool, Drain, Refresh, Lease:
			return Value{Kind: Unlimited, Text: v.Text}
		}
	}
	return v
}

// ratio gives how many times a is b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return math.Max(a/b, 1)
}
