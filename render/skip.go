package render

// A SkipError is Render's answer for a unit that needs something which is not in
// the repository, such as a library that was never vendored. When both sides
// lack it the unit is skipped; when only one does, the change is at fault and the
// unit has failed.
type SkipError struct{ Reason string }

// Error gives the reason, which says what is missing and how to get it.
func (e *SkipError) Error() string { return e.Reason }
