// Random numbers from other numbers.

package choice

import "math/bits"

// Scramble is the finalizer of a well-known generator, splitmix64: every bit of its
// result depends on every bit of its argument.
func Scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Below maps random bits to a number below a limit.
func Below(random, limit uint64) uint64 {
	high, _ := bits.Mul64(random, limit)
	return high
}

// Chance says whether something happens whose probability is given in parts of 65,536.
func Chance(random uint64, parts uint32) bool { return random&0xffff < uint64(parts) }
