"""A forge over real HTTP, shaped like GitHub, whose state is real bare repositories.

server.py        the port: routes, what came, faults before and instead of answers
repositories.py  bare repositories, and how tests fill and read them
smart_http.py    git's protocol, by the real `git http-backend`
tokens.py        who may do what, and until when
faults.py        what goes wrong: statuses, silence, drips, cuts, endless answers, redirects, races

with Forge() as forge:
    repository = forge.create("acme/demo", {"README.md": b"# demo\\n"})
    token = forge.tokens.issue(write=True)
    forge.behave("/acme/demo.git/info/refs", faults.status(503))
    forge.url("acme/demo")       http://127.0.0.1:PORT/acme/demo.git
    forge.asked                  every request as it came
"""

from tests.standins.forge.repositories import BareRepository, git
from tests.standins.forge.server import Forge

__all__ = ["BareRepository", "Forge", "git"]
