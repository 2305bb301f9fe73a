/* Makes calls on System V IPC, message queues and memfds, which a policy opens by name.
 *
 *     ipc_call CALL        the call on an object made for it, taken away again afterwards
 *     ipc_call -i CALL     the call alone, on an identifier that no object has: exit 0 when the kernel says so
 *
 *     ipc_call shmat_low   shmat with SHM_REMAP at the lowest address there is, below every program
 *
 * CALL: memfd_create, shmget, shmat, shmctl, semget, semop, semtimedop, semctl, msgget, msgsnd, msgrcv, msgctl,
 *       mq_open, mq_unlink */
#include "outcome.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

enum family { FAMILY_NONE, FAMILY_SHM, FAMILY_SEM, FAMILY_MSG, FAMILY_QUEUE };

struct letter {
	long type;
	char text[8];
};

static struct letter letter = {1, "hello"};
static char queue_name[64];

static long call_memfd_create(long id)
{
	(void)id;
	return syscall(SYS_memfd_create, "bailiff-test", 0);
}

static long call_id(long id)
{
	return id;
}

static long call_shmat(long id)
{
	/* Addresses have the top bit clear, so an address is never taken for an error. */
	return syscall(SYS_shmat, id, NULL, 0);
}

/* The lowest address that every vm.mmap_min_addr in use allows. */
static long call_shmat_low(long id)
{
	return syscall(SYS_shmat, id, 0x10000, SHM_REMAP);
}

static long call_shmctl(long id)
{
	struct shmid_ds status;
	return syscall(SYS_shmctl, id, IPC_STAT, &status);
}

static long call_semop(long id)
{
	struct sembuf up = {0, 1, 0};
	return syscall(SYS_semop, id, &up, 1);
}

static long call_semtimedop(long id)
{
	struct sembuf up = {0, 1, 0};
	return syscall(SYS_semtimedop, id, &up, 1, NULL);
}

static long call_semctl(long id)
{
	return syscall(SYS_semctl, id, 0, GETVAL, 0);
}

static long call_msgsnd(long id)
{
	return syscall(SYS_msgsnd, id, &letter, sizeof(letter.text), IPC_NOWAIT);
}

static long call_msgrcv(long id)
{
	return syscall(SYS_msgrcv, id, &letter, sizeof(letter.text), 0, IPC_NOWAIT);
}

static long call_msgctl(long id)
{
	struct msqid_ds status;
	return syscall(SYS_msgctl, id, IPC_STAT, &status);
}

static long call_mq_unlink(long id)
{
	(void)id;
	return syscall(SYS_mq_unlink, queue_name);
}

static const struct call_row {
	const char *name;
	enum family family;
	long (*perform)(long id);
} call_rows[] = {
	{"memfd_create", FAMILY_NONE, call_memfd_create},
	{"shmget", FAMILY_SHM, call_id},
	{"shmat", FAMILY_SHM, call_shmat},
	{"shmat_low", FAMILY_SHM, call_shmat_low},
	{"shmctl", FAMILY_SHM, call_shmctl},
	{"semget", FAMILY_SEM, call_id},
	{"semop", FAMILY_SEM, call_semop},
	{"semtimedop", FAMILY_SEM, call_semtimedop},
	{"semctl", FAMILY_SEM, call_semctl},
	{"msgget", FAMILY_MSG, call_id},
	{"msgsnd", FAMILY_MSG, call_msgsnd},
	{"msgrcv", FAMILY_MSG, call_msgrcv},
	{"msgctl", FAMILY_MSG, call_msgctl},
	{"mq_open", FAMILY_QUEUE, call_id},
	{"mq_unlink", FAMILY_QUEUE, call_mq_unlink},
};

static long queue_with_letter(void)
{
	long id = syscall(SYS_msgget, IPC_PRIVATE, IPC_CREAT | 0600);

	return id < 0 || call_msgsnd(id) < 0 ? -1 : id;
}

static long object_make(enum family family)
{
	if (family == FAMILY_SHM)
		return syscall(SYS_shmget, IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	if (family == FAMILY_SEM)
		return syscall(SYS_semget, IPC_PRIVATE, 1, IPC_CREAT | 0600);
	if (family == FAMILY_MSG)
		return queue_with_letter();
	if (family == FAMILY_QUEUE)
		return syscall(SYS_mq_open, queue_name, O_RDWR | O_CREAT, 0600, NULL);
	return 0;
}

static void object_remove(enum family family, long id)
{
	if (family == FAMILY_SHM)
		syscall(SYS_shmctl, id, IPC_RMID, NULL);
	else if (family == FAMILY_SEM)
		syscall(SYS_semctl, id, 0, IPC_RMID, 0);
	else if (family == FAMILY_MSG)
		syscall(SYS_msgctl, id, IPC_RMID, NULL);
	else if (family == FAMILY_QUEUE)
		syscall(SYS_mq_unlink, queue_name);
}

static int row_perform(const struct call_row *row)
{
	long id, result;
	int code;

	id = object_make(row->family);
	result = id < 0 ? -1 : row->perform(id);
	code = outcome_report(row->name, result);
	if (id >= 0)
		object_remove(row->family, id);
	return code;
}

/* An identifier that is not there is EINVAL for System V IPC, a queue that is not there ENOENT. */
static int row_perform_absent(const struct call_row *row)
{
	long result = row->perform(0x7ffffffe);
	int absent = result < 0 && (errno == EINVAL || errno == ENOENT);

	outcome_report(row->name, result);
	return absent ? OUTCOME_OK : OUTCOME_REFUSED;
}

int main(int argc, char **argv)
{
	int absent = argc > 1 && strcmp(argv[1], "-i") == 0;

	if (argc - absent != 2)
		return outcome_usage("ipc_call [-i] CALL");
	snprintf(queue_name, sizeof(queue_name), "bailiff-test-%d", getpid());
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(call_rows[0]); i++)
		if (strcmp(call_rows[i].name, argv[argc - 1]) == 0)
			return absent ? row_perform_absent(&call_rows[i]) : row_perform(&call_rows[i]);
	return outcome_usage("ipc_call [-i] CALL");
}
