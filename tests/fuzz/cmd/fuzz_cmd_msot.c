/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of an MSOT scan, after a NUL byte its records: told, converted, made into images. */
#include "sound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *rest;

	make_fixtures();
	command_enter();
	rest = put_part("a.msot", data, end);
	put_file("a.bin", rest, (size_t)(end - rest));
	for (size_t i = 0; i < sizeof sound_lines / sizeof *sound_lines; i++) try_recording("a.msot", i);
	command_back();
	return 0;
}
