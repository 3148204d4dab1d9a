/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, by which the policy of a page names the script and the styles that may run in it. */
#ifndef ISO_SHA256_H
#define ISO_SHA256_H

#include <stddef.h>

void iso_sha256(unsigned char hash[32], const void *bytes, size_t n);

#endif
