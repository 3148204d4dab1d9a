/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that mpirun or srun started together: whether there are several, and who speaks for them. */
#include "cmd.h"

#include "core/comm.h"
#include "file/out.h"

#include <stdlib.h>
#include <time.h>

/* The communicator is the process's, as the variables are by which its launcher speaks. */
static struct iso_comm *comm;

/* ---- what the launcher says ---- */

/* The first of these variables that is a number; -1: none is. */
static int number(const char *const *names)
{
	for (; *names; names++) {
		const char *text = getenv(*names);
		char *end = NULL;
		long v = text ? strtol(text, &end, 10) : -1;

		if (text && end != text && !*end && v >= 0 && v < 1 << 24) return (int)v;
	}
	return -1;
}

/* Of how many processes this is one; 0: of several, but it is not said of how many. Slurm sets SLURM_NTASKS also
   where it starts no tasks: it counts beside a variable of the process manager that MPI uses. */
static int processes(void)
{
	static const char *const size[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL };
	static const char *const managed[] = { "PMIX_RANK", "PMI_RANK", NULL };
	static const char *const tasks[] = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL };
	int n = number(size);

	if (n > 0) return n;
	if (number(managed) < 0) return 1;
	n = number(tasks);
	return n > 0 ? n : 0;
}

static int process(void)
{
	static const char *const rank[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
		                            NULL };
	int n = number(rank);

	return n > 0 ? n : 0;
}

/* The first of its machine. */
static bool is_first_here(void)
{
	static const char *const local[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID",
		                             NULL };

	return number(local) < 0 ? process() == 0 : number(local) == 0;
}

/* ---- before ---- */

bool ranks_idle(void)
{
	return processes() != 1 && process() > 0;
}

/* Of an mpirun of another MPI than that of libisotome_mpi.so, each process takes itself for the only one. */
static int check_size(void)
{
	int started = processes(), known = comm->size;

	if (started == 0 || known == started) return ISO_OK;
	ranks_close();
	return iso_fail(ISO_EDEVICE,
	                "started as one of %d processes, but MPI knows of %d: libisotome_mpi.so is of "
	                "another MPI than what started it",
	                started, known);
}

static int be_mute(void)
{
	iso_out_mute(true);
	return freopen("/dev/null", "w", stdout) ? ISO_OK : iso_fail_errno("/dev/null", "open");
}

int ranks_begin(void)
{
	char why[1024];
	int st;

	if (processes() == 1) return ISO_OK;
	if ((st = iso_comm_open(&comm, NULL))) {
		snprintf(why, sizeof why, "%s", iso_message());
		return iso_fail(st, "started as one of several processes, but %s", why);
	}
	if ((st = check_size())) return st;
	return comm->rank > 0 ? be_mute() : ISO_OK;
}

struct iso_comm *ranks_comm(void)
{
	return comm;
}

bool ranks_is_first(void)
{
	return !comm || comm->rank == 0;
}

/* ---- after ---- */

int ranks_end(int st, int *signal)
{
	double any = *signal;

	st = iso_comm_conclude(comm, st);
	bool cancelled =
		comm && comm->concluded ? comm->failed == ISO_ECANCEL : st == ISO_ECANCEL; /* on all alike */

	if (cancelled && iso_comm_greatest(comm, &any) == ISO_OK && st == ISO_ECANCEL) *signal = (int)any;
	return st;
}

/* After a conclusion all have the same to say; where there was none, each what it knows, but without MPI one of a
   machine. */
bool ranks_speaks(void)
{
	if (comm) return comm->rank == 0 || (comm->failed && !comm->agreed);
	return processes() == 1 || is_first_here();
}

/* A launcher ends all processes when one fails: the one that speaks needs time to. With MPI the close meets it; without,
   the others stay for half a second. */
void ranks_close(void)
{
	if (!comm && !ranks_speaks()) nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
	iso_comm_close(comm);
	comm = NULL;
}
