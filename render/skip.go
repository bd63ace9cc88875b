package render

// A SkipError is Render's answer for a unit that needs something which is not in
// the repository, such as a library that was never vendored, or that turns out to
// be no unit at all. When that is so on every side that has the unit, it is
// skipped; when it is so on one of two sides, the change is at fault and the unit
// has failed.
type SkipError struct {
	Reason string
	// Mistake says that the repository itself is at fault, as with a file that is
	// named and not there: a change that brings such a unit has failed too.
	Mistake bool
}

// Error gives the reason, which says what is missing and how to get it.
func (e *SkipError) Error() string { return e.Reason }
