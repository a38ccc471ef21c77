"""`drydock exec`: as if the program ran here. Its output while it comes, its exit code as our own."""

from __future__ import annotations

import base64
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from drydock.cli import bundle, program
from drydock.cli.client import Following, Server
from drydock.cli.duration import Duration
from drydock.cli.progress import ProgressLine
from drydock.cli.whereabouts import at_server
from drydock.errors import DrydockError

TIMED_OUT = 124
OUR_FAULT = 125
"""As `timeout` and `docker run` have it: neither is a number that a program would lightly choose."""
BY_SIGNAL = 128


class Variable(click.ParamType[Any]):
    name = "K=V"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not key:
            self.fail(f"{value!r} is not K=V", param, ctx)
        return key, text


@click.command()
@click.argument("source", metavar="[FILE|-]", default="-")
@click.option("--language", "-l", help="python, node, shell or golang; else by the file's ending or first line.")
@click.option(
    "--file", "-f", "files", multiple=True, metavar="PATH[=NAME]", help="A file or folder that it finds there."
)
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), help="Folder for the files that it leaves in $OUTPUT_DIR."
)
@click.option("--timeout", "-t", type=Duration(), help="Its time limit: 10s, 500ms, 2m. The server's default is 30s.")
@click.option("--env", "-e", "variables", type=Variable(), multiple=True, help="A variable of its environment.")
@click.option("--requirement", "-r", "requirements", multiple=True, help="A package that it needs, as NAME==VERSION.")
@click.option("--environment", metavar="NAME", help="A named environment; --requirement makes or extends it.")
@click.option("--stdin", type=click.File("rb"), help="What it reads on its standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as one JSON object when it has ended.")
@at_server
def execute(
    source: str,
    language: str | None,
    files: Sequence[str],
    out: Path | None,
    timeout: int | None,
    variables: Sequence[tuple[str, str]],
    requirements: Sequence[str],
    environment: str | None,
    stdin: Any,
    as_json: bool,
    url: str,
    key: str | None,
) -> NoReturn:
    """Run a program on a server; its exit code becomes this command's.

    FILE is source code; `-`, or nothing, reads it from standard input. A signal n that ended it is 128+n, its time
    limit 124, and 125 says that Drydock could not run it.
    """
    try:
        code = program.read(source)
        body = _body(code, language or program.language(source, code), files, timeout, variables, requirements, stdin)
        if environment:
            body["environment"] = environment
        server = Server(url, key)
        sys.exit(_Run(server, as_json, out).through(body))
    except DrydockError as wrong:
        click.echo(f"drydock: {wrong.message}\n  {wrong.remedy}", err=True)
        sys.exit(OUR_FAULT)


def _body(
    code: str,
    language: str | None,
    files: Sequence[str],
    timeout: int | None,
    variables: Sequence[tuple[str, str]],
    requirements: Sequence[str],
    stdin: Any,
) -> dict[str, Any]:
    body: dict[str, Any] = {"code": code}
    if language:
        body["language"] = language
    if files:
        body["files"] = {name: _content(data) for name, data in bundle.pack(files).items()}
    if timeout:
        body["limits"] = {"timeout_ms": timeout}
    if variables:
        body["env"] = dict(variables)
    if requirements:
        body["requirements"] = list(requirements)
    if stdin is not None:
        body["stdin"] = _content(stdin.read())
    return body


def _content(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}


class _Run:
    """One execution, from its order to our exit code."""

    def __init__(self, server: Server, as_json: bool, out: Path | None) -> None:
        self._server = server
        self._as_json = as_json
        self._out = out
        self._id = ""

    def through(self, body: Mapping[str, Any]) -> int:
        try:
            ended = self._follow(self._server.start(body))
            result = self._result() if self._as_json or self._out else {}
        except KeyboardInterrupt:
            self._cancel()
            return BY_SIGNAL + signal.SIGINT
        except BrokenPipeError:
            # Whoever read our output has left, as `head` does; nobody wants the rest.
            self._cancel()
            sys.stderr.close()
            return BY_SIGNAL + signal.SIGPIPE
        if self._as_json:
            click.echo(json.dumps(result, indent=2, ensure_ascii=False))
        if self._out:
            bundle.unpack(self._contents(result["files"]), self._out)
        self._tell(ended)
        return exit_code(ended["ended"])

    def _follow(self, following: Following) -> Mapping[str, Any]:
        self._id = following.id
        told: Mapping[str, Any] = {}
        progress = ProgressLine()
        for event in following:
            if event.name == "progress":
                progress.show(event.data["text"])
                continue
            progress.clear()
            if event.name in ("stdout", "stderr") and not self._as_json:
                stream = sys.stdout.buffer if event.name == "stdout" else sys.stderr.buffer
                stream.write(_bytes(event.data))
                stream.flush()
            elif event.name == "ended":
                told = event.data
        return told

    def _result(self) -> Mapping[str, Any]:
        result: Mapping[str, Any] = json.loads(self._server.get(f"/v1/executions/{self._id}"))
        return result

    def _contents(self, files: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
        return {each["name"]: self._content_of(each) for each in files}

    def _content_of(self, file: Mapping[str, Any]) -> bytes:
        if "base64" in file:
            return base64.b64decode(file["base64"])
        return self._server.get(file["url"])

    def _cancel(self) -> None:
        if self._id:
            self._server.cancel(self._id)

    def _tell(self, told: Mapping[str, Any]) -> None:
        """On stderr, what neither the program's output nor an exit code says."""
        ended = told["ended"]
        if ended["reason"] not in ("completed", "exit_nonzero"):
            detail = ended.get("detail") or (ended["signal"] if ended["reason"] == "signal" else "")
            click.echo(f"drydock: {ended['reason']}{f': {detail}' if detail else ''}", err=True)
        for stream in ("stdout", "stderr"):
            if ended.get(f"{stream}_cut"):
                click.echo(f"drydock: {stream} was cut; {ended[f'{stream}_bytes']} bytes were written", err=True)
        for each in told.get("skipped", ()):
            click.echo(f"drydock: {each['name']!r} was left behind: {each['reason']}", err=True)
        if told.get("files") and not (self._out or self._as_json):
            click.echo(f"drydock: it left {len(told['files'])} files; --out FOLDER takes them", err=True)


def _bytes(data: Mapping[str, Any]) -> bytes:
    if "base64" in data:
        return base64.b64decode(data["base64"])
    return str(data["text"]).encode()


def exit_code(ended: Mapping[str, Any]) -> int:
    if ended["reason"] == "timeout":
        return TIMED_OUT
    if ended["reason"] in ("start_failed", "install_failed", "box_failed", "server_shutdown", "interrupted"):
        return OUR_FAULT
    if ended.get("signal"):
        number = getattr(signal, ended["signal"], None)
        return BY_SIGNAL + int(number) if number else OUR_FAULT
    if isinstance(ended.get("exit_code"), int):
        return int(ended["exit_code"])
    return BY_SIGNAL + signal.SIGKILL
