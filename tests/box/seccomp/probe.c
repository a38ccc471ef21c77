/* Makes system calls under a filter, each in a child of its own, and says what became of it.
 *
 *   probe FILTER exec PROGRAM [ARGUMENT...]     becomes the program, under the filter
 *   probe FILTER calls                          reads calls, one a line: ABI NUMBER A0 A1 A2 A3 A4 A5
 *       and answers each with one line: `result N`, `signal N`, `exited N`, `blocked`
 *
 * ABI is 64, or 32 for the i386 entry of x86-64. Nothing after the filter needs a system call to be allowed: the child
 * leaves its result in shared memory and spins until it is killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Owns nothing on any machine; `nobody` may, and then fchmod(0, 0) is allowed, and done. */
#define NO_USER 389999
#define PATIENCE_NS 300000000L
#define NAP_NS 20000L

struct outcome {
    volatile int done;
    volatile long result;
};

static struct sock_filter program[4096];
static struct sock_fprog head = {.filter = program};

static void die(const char *what) {
    perror(what);
    exit(2);
}

static void install(void) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die("no_new_privs");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &head, 0, 0)) die("seccomp");
}

/* Inline: after vfork the child must not return from a function on the stack that it shares. */
static inline __attribute__((always_inline)) long enter(int abi, long number, const long *a) {
#if defined(__x86_64__)
    if (abi == 32) {
        int small;
        __asm__ volatile("int $0x80" : "=a"(small) : "a"((int)number), "b"(a[0]), "c"(a[1]), "d"(a[2]) : "memory");
        return small;
    }
    long result;
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    (void)abi;
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "no filter for this machine"
#endif
}

static void call(struct outcome *outcome, int abi, long number, const long *arguments) {
    /* A group of its own, so that whatever it forks dies with it; no capability and no uid of weight, so that a hole
     * in the filter under test does no harm to the machine. */
    setpgid(0, 0);
    const uid_t no = NO_USER;
    if (getuid() == 0 && (setgroups(0, NULL) || setresgid(no, no, no) || setresuid(no, no, no))) die("drop");
    install();
    long result = enter(abi, number, arguments);
    outcome->result = result;
    __sync_synchronize();
    outcome->done = 1;
    if (abi == 64 && number == SYS_msgget && result >= 0) syscall(SYS_msgctl, result, IPC_RMID, 0);
    for (;;) __asm__ volatile("");
}

static void watch(struct outcome *outcome, pid_t child) {
    const struct timespec nap = {.tv_nsec = NAP_NS};
    int status = 0, ended = 0;
    for (long waited = 0; !outcome->done && !ended && waited < PATIENCE_NS; waited += NAP_NS) {
        ended = waitpid(child, &status, WNOHANG) == child;
        if (!ended) nanosleep(&nap, NULL);
    }
    /* The group outlives its leader if it forked. */
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) continue;
    if (outcome->done)
        printf("result %ld\n", outcome->result);
    else if (!ended)
        printf("blocked\n");
    else if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("exited %d\n", WEXITSTATUS(status));
}

int main(int count, char **words) {
    if (count < 3) return 2;
    int fd = open(words[1], O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, program, sizeof program);
    if (size <= 0 || size % sizeof *program) die("filter");
    head.len = size / sizeof *program;
    close(fd);
    if (!strcmp(words[2], "exec")) {
        install();
        execvp(words[3], words + 3);
        die(words[3]);
    }
    struct outcome *outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1)) die("prepare");
    /* Not /dev/null: every call is made on it, those that change its owner and mode included. */
    int nothing = memfd_create("nothing", MFD_CLOEXEC);
    if (nothing < 0) die("nothing");
    int abi;
    long number, a[6];
    FILE *calls = fdopen(dup(0), "r");
    while (fscanf(calls, "%d %li %li %li %li %li %li %li", &abi, &number, a, a + 1, a + 2, a + 3, a + 4, a + 5) == 8) {
        fflush(stdout);
        outcome->done = 0;
        pid_t child = fork();
        if (child < 0) die("fork");
        if (child == 0) {
            dup2(nothing, 0);
            call(outcome, abi, number, a);
        }
        watch(outcome, child);
    }
    return 0;
}
