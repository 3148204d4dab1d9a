/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target on the files of a folder, where there is no libFuzzer. */
#include "fuzz.h"

#include <dirent.h>

static void replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat info;
	uint8_t *data;

	MUST(f && fstat(fileno(f), &info) == 0);
	data = malloc((size_t)info.st_size + 1);
	MUST(data);
	MUST(fread(data, 1, (size_t)info.st_size, f) == (size_t)info.st_size);
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
	free(data);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	char path[4096];
	int n = 0;

	if (!folder) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	for (struct dirent *e; (e = readdir(folder));)
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
			replay(path);
			n++;
		}
	closedir(folder);
	printf("%d files\n", n);
	return n > 0 ? 0 : 1;
}
