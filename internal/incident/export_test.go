package incident

// Decode is what the first call of Embedded pays.
func Decode() *Library { return decode() }
