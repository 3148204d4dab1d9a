/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 (FIPS 180-4), of what lies in memory. */
#include "sha256.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 64, BLOCK = 64 };

struct constants {
	uint32_t first[8], round[ROUNDS];
};

/* The first 32 bits behind the point of a root. */
static uint32_t fraction(double root)
{
	return (uint32_t)((root - floor(root)) * 0x1p32);
}

/* Roots of the first primes: square roots of 8 to begin with, cube roots of 64 for the rounds (4.2.2, 5.3.3). */
static struct constants make_constants(void)
{
	struct constants c;

	for (int n = 0, candidate = 2; n < ROUNDS; candidate++) {
		int divisor = 2;

		while (candidate % divisor) divisor++;
		if (divisor < candidate) continue;
		if (n < 8) c.first[n] = fraction(sqrt(candidate));
		c.round[n++] = fraction(cbrt(candidate));
	}
	return c;
}

static uint32_t turn(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t word_at(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* 6.2.2 */
static void add_block(uint32_t h[8], const struct constants *c, const unsigned char block[BLOCK])
{
	uint32_t w[ROUNDS], s[8];

	for (int i = 0; i < 16; i++) w[i] = word_at(block + 4 * i);
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
		       (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
	memcpy(s, h, sizeof s);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice +
		               c->round[i] + w[i];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;

		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < 8; i++) h[i] += s[i];
}

void iso_sha256(unsigned char hash[32], const void *bytes, size_t n)
{
	const struct constants c = make_constants();
	const unsigned char *b = bytes;
	unsigned char end[2 * BLOCK] = { 0 };
	size_t rest = n % BLOCK, last = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	uint32_t h[8];

	memcpy(h, c.first, sizeof h);
	for (size_t i = 0; i + BLOCK <= n; i += BLOCK) add_block(h, &c, b + i);
	if (rest) memcpy(end, b + n - rest, rest);
	end[rest] = 0x80;
	for (int i = 0; i < 8; i++) end[last - 1 - (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
	for (size_t i = 0; i < last; i += BLOCK) add_block(h, &c, end + i);
	for (int i = 0; i < 32; i++) hash[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
