"""Which function belongs to which tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from drydock.agent.action import Action, Form, forms
from drydock.agent.bench import Bench, Observation
from drydock.agent.task import READ_ONLY, Task
from drydock.agent.tools import commands, files, processes, scripts, steering

Act = Callable[[Bench, Action], Awaitable[Observation]]

ACTS: Mapping[str, Act] = {
    "run_command": commands.run_command,
    "run_parallel": commands.run_parallel,
    "run_script": scripts.run_script,
    "read_file": files.read_file,
    "read_files": files.read_files,
    "search": files.search,
    "write_file": files.write_file,
    "edit_file": files.edit_file,
    "start_process": processes.start_process,
    "send_input": processes.send_input,
    "read_output": processes.read_output,
    "stop_process": processes.stop_process,
    "update_plan": steering.update_plan,
    "finish": steering.finish,
}


def offered(task: Task) -> list[Form]:
    """The tools that make sense in a task. What is not offered and called all the same is refused by the tool."""
    reads = task.type in READ_ONLY
    if not reads:
        return list(forms().values())
    allowed = {"write_file", "edit_file"} if task.generate_tests else set()
    return [form for form in forms().values() if not form.writes or form.name in allowed]
