"""`drydock exec` against a real server: as if the program ran here."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import DRYDOCK, free_port, own_environment

Done = subprocess.CompletedProcess[bytes]
Exec = Callable[..., Done]


@pytest.fixture
def run(dock: str, tmp_path: Path) -> Exec:
    def run(*arguments: str, code: str | None = None, name: str = "program.py", given: bytes = b"") -> Done:
        if code is not None:
            (tmp_path / name).write_text(code)
            arguments = (name, *arguments)
        return subprocess.run(
            [DRYDOCK, "exec", "--url", dock, *arguments],
            cwd=tmp_path,
            env=own_environment(),
            input=given,
            capture_output=True,
            timeout=60,
        )

    return run


def load(dock: str) -> int:
    with urllib.request.urlopen(f"{dock}/health", timeout=5) as reply:
        return int(json.load(reply)["current_load"])


def await_load(dock: str, wanted: int, within: float = 5.0) -> None:
    deadline = time.monotonic() + within
    while load(dock) != wanted:
        assert time.monotonic() < deadline, f"the load is {load(dock)} and not {wanted} after {within} s"
        time.sleep(0.02)


def test_both_streams_come_through_and_the_exit_code_is_the_programs(run: Exec) -> None:
    done = run(code="import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


def test_bytes_that_are_no_text_come_through_as_they_were(run: Exec) -> None:
    done = run(code="import sys; sys.stdout.buffer.write(bytes(range(256)))")
    assert (done.returncode, done.stdout) == (0, bytes(range(256)))


def test_code_comes_from_standard_input_when_no_file_is_named(run: Exec) -> None:
    assert run(given=b"print(6 * 7)").stdout == b"42\n"
    assert run("-", "--language", "shell", given=b"echo $((6 * 7))").stdout == b"42\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a.py", "print('hello')"),
        ("a.js", "console.log('hello')"),
        ("a.sh", "echo hello"),
        ("tool", "#!/usr/bin/env bash\necho hello"),
    ],
)
def test_the_file_tells_the_language(run: Exec, name: str, code: str) -> None:
    done = run(code=code, name=name)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")


def test_files_go_in_and_come_back_out(run: Exec, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.bin").write_bytes(b"\x00\xff")
    code = (
        "import os\nout = os.environ['OUTPUT_DIR']\nos.makedirs(out + '/deep')\n"
        "data = open('data/in.bin', 'rb').read() + open('other', 'rb').read()\n"
        "open(out + '/deep/twice.bin', 'wb').write(data * 2)\nopen(out + '/empty', 'w')\n"
    )
    done = run("--file", "data", "--file", "data/in.bin=other", "--out", "results", code=code)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "results/deep/twice.bin").read_bytes() == b"\x00\xff\x00\xff" * 2
    assert (tmp_path / "results/empty").read_bytes() == b""


def test_a_file_too_large_to_come_with_the_answer_comes_all_the_same(run: Exec, tmp_path: Path) -> None:
    done = run("--out", "results", code="open('output/big', 'wb').write(b'x' * (3 << 20))")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/big").read_bytes() == b"x" * (3 << 20)


def test_links_that_it_leaves_are_named_and_left_behind(run: Exec, tmp_path: Path) -> None:
    done = run("--out", "results", code="import os; os.symlink('/etc/hostname', 'output/l')")
    assert (done.returncode, done.stderr) == (0, b"drydock: 'l' was left behind: symlink\n")
    assert list((tmp_path / "results").iterdir()) == []


def test_files_that_nobody_asked_for_are_mentioned(run: Exec) -> None:
    done = run(code="open('output/a', 'w')")
    assert done.stderr == b"drydock: it left 1 files; --out FOLDER takes them\n"


def test_variables_and_standard_input_reach_the_program(run: Exec, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("line\n")
    done = run("--env", "A=1=2", "--stdin", "in.txt", code="import os; print(os.environ['A'], input())")
    assert done.stdout == b"1=2 line\n"


def test_a_time_limit_ends_it_with_124_and_a_line(run: Exec) -> None:
    began = time.monotonic()
    done = run("--timeout", "1s", code="print('begun', flush=True)\nwhile True: pass")
    assert (done.returncode, done.stdout, done.stderr) == (124, b"begun\n", b"drydock: timeout\n")
    assert time.monotonic() - began < 4


@pytest.mark.parametrize(("name", "code"), [("SIGSEGV", 139), ("SIGKILL", 137), ("SIGTERM", 143)])
def test_a_signal_is_128_and_its_number(run: Exec, name: str, code: int) -> None:
    done = run(code=f"import os, signal; os.kill(os.getpid(), signal.{name})")
    assert (done.returncode, done.stderr) == (code, f"drydock: signal: {name}\n".encode())


def test_output_comes_while_the_program_runs(dock: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time; print('first', flush=True); time.sleep(30)")
    with started(dock, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None


def test_ctrl_c_ends_the_program(dock: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time; print('first', flush=True); time.sleep(30)")
    with started(dock, tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 130
        await_load(dock, 0)


def test_whoever_follows_it_takes_it_along_when_killed(dock: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time; print('first', flush=True); time.sleep(30)")
    with started(dock, tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        await_load(dock, 0)


def test_a_reader_that_leaves_ends_the_program(dock: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("while True: print('y')")
    with started(dock, tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 141
        await_load(dock, 0)


def test_json_prints_the_whole_result_and_nothing_else(run: Exec) -> None:
    done = run("--json", code="import sys; print('é'); open('output/a', 'w').write('x'); sys.exit(3)")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (3, b"")
    assert (result["stdout"], result["ended"]["reason"], result["ended"]["exit_code"]) == ("é\n", "exit_nonzero", 3)
    assert [file["name"] for file in result["files"]] == ["a"]


def test_output_that_was_cut_is_said_to_be(run: Exec) -> None:
    done = run(code="import sys; sys.stdout.write('x' * (11 << 20))")
    assert (done.returncode, len(done.stdout)) == (0, 10 << 20)
    assert done.stderr == f"drydock: stdout was cut; {11 << 20} bytes were written\n".encode()


def test_a_language_that_the_server_lacks_is_told_in_its_words(run: Exec) -> None:
    done = run("--language", "cobol", given=b"x")
    assert done.returncode == 125
    assert done.stdout == b""
    assert b"drydock: language 'cobol' is not available\n  Available here: python" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--timeout", "soon"], ["--timeout", "0"], ["--timeout", "-1s"], ["--env", "A"], ["--env", "=1"], ["--nonsense"]],
)
def test_a_wrong_argument_starts_nothing(run: Exec, arguments: list[str]) -> None:
    done = run(*arguments, code="print('ran')")
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("arguments", [["missing.py"], ["--file", "missing", "-"], ["--url", "ftp://x", "-"]])
def test_what_is_wrong_on_this_side_is_125_with_a_remedy(run: Exec, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"drydock: ")
    assert done.stderr.count(b"\n") == 2


def test_no_server_is_said_with_its_address_and_how_to_start_one(tmp_path: Path) -> None:
    port = free_port()
    done = subprocess.run(
        [DRYDOCK, "exec", "-"],
        cwd=tmp_path,
        env=own_environment() | {"DRYDOCK_URL": f"http://127.0.0.1:{port}"},
        input=b"print(1)",
        capture_output=True,
    )
    assert done.returncode == 125
    assert done.stderr.startswith(f"drydock: no server at http://127.0.0.1:{port}: ".encode())
    assert b"Start one with `drydock serve`" in done.stderr


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\nevent: started\n", b"broke off before"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nid: 1", b"broke off before"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops", b"the server answered 502, in no form"),
        (b"HTTP/1.1 401 No\r\nContent-Length: 26\r\n\r\n" + b'{"error": "Unauthorized"}\n', b"drydock: Unauthorized"),
        (b"SSH-2.0-OpenSSH\r\n", b"did not answer"),
        (b"", b"did not answer"),
    ],
    ids=["cut stream", "cut body", "gateway", "other form", "no HTTP", "nothing"],
)
def test_a_server_that_breaks_off_or_is_none_of_ours_is_125_and_no_stack(
    answer: bytes, words: bytes, tmp_path: Path
) -> None:
    with answering(answer) as url:
        done = subprocess.run(
            [DRYDOCK, "exec", "--url", url, "-"], env=own_environment(), input=b"print(1)", capture_output=True
        )
    assert done.returncode == 125
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that says this to its first caller and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


@contextmanager
def started(dock: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`drydock exec a.py`, under way."""
    process = subprocess.Popen(
        [DRYDOCK, "exec", "--url", dock, "a.py"],
        cwd=folder,
        env=own_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
