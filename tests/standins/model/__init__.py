"""A scripted model behind the wire forms of real providers, over real sockets.

    with ModelServer() as server:
        server.play("mend", Step(text="Reading.", tools=(ToolUse("read_file", {"path": "a.py"}),)), Step(text="Done."))
        server.address("mend")              base URL for Anthropic, Mistral and Google; + "/v1" for OpenAI
        server.asked                        every request as it came, faults included

    script.py     what is played: steps, what goes wrong before a step is answered
    server.py     sockets, faults, the record of what was asked
    anthropic.py  Messages, plain and as server-sent events
    openai.py     Chat Completions, plain and as server-sent events; Mistral speaks it too
    google.py     generateContent

The base URL names the script, so many conversations run side by side on one port. The server keeps no conversation: the
step to play is the number of answers already in the request, so a retry or a resumed run lands on the right one. Faults
alone are counted. After the last step the answer is 400, so that a runaway client shows up at once.
"""

from tests.standins.model.script import Fault, Script, Step, ToolUse
from tests.standins.model.server import Asked, ModelServer

__all__ = ["Asked", "Fault", "ModelServer", "Script", "Step", "ToolUse"]
