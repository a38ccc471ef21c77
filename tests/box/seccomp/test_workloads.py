"""What people run: each program whole, under the filter as it is shipped, and its answer looked at."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.box.seccomp.probe import Probe

PYTHON = "/usr/bin/python3"


def python(under_filter: Probe, folder: Path, source: str, **env: str) -> str:
    script = folder / "main.py"
    script.write_text(textwrap.dedent(source))
    done = under_filter.run([PYTHON, "main.py"], folder, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def shell(under_filter: Probe, folder: Path, line: str, **env: str) -> str:
    done = under_filter.run(["bash", "-euo", "pipefail", "-c", textwrap.dedent(line)], folder, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_python_runs_under_the_filter_and_cannot_get_rid_of_it(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        print(open("/proc/self/status").read().partition("Seccomp:")[2].split()[0])
        print(libc.prctl(22, 0, 0, 0, 0), libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()])
        """,
    )
    assert said.splitlines() == ["2", "-1 -1 EPERM"]


def test_threads(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import concurrent.futures, queue, threading
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda n: n * n, range(1000))))
        lock, done = threading.Condition(), []
        def wait():
            with lock:
                lock.wait_for(lambda: len(done) == 3, timeout=10)
                done.append("woken")
        waiting = threading.Thread(target=wait); waiting.start()
        for _ in range(3):
            with lock:
                done.append("step"); lock.notify_all()
        waiting.join()
        print(done[-1], threading.get_native_id() > 0)
        """,
    )
    assert said.splitlines() == [str(sum(n * n for n in range(1000))), "woken True"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(under_filter: Probe, tmp_path: Path, method: str) -> None:
    said = python(
        under_filter,
        tmp_path,
        f"""
        import multiprocessing
        from multiprocessing import shared_memory
        def work(n):
            return n * 2
        def fill(name, queue):
            shared = shared_memory.SharedMemory(name=name)
            shared.buf[0] = 42
            shared.close()
            queue.put("filled")
        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            with context.Pool(3) as pool:
                print(pool.map(work, range(5)))
            shared = shared_memory.SharedMemory(create=True, size=10)
            queue = context.Queue()
            child = context.Process(target=fill, args=(shared.name, queue))
            child.start()
            print(queue.get(timeout=20), shared.buf[0])
            child.join()
            shared.close(); shared.unlink()
            with context.Manager() as manager:
                print(list(manager.list([1, 2])))
        """,
    )
    assert said.splitlines() == ["[0, 2, 4, 6, 8]", "filled 42", "[1, 2]"]


def test_asyncio_with_subprocesses_signals_and_sockets(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import asyncio, os, signal
        async def main():
            child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
            print((await child.communicate(b"through cat"))[0].decode(), child.returncode)
            woken = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, woken.set)
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.wait_for(woken.wait(), 10)
            async def greet(reader, writer):
                writer.write(b"hello " + await reader.readline()); await writer.drain(); writer.close()
            server = await asyncio.start_server(greet, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"tcp\\n")
            print((await reader.read()).decode().strip())
            child = await asyncio.create_subprocess_exec("sleep", "60")
            child.terminate()
            print(await child.wait())
        asyncio.run(main())
        """,
    )
    assert said.splitlines() == ["through cat 0", "hello tcp", "-15"]


def test_numpy_pandas_and_sqlite(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import sqlite3
        import numpy as np, pandas as pd
        rng = np.random.default_rng(1)
        square = rng.random((300, 300))
        print(np.allclose(square @ np.linalg.inv(square), np.eye(300)))
        np.save("a.npy", square); print(np.load("a.npy", mmap_mode="r").shape)
        frame = pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
        frame.to_csv("f.csv", index=False)
        print(pd.read_csv("f.csv").groupby("k").v.sum().to_dict())
        with sqlite3.connect("base.db") as base:
            base.execute("pragma journal_mode=wal")
            base.execute("create table t (n)")
            base.executemany("insert into t values (?)", [(n,) for n in range(100)])
            frame.to_sql("frame", base)
            print(base.execute("select sum(n) from t").fetchone(), pd.read_sql("select v from frame", base).v.max())
        """,
    )
    assert said.splitlines() == ["True", "(300, 300)", "{'a': 4, 'b': 2}", "(4950,) 3"]


def test_matplotlib_draws(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import matplotlib.pyplot as plt
        plt.plot([1, 4, 9]); plt.title("squares")
        for kind in ("png", "svg", "pdf"):
            plt.savefig(f"figure.{kind}")
        print(open("figure.png", "rb").read(8) == b"\\x89PNG\\r\\n\\x1a\\n")
        """,
        MPLBACKEND="agg",
    )
    assert said == "True"


def test_requests_reaches_a_door_and_is_refused_clearly_elsewhere(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import http.server, socket, threading
        import requests
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(requests.get(f"http://localhost:{server.server_port}/main.py", timeout=5).status_code)
        taken = socket.socket(); taken.bind(("127.0.0.1", 0))
        try:
            requests.get(f"http://127.0.0.1:{taken.getsockname()[1]}/", timeout=5)
        except requests.ConnectionError as refused:
            print("Connection refused" in str(refused))
        print([name for _, name in socket.if_nameindex()].count("lo"))
        """,
    )
    assert said.splitlines() == ["200", "True", "1"]


def test_the_calls_of_the_standard_library(under_filter: Probe, tmp_path: Path) -> None:
    said = python(
        under_filter,
        tmp_path,
        """
        import fcntl, mmap, os, pty, resource, select, signal, socket, subprocess, time
        fd = os.memfd_create("m"); os.write(fd, b"memory"); print(os.pread(fd, 9, 0).decode())
        shared = mmap.mmap(-1, 4096); shared.madvise(mmap.MADV_DONTNEED); shared.close()
        child = subprocess.Popen(["sleep", "60"])
        handle = os.pidfd_open(child.pid)
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        print(select.select([handle], [], [], 10)[0] == [handle], child.wait())
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); print(resource.getrlimit(resource.RLIMIT_NOFILE))
        print(os.nice(1), sorted(os.sched_getaffinity(0)) != [])
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.mkfifo("fifo"); os.symlink("fifo", "link"); os.setxattr("main.py", "user.a", b"1", follow_symlinks=False)
        with open("copy", "wb") as copy, open("main.py", "rb") as source:
            to, what = copy.fileno(), source.fileno()
            print(os.copy_file_range(what, to, 10), os.sendfile(to, what, 0, 5))
        r, w = os.pipe(); os.write(w, b"x"); fcntl.lockf(fd, fcntl.LOCK_EX)
        epoll = select.epoll(); epoll.register(r, select.EPOLLIN); print(len(epoll.poll(5)))
        left, right = socket.socketpair(); socket.send_fds(left, [b"fd"], [r]); print(socket.recv_fds(right, 9, 1)[0])
        master, slave = pty.openpty()
        print(os.get_terminal_size(slave).columns, os.isatty(slave), os.ttyname(slave)[:9])
        os.sync()
        os.replace("copy", "copied")
        print(signal.sigtimedwait([signal.SIGUSR1], 0), signal.setitimer(signal.ITIMER_REAL, 0))
        print(time.clock_getres(time.CLOCK_MONOTONIC_RAW) > 0)
        """,
    )
    assert said.splitlines() == [
        "memory",
        "True -15",
        "(64, 64)",
        "1 True",
        "10 5",
        "1",
        "b'fd'",
        "0 True /dev/pts/",
        "None (0.0, 0.0)",
        "True",
    ]


def test_git(under_filter: Probe, tmp_path: Path) -> None:
    said = shell(
        under_filter,
        tmp_path,
        """
        git init -q repo; cd repo
        git config user.name a; git config user.email a@example.org
        echo one > file; git add .; git commit -qm first; git gc -q
        git clone -q . ../clone; git checkout -qb side; echo two >> file; git commit -qam second
        git diff HEAD~ --stat | tail -1; git log --oneline | wc -l
        """,
    )
    assert said.splitlines() == ["1 file changed, 1 insertion(+)", "2"]


def test_node_with_worker_threads_and_children(under_filter: Probe, tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text(
        textwrap.dedent(
            """
            const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
            const { execFileSync } = require("child_process");
            const fs = require("fs"), net = require("net"), zlib = require("zlib"), crypto = require("crypto");
            if (!isMainThread) { parentPort.postMessage(workerData * 2); return; }
            const twice = n => new Promise((done, fail) => {
              new Worker(__filename, { workerData: n }).on("message", done).on("error", fail);
            });
            (async () => {
              console.log((await Promise.all([1, 2, 3].map(twice))).join());
              console.log(execFileSync("echo", ["child"]).toString().trim());
              await fs.promises.writeFile("out", zlib.gzipSync("zip")); fs.copyFileSync("out", "copy");
              console.log(zlib.gunzipSync(await fs.promises.readFile("copy")).toString());
              console.log(crypto.pbkdf2Sync("p", "s", 1000, 8, "sha256").length);
              const server = net.createServer(s => s.end("net")).listen(0, "127.0.0.1", () => {
                const talk = net.connect(server.address().port, "127.0.0.1");
                talk.on("data", d => { console.log(`${d}`); server.close(); });
              });
            })();
            """
        )
    )
    done = under_filter.run(["node", "main.js"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2,4,6", "child", "zip", "8", "net"]


def test_gcc_and_what_it_builds(under_filter: Probe, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(
        textwrap.dedent(
            """
            #include <pthread.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/wait.h>
            #include <unistd.h>
            static void *twice(void *n) { *(int *)n *= 2; return n; }
            int main(void) {
                int n = 21;
                pthread_t thread;
                if (pthread_create(&thread, NULL, twice, &n) || pthread_join(thread, NULL)) return 1;
                fflush(stdout);
                pid_t child = fork();
                if (!child) _exit(n);
                int status;
                waitpid(child, &status, 0);
                printf("%d %d\\n", WEXITSTATUS(status), system("exit 3") >> 8);
            }
            """
        )
    )
    line = "gcc -O2 -pthread -o main main.c; ./main; gcc -static -pthread -o still main.c; ./still"
    assert shell(under_filter, tmp_path, line) == "42 3\n42 3"


def test_bash_pipelines_and_job_control(under_filter: Probe, tmp_path: Path) -> None:
    said = shell(
        under_filter,
        tmp_path,
        """
        seq 1 1000 | sort -rn | head -3 2>/dev/null | paste -sd, || true
        sleep 60 & kill $!; wait $! || echo "killed $?"
        { diff <(echo a) <(echo b) || true; } | wc -l
        (ulimit -n 32; ulimit -n)
        trap 'echo bye' EXIT; nice -n 5 timeout 5 bash -c 'echo "$(nice)"'
        find . -name '*.none' -print0 | xargs -0 -r rm; mktemp -d ./tmp.XXXX | cut -c1-6
        """,
    )
    assert said.splitlines() == ["1000,999,998", "killed 143", "4", "32", "5", "./tmp.", "bye"]


def test_tar_and_the_rest_of_the_box_of_tools(under_filter: Probe, tmp_path: Path) -> None:
    said = shell(
        under_filter,
        tmp_path,
        """
        mkdir -p a/b; echo text > a/b/file; ln -s file a/b/link; mkfifo a/fifo; chmod 4755 a/b/file
        tar czf a.tgz a; mkdir out; tar xzf a.tgz -C out; diff -r --no-dereference a/b out/a/b && echo same
        cp -a a copy; mv copy moved; sync; sync -f a; dd if=/dev/zero of=zeros bs=4k count=4 conv=fsync status=none
        stat -c %s zeros; truncate -s 1M sparse; du -k sparse | cut -f1; df . | wc -l; touch -d 2001-01-01 zeros
        install -m 600 zeros installed; sha256sum zeros | cut -c1-8; perl -e 'print 6 * 7, "\\n"'
        """,
    )
    assert said.splitlines() == ["same", "16384", "0", "2", "4fe7b59a", "42"]


def test_a_program_may_bind_itself_tighter(under_filter: Probe, tmp_path: Path) -> None:
    """As `file` and browsers do; and of two filters the stricter answer counts."""
    said = python(
        under_filter,
        tmp_path,
        """
        import ctypes, errno, os, struct
        libc = ctypes.CDLL(None, use_errno=True)
        allow_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
        head = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow_all))
        print(libc.syscall(ctypes.c_long({"x86_64": 317, "aarch64": 277}[os.uname().machine]), 1, 0, head))
        libc.ptrace(0, 0, 0, 0); print(errno.errorcode[ctypes.get_errno()])
        """,
    )
    assert said.splitlines() == ["0", "EPERM"]


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_sanitizers_of_gcc(under_filter: Probe, tmp_path: Path, sanitizer: str) -> None:
    (tmp_path / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("sane"); }\n')
    line = f"gcc -fsanitize={sanitizer} -o main main.c; ./main"
    # The leak check at exit is a ptrace of its own process, which no box allows.
    assert shell(under_filter, tmp_path, line, ASAN_OPTIONS="detect_leaks=0") == "sane"
