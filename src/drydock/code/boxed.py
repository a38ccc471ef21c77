"""One-shot execution in single-use boxes: admission, a program from the request, its outputs collected."""

from __future__ import annotations

import asyncio
import fnmatch
import functools
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from drydock.box import collect
from drydock.box.ended import Ended
from drydock.box.limits import Limits
from drydock.box.obstacle import find_obstacle
from drydock.box.program import WORK, Layer, Program
from drydock.box.stop import Stop
from drydock.box.tier import Isolation
from drydock.box.tiers import Tiers, check, lost
from drydock.box.yard import Yard
from drydock.code.executor import OnOutput, OnProgress
from drydock.code.languages import Language, find, preinstalled
from drydock.code.request import ExecutionRequest, ExecutionResult, Skipped
from drydock.errors import AtCapacity, BoxFailed, CannotStart, Unavailable
from drydock.observe.log import Log
from drydock.packages.builds import Stopped
from drydock.packages.failed import InstallFailed
from drydock.packages.packages import Packages
from drydock.packages.wanted import Wanted
from drydock.settings import Settings

TO_BOX = "Ask for isolation `box`, or send code that needs no packages."


class BoxedExecutor:
    """The Executor that the doors get: see executor.py for the promises of each member."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings, self._log = settings, log
        self._limits = Limits(
            memory_bytes=settings.memory,
            work_bytes=settings.work_bytes,
            inodes=settings.inodes,
            processes=settings.processes,
            file_bytes=settings.file_bytes,
            open_files=settings.open_files,
            cpus=settings.cpus,
            output_bytes=settings.output_bytes,
        )
        self._limits_for = functools.lru_cache(64)(self._limits_of)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._yard: Yard | None = None
        self._tiers: Tiers | None = None
        self._packages: Packages | None = None
        self._languages: Mapping[str, Language] = {}
        self.isolation: Isolation = settings.isolation
        self.capacity = settings.max_concurrent
        self.load = 0
        self.lost_promises: Sequence[str] = ()
        self.preinstalled: Sequence[str] = ()

    async def open(self) -> None:
        """Languages found, boxes parked; CannotStart when this host cannot give what the settings ask for."""
        settings = self._settings
        self._languages = find(settings.python, settings.sandbox_mode)
        if "python" in self._languages:
            self.preinstalled = preinstalled(self._languages["python"])
        self._yard = Yard.open(settings.python, settings.data, settings.uid_base, self._limits, self._log)
        if self._languages:
            usual = self._languages[self.default_language].environment(settings.output_dir)
            self._yard = replace(self._yard, usual=usual)
        self.lost_promises = lost(self._yard, self.isolation)
        self._tiers = Tiers(self._yard, self.capacity, self.isolation)
        self._packages = Packages(settings, self._yard, self.languages, self._log)
        self._packages.open()
        try:
            await self._tiers.start()
        except (BoxFailed, Unavailable) as wrong:
            await self.close()
            if isinstance(wrong, Unavailable):
                raise CannotStart(wrong.message, hint=wrong.remedy) from wrong
            raise _no_footing(wrong, settings.python) from wrong

    async def close(self) -> None:
        """Nothing of it is left when this returns. May be called again."""
        packages, self._packages = self._packages, None
        if packages is not None:
            await packages.close()
        tiers, self._tiers = self._tiers, None
        if tiers is not None:
            await tiers.close()
        yard, self._yard = self._yard, None
        if yard is not None:
            yard.close()

    @property
    def broken(self) -> bool:
        """No box can be made any more."""
        return self._tiers is None or self._tiers.broken

    @property
    def languages(self) -> Mapping[str, str]:
        return {name: language.version for name, language in self._languages.items()}

    @property
    def yard(self) -> Yard | None:
        """Where held boxes are opened."""
        return self._yard

    @property
    def packages(self) -> Packages | None:
        return self._packages

    @property
    def default_language(self) -> str:
        return next(iter(self._languages))

    def check_isolation(self, wanted: str) -> Isolation:
        return check(wanted, self.isolation)

    async def execute(
        self,
        request: ExecutionRequest,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        on_progress: OnProgress | None = None,
        queue: bool = False,
    ) -> ExecutionResult:
        await self._enter(queue)
        try:
            if request.packages is None:
                return await self._execute(request, stop, on_output)
            return await self._with_packages(request, request.packages, stop or Stop(), on_output, on_progress)
        finally:
            self._leave()

    async def _enter(self, queue: bool) -> None:
        if self.load < self.capacity and not self._waiting:
            self.load += 1
            return
        if not queue or len(self._waiting) >= self._settings.queue:
            raise AtCapacity(f"at capacity ({self.load + 1}/{self.capacity} concurrent executions)")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the place was given to us in the same moment
            raise

    def _leave(self) -> None:
        """Give the place to the one who waited longest, or free it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.load -= 1

    async def _with_packages(
        self,
        request: ExecutionRequest,
        wanted: Wanted,
        stop: Stop,
        on_output: OnOutput | None,
        on_progress: OnProgress | None,
    ) -> ExecutionResult:
        """The program starts once all that it requires is there; installing has as long as the program has."""
        assert self._packages is not None, "the executor is not open"
        isolation = request.isolation or self.isolation
        if isolation == "process":
            raise Unavailable("packages need a box to be mounted in, and isolation `process` has none", hint=TO_BOX)
        within_s = request.timeout_ms / 1000
        assert self._tiers is not None, "the executor is not open"
        await self._tiers.get(isolation)  # installers too run behind walls that have been proved
        try:
            async with self._packages.provide(
                wanted,
                within_s=within_s,
                stop=stop,
                on_line=on_progress or (lambda line: None),
                isolation=isolation,
            ) as provided:
                result = await self._execute(request, stop, on_output, provided.layers)
                return replace(result, packages=provided.report)
        except Stopped as stopped:
            return ExecutionResult(Ended(stopped.reason))
        except InstallFailed as failed:
            text = failed.text.encode("utf-8", "replace")
            ended = Ended("install_failed", detail=failed.message, stderr_bytes=len(text))
            return ExecutionResult(ended, stderr=text, packages=failed.report)

    async def _execute(
        self,
        request: ExecutionRequest,
        stop: Stop | None,
        on_output: OnOutput | None,
        layers: Sequence[Layer] = (),
    ) -> ExecutionResult:
        language = self._languages[request.language]
        found = collect.Collected()

        async def collected(root: int, path: str) -> None:
            nonlocal found
            work = functools.partial(collect.collect, root, path, wanted=_wanted(request.outputs))
            found = await asyncio.get_running_loop().run_in_executor(None, work)

        def take_out(root: int) -> Awaitable[None] | None:
            path = f"work/{self._settings.output_dir}"
            return None if collect.is_empty(root, path) else collected(root, path)

        assert self._tiers is not None, "the executor is not open"
        tier = await self._tiers.get(request.isolation or self.isolation)
        outcome = await tier.run(
            self._program(language, request, layers),
            self._limits_for(request.timeout_ms, request.memory_bytes, request.processes, request.cpus),
            stop=stop,
            on_output=on_output,
            collect=take_out,
        )
        skipped = [Skipped(name, reason) for name, reason in found.skipped]
        return ExecutionResult(outcome.ended, outcome.stdout, outcome.stderr, found.files, skipped)

    def _program(self, language: Language, request: ExecutionRequest, layers: Sequence[Layer]) -> Program:
        folders = (self._settings.output_dir,)
        files = {f"{WORK}/{name}": data for name, data in request.files.items()}
        places = [place for _, place in layers]
        env = language.environment(self._settings.output_dir, places) | dict(request.env)
        if request.argv is not None:
            return Program(request.argv, "", files, folders, env, stdin=request.stdin, layers=layers)
        script = language.script(request.files)
        files[script] = (request.code or "").encode("utf-8", "surrogatepass")
        return Program(language.argv(script), script, files, folders, env, stdin=request.stdin, layers=layers)

    def _limits_of(
        self, timeout_ms: int, memory_bytes: int | None, processes: int | None, cpus: float | None
    ) -> Limits:
        """Nobody can ask for more than the server's own."""
        most = self._limits
        return replace(
            most,
            wall_ms=timeout_ms,
            memory_bytes=most.memory_bytes if memory_bytes is None else min(memory_bytes, most.memory_bytes),
            processes=most.processes if processes is None else min(processes, most.processes),
            cpus=most.cpus if cpus is None else min(cpus, most.cpus),
        )


def _no_footing(wrong: BoxFailed, python: Path) -> CannotStart:
    """What stands in the way, with what to turn for it, where that can be found out."""
    found = find_obstacle(str(python))
    if found is None:
        return CannotStart(wrong.message, hint="`drydock doctor` tries each part and says what to mend.")
    fact, remedy = found
    return CannotStart(f"{fact}, so no program can be run ({wrong.message})", hint=remedy)


def _wanted(patterns: Sequence[str] | None) -> Callable[[str], bool]:
    if patterns is None:
        return lambda name: True
    return lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
