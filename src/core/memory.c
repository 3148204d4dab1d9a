/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the machine and of this process, from /proc. */
#include "ctx.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* MemAvailable counts the page cache that the system gives up, which the C library's own
   figures do not. */
int64_t iso_memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256];
	int64_t kib = 0, found = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1) found = kib * 1024;
	if (f) fclose(f);
	return found ? found : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Pages of the process: mapped, of these in memory, and of these shared or of files. */
struct pages {
	int64_t mapped, resident, shared;
};

static struct pages count_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	struct pages p = { 0 };

	if (f && fscanf(f, "%" SCNd64 " %" SCNd64 " %" SCNd64, &p.mapped, &p.resident, &p.shared) != 3)
		p = (struct pages){ 0 };
	if (f) fclose(f);
	return p;
}

int64_t iso_memory_resident(void)
{
	return count_pages().resident * sysconf(_SC_PAGESIZE);
}

int64_t iso_memory_own(void)
{
	struct pages p = count_pages();

	return (p.resident - p.shared) * sysconf(_SC_PAGESIZE);
}

int64_t iso_memory_mapped(void)
{
	return count_pages().mapped * sysconf(_SC_PAGESIZE);
}
