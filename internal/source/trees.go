package source

// Trees makes a source of two trees that are there already, such as ones that
// NewTree made. Closing it closes them.
func Trees(base, head *Tree) Source { return &pair{base, head} }
