"""Contract `polychat`, sections 1 to 3 and 5: the worker's checks row by row, streams byte for byte, control, limits.

The runs are done by plain code over the real room and real boxes; who thinks in them is tested in tests/agent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from drydock.access.keys import Keys
from drydock.store.database import connect
from tests.standins.polychat_run import makes
from tests.standins.server import Server
from tests.standins.tokens import SECRET, bearer, token
from tests.standins.users import SOON, User, kinds, told

GOLDEN = Path(__file__).parent / "golden"
ASKED = {"repo": "acme/ledger", "task": "do it"}
FORGE = {"X-GitHub-Token": "a-forge-token-of-somebody"}
MASKS = (
    (re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), b"RUN"),
    (re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), b"TIME"),
)
NOBODYS = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), makes=makes, jwt_secret=SECRET, max_runs=8) as running:
        yield running


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Servers on which nothing is started: there is one engine to a process."""
    with ExitStack() as running:

        def make(name: str = "data", **settings: Any) -> Server:
            return running.enter_context(Server(tmp_path / name, makes=makes, **settings))

        yield make


@pytest.fixture
def user(server: Server) -> User:
    return User(server)


def masked(data: bytes) -> bytes:
    for pattern, mask in MASKS:
        data = pattern.sub(mask, data)
    return data


def execute(server: Server, body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    return server.post("/polychat/execute", body, **({**bearer(5), **FORGE} if headers is None else headers))


def error(reply: httpx.Response) -> tuple[int, str]:
    assert set(reply.json()) <= {"error", "retryAfter"}
    return reply.status_code, reply.json()["error"]


# --- 1.2: checks of the worker, in their order ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/polychat", "/polychat/", "/polychat/nope", "/polychat/health", "/polychat/execute/"]
)
def test_row_1_another_path(server: Server, path: str) -> None:
    assert error(server.post(path, ASKED)) == (404, "Not found")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_row_2_another_method(server: Server, method: str) -> None:
    assert error(server.client.request(method, "/polychat/execute")) == (405, "Method not allowed")


@pytest.mark.parametrize("secret", ["", "   "])
def test_row_3_no_secret_comes_before_the_body(make_server: Callable[..., Server], secret: str) -> None:
    server = make_server(jwt_secret=secret)
    for body in (b"{", {"repo": 5}, ASKED):
        wanted = (503, "Sandbox authentication secret is not configured")
        assert error(execute(server, body)) == wanted
    assert error(server.post("/execute", {**ASKED, "shouldCommit": True})) == wanted


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"{} x", b'{"a":NaN}'])
def test_row_4_what_is_no_json_comes_before_who_asks(server: Server, body: bytes) -> None:
    assert error(execute(server, body, {})) == (400, "Invalid JSON body")


BAD: list[Any] = [
    [],
    None,
    5,
    {},
    {"repo": "acme/ledger"},
    {"task": "x"},
    *[
        {**ASKED, "repo": repo}
        for repo in ("", "acme", "a/b/c", "https://h/a/b", "a/..", "./b", "a b/c", "ä/b", 5, "/b")
    ],
    *[{**ASKED, "task": task} for task in ("", "  ", 5, ["x"], "a\0b")],
    *[{**ASKED, "taskType": kind} for kind in ("cooking", "", 5, "Bug-Fix")],
    *[{**ASKED, "promptStrategy": each} for each in ("best", 5)],
    *[{**ASKED, "shouldCommit": flag} for flag in ("true", 1, 0)],
    *[{**ASKED, "timeoutSeconds": each} for each in (29, 7201, "60", 30.5, True, -1, 0, 10**40)],
    *[{**ASKED, "userId": each} for each in (0, -1, "5", 1.5, True)],
    *[{**ASKED, "installationId": each} for each in (0, "7", True)],
    *[{**ASKED, name: each} for name in ("model", "runId", "polychatApiUrl") for each in ("", " ", 5)],
    *[{**ASKED, "polychatApiUrl": each} for each in ("x", "http://", "//h", "http://h:x", "http://[", "a b://c")],
    *[{**ASKED, "trustLevel": each} for each in ("none", 5)],
    *[{**ASKED, "cloneDepth": each} for each in (-1, "1")],
    *[{**ASKED, "repairRounds": each} for each in (-1, 6)],
    *[{**ASKED, "inspectionWindowSeconds": each} for each in (-1, 3601)],
    {**ASKED, "generateTests": "yes"},
    *[{**ASKED, "modelSettings": each} for each in (5, {"temperature": "hot"}, {"top_k": 1.5}, {"reasoning": "x"})],
    *[
        {**ASKED, "deliveryPolicy": each}
        for each in (
            "now",
            {},
            {"mode": "force"},
            {"mode": "review_branch"},
            {"mode": "review_branch", "destination": "main"},
            {"mode": "commit_to_branch"},
            {"mode": "custom", "instructions": "x" * 2001},
        )
    ],
    {"task": "bug-fix", "params": {"repo": "acme/ledger"}},
    {"task": "cooking", "params": ASKED},
]


@pytest.mark.parametrize("body", BAD, ids=lambda body: json.dumps(body)[:60])
def test_row_5_a_body_that_breaks_the_schema_comes_before_who_asks(server: Server, body: Any) -> None:
    assert error(execute(server, json.dumps(body).encode(), {})) == (400, "Invalid task payload")


@pytest.mark.parametrize("sent", [None, "", "Bearer", "bearer x.y.z", "Bearer\tx", "Basic eA==", "x.y.z"])
def test_row_6_no_bearer_token_comes_before_the_forges(server: Server, sent: str | None) -> None:
    headers = {} if sent is None else {"Authorization": sent}
    assert error(execute(server, ASKED, headers)) == (401, "Missing authorization token")


@pytest.mark.parametrize("sent", [None, ""])
def test_row_7_no_forge_token_comes_before_the_token_is_judged(server: Server, sent: str | None) -> None:
    headers = {"Authorization": "Bearer nonsense"} | ({} if sent is None else {"X-GitHub-Token": sent})
    assert error(execute(server, ASKED, headers)) == (400, "Missing GitHub installation token")


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        token(header={"alg": "none"}),
        token(header={"alg": "none"}).rpartition(".")[0] + ".",
        token(header={"alg": "HS512"}, digest="sha512"),
        token(exp=int(time.time()) - 1),
        token(without="exp"),
        token(nbf=int(time.time()) + 86_400),
        token(iss="other"),
        token(aud="other"),
        token(aud=["assistant"]),
        token(without="sub"),
        token("admin"),
        token(secret="another"),
        "ddk_aaaaaaaa_" + "x" * 43,
        "x" * 5000,
    ],
)
def test_row_8_a_token_that_is_not_good(server: Server, text: str) -> None:
    headers = {"Authorization": f"Bearer {text}", **FORGE}
    reply = execute(server, {**ASKED, "userId": 999}, headers)
    assert error(reply) == (401, "Invalid sandbox authorization token")


def test_row_9_another_user_than_the_tokens(server: Server) -> None:
    reply = execute(server, {**ASKED, "userId": 6, "polychatApiUrl": "ftp://h"})
    assert error(reply) == (403, "Sandbox user does not match authorization token")


@pytest.mark.parametrize("url", ["ftp://h/x", "mailto:a@b", "http://me:pass@h/", "https://me@h/", "javascript:x"])
def test_row_10_a_callback_that_is_no_plain_http(server: Server, url: str) -> None:
    assert error(execute(server, {**ASKED, "userId": 5, "polychatApiUrl": url})) == (400, "Invalid task payload")


def test_a_body_over_a_mebibyte_is_too_large_by_every_path(server: Server) -> None:
    body = {**ASKED, "shouldCommit": True, "task": "x" * (1 << 20)}
    assert execute(server, body).status_code == 413
    assert set(execute(server, body).json()) == {"error"}
    assert server.post("/execute", body, **_operators(server), **FORGE).status_code == 413


def test_nothing_that_was_refused_has_left_a_run(server: Server) -> None:
    assert server.get("/polychat/apps/sandbox/runs", **bearer(5)).json() == {"runs": []}


# --- 1.1 and 1.3: both forms, both answers -------------------------------------------------------------------------


def test_the_flat_and_the_nested_form_give_the_same_run(server: Server, user: User) -> None:
    told_by: dict[str, Any] = {
        "taskType": "bug-fix",
        "shouldCommit": True,
        "timeoutSeconds": 60,
        "model": "small",
        "cloneDepth": 0,
    }
    flat = user.execute(**told_by, accept="application/json")
    nested = {**ASKED, **{name: value for name, value in told_by.items() if name != "taskType"}}
    deep = user.server.post("/polychat/execute", {"task": "bug-fix", "params": nested}, **bearer(user.number), **FORGE)
    shallow = {"task": "bug-fix", "params": {"task": "do it"}, **{k: v for k, v in nested.items() if k != "task"}}
    wide = user.server.post("/polychat/execute", shallow, **bearer(user.number), **FORGE)
    runs = [user.show(each.headers["x-sandbox-run-id"]) for each in (flat, deep, wide)]
    for run in runs:
        assert {name: run[name] for name in told_by if name != "cloneDepth"} == {
            name: value for name, value in told_by.items() if name != "cloneDepth"
        }
    assert all(each.json()["success"] is True for each in (flat, deep, wide))


def test_what_is_not_known_is_ignored_and_null_is_absent(user: User) -> None:
    reply = user.execute(accept="*/*", nonsense={"a": [1]}, timeoutSeconds=None, model=None, runId=None, taskType=None)
    run = user.show(reply.headers["x-sandbox-run-id"])
    assert (run["timeoutSeconds"], run["model"], run["taskType"]) == (900, "mistral-large", "feature-implementation")


def test_without_the_streams_kind_the_answer_is_the_result(user: User) -> None:
    reply = user.execute(accept="application/json", task="run echo hi")
    assert reply.headers["content-type"] == "application/json"
    told_of = reply.json()
    assert (told_of["success"], told_of["logs"]) == (True, "$ echo hi\nexit_code=0\nhi")
    assert told_of["summary"] == "completed hi"
    assert None not in told_of.values()


def test_a_clients_own_id_is_the_runs_id_to_that_client_alone(server: Server, user: User) -> None:
    reply = user.execute(runId="my-run:1")
    assert reply.headers["x-sandbox-run-id"] == "my-run:1"
    assert {event["runId"] for event in told(reply.text)} == {"my-run:1"}
    assert user.show("my-run:1")["runId"] == "my-run:1"
    again = user.execute(runId="my-run:1")
    assert (again.status_code, again.json()) == (400, {"error": "Invalid task payload"})
    other = User(server)
    assert other.get("/runs/my-run:1").status_code == 404
    assert other.execute(runId="my-run:1").status_code == 200


def test_an_id_that_is_none_of_ours_is_not_taken(user: User) -> None:
    reply = user.execute(runId="../../etc")
    assert re.fullmatch(r"[0-9a-f-]{36}", reply.headers["x-sandbox-run-id"])


def test_a_drydock_key_takes_a_tokens_place_and_keeps_to_its_doors(server: Server) -> None:
    database = connect("", server.settings.data)
    ours, others = (Keys(database).add(scope, [scope]).text for scope in ("polychat", "native"))
    database.close()
    deadline = time.monotonic() + 3
    while execute(server, ASKED, {"Authorization": f"Bearer {others}", **FORGE}).status_code != 403:
        assert time.monotonic() < deadline
    for headers in ({"Authorization": f"Bearer {ours}"}, {"X-API-Key": ours}):
        assert execute(server, {**ASKED, "userId": 12345}, {**headers, **FORGE}).json()["success"] is True
    assert server.get("/polychat/apps/sandbox/quota", X_API_Key=ours).json()["quota"]["perDay"] == {"used": 2}


def test_a_users_token_opens_no_door_of_another_contract(server: Server) -> None:
    for path, body in (("/v1/executions", {"code": "print(1)"}), ("/code/execute", {"code": "print(1)"})):
        assert server.post(path, body, **bearer(5)).status_code == 403
    assert server.get("/v1/runs", **bearer(5)).status_code == 403


def test_the_forges_token_is_nowhere_to_be_seen(server: Server, user: User) -> None:
    secret = "ghs_planted-canary-4711"
    reply = user.execute(token=secret, task="run env; cat /proc/*/environ")
    run = reply.headers["x-sandbox-run-id"]
    seen = [reply.text, user.get(f"/runs/{run}").text, server.log.getvalue()]
    seen += [user.get(f"/runs/{run}/artifacts/{name}").text for name in ("events.ndjson", "result.json", "logs.txt")]
    data = b"".join(path.read_bytes() for path in server.settings.data.glob("*") if path.is_file())
    data += b"".join(path.read_bytes() for path in (server.settings.data / "objects").rglob("*") if path.is_file())
    for form in (secret, base64.b64encode(secret.encode()).decode()):
        assert not any(form in text for text in seen)
        assert form.encode() not in data
    for header in bearer(user.number).values():
        assert header.removeprefix("Bearer ") not in server.log.getvalue()


# --- 3: streams ----------------------------------------------------------------------------------------------------


def test_the_contracts_example_comes_byte_for_byte(user: User) -> None:
    reply = user.execute(task="Add CSV export", shouldCommit=True, installationId=7, model="local-coder")
    assert masked(reply.content) == (GOLDEN / "polychat_success.sse").read_bytes()
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.headers["cache-control"] == "no-cache, no-transform"
    assert reply.headers["connection"] == "keep-alive"


def test_the_golden_stream_is_the_one_that_the_contract_prints() -> None:
    """Numbers, order and fields of section 3.5; runId and timestamp, which it leaves out, are left out."""
    lines = (GOLDEN / "polychat_contract.txt").read_text().splitlines()
    frames = (GOLDEN / "polychat_success.sse").read_text().split("\n\n")
    assert frames[len(lines) :] == [""]
    for line, frame in zip(lines, frames, strict=False):
        if not line.startswith("id:"):
            assert frame == line == "data: [DONE]"
            continue
        number, data = re.match(r"id: (\d+) +data: (.*)", line).groups()  # type: ignore[union-attr]
        ours = frame.split("\n")
        assert ours[0] == f"id: {number}"
        wanted, shown = json.loads(data), json.loads(ours[1].removeprefix("data: "))
        assert list(shown)[:2] == ["type", "runId"]
        assert list(shown)[-1] == "timestamp"
        if wanted["type"] == "run_completed":
            shown["result"] = {name: shown["result"][name] for name in wanted["result"]}
            del wanted["completedAt"], shown["completedAt"]
        if wanted["type"] == "run_started":
            del wanted["startedAt"], shown["startedAt"]
        fields = {name: value for name, value in shown.items() if name not in ("runId", "timestamp")}
        assert list(fields.items()) == list(wanted.items())


def test_a_run_that_a_user_starts_is_queued_first(user: User) -> None:
    run = user.start("Add CSV export")
    reply = user.get(f"/runs/{run['runId']}/events/stream")
    assert masked(reply.content) == (GOLDEN / "polychat_queued.sse").read_bytes()


def test_a_stream_goes_on_after_what_was_seen_and_says_when_that_was_all(user: User) -> None:
    whole = user.execute(task="run echo hi")
    run = whole.headers["x-sandbox-run-id"]
    frames = whole.text.split("\n\n")
    assert [frame.split("\n")[0] for frame in frames[:-2]] == [f"id: {n}" for n in range(1, len(frames) - 1)]
    for rest in (
        user.get(f"/runs/{run}/events/stream?after=2"),
        user.get(f"/runs/{run}/events/stream", Last_Event_ID="2"),
        user.get(f"/runs/{run}/events/stream?after=0", Last_Event_ID="2"),
    ):
        assert rest.text.split("\n\n") == frames[2:]
    for seen in (len(frames) - 2, 10**8):
        assert user.get(f"/runs/{run}/events/stream?after={seen}").text == "data: [DONE]\n\n"
    for bad in ("-1", "x", "1.5"):
        assert user.get(f"/runs/{run}/events/stream?after={bad}").status_code == 400
    assert user.get(f"/runs/{run}/events/stream", Last_Event_ID="x").status_code == 400


def test_a_number_past_the_end_hides_nothing_of_a_run_that_lives(user: User) -> None:
    run = user.start("run sleep 0.5")["runId"]
    assert kinds(user.get(f"/runs/{run}/events/stream?after=1000").text)[-1] == "run_completed"


def test_a_client_that_hangs_up_stops_nothing(user: User) -> None:
    run = user.start("run sleep 0.3; echo there")
    assert run["status"] in ("queued", "running")
    assert user.until(run["runId"], "completed")["result"]["summary"] == "completed there"


def test_events_as_one_page_are_envelopes_without_a_gap(user: User) -> None:
    run = user.execute(task="run echo hi").headers["x-sandbox-run-id"]
    page = user.get(f"/runs/{run}/events").json()["events"]
    assert [each["index"] for each in page] == list(range(1, len(page) + 1))
    assert all(set(each) == {"index", "event", "recordedAt"} for each in page)
    assert user.get(f"/runs/{run}/events?after=2").json()["events"] == page[2:]
    assert user.show(run)["events"] == [each["event"] for each in page]
    assert user.get(f"/runs/{run}/events?after=x").status_code == 400
    assert user.get(f"/runs/{run}/events/ws").status_code == 426


def test_long_logs_keep_head_and_tail_and_the_artefact_the_whole(user: User) -> None:
    command = "i=0; while [ $i -lt 2000 ]; do printf '%0200d\\n' $i; i=$((i+1)); done"
    reply = user.execute(task=f"run {command}", accept="application/json")
    logs = reply.json()["logs"]
    head, tail = logs.split("\n... (truncated)\n")
    assert (len(head), len(tail)) == (40_000, 40_000)
    assert head.startswith(f"$ {command}\nexit_code=0\n000")
    assert tail.endswith("01999")
    whole = user.get(f"/runs/{reply.headers['x-sandbox-run-id']}/artifacts/logs.txt").text
    assert len(whole) > 2000 * 201
    assert whole.startswith(head)
    assert whole.endswith(tail)


# --- 2.2 and 2.3: runs ---------------------------------------------------------------------------------------------


def test_a_record_says_what_was_asked_and_what_came_of_it(user: User) -> None:
    reply = user.execute(
        task="  Add CSV export ", installationId=7, shouldCommit=True, polychatApiUrl="https://h.example/"
    )
    run = user.show(reply.headers["x-sandbox-run-id"])
    assert (run["task"], run["installationId"], run["repo"]) == ("Add CSV export", 7, "acme/ledger")
    assert (run["status"], run["workflowPhase"], run["origin"]) == ("completed", "completed", "worker")
    assert (run["promptStrategy"], run["shouldCommit"], run["taskType"]) == (
        "feature-delivery",
        True,
        "feature-implementation",
    )
    assert run["startedAt"] <= run["processingStartedAt"] <= run["completedAt"]
    assert run["events"][-1]["type"] == "run_completed"
    assert run["result"]["branchName"] == "polychat/feature-1799139601000"
    assert [e["polychatUri"] for e in run["events"] if e["type"] == "task_started"] == ["https://h.example/"]
    assert not [name for name, value in run.items() if value is None]
    assert "error" not in run
    listed = user.get("/runs").json()["runs"]
    assert [each["runId"] for each in listed] == [run["runId"]]
    assert listed[0] == run


@pytest.mark.parametrize("mode", [{"mode": "leave_uncommitted"}, {"mode": "review_branch", "destination": "branch"}])
def test_nothing_is_delivered_by_a_policy_that_nobody_can_be_asked_about(user: User, mode: dict[str, str]) -> None:
    reply = user.execute(task="Add CSV export", shouldCommit=True, deliveryPolicy=mode)
    assert user.show(reply.headers["x-sandbox-run-id"])["shouldCommit"] is False
    assert "commit_created" not in kinds(reply.text)


@pytest.mark.parametrize("kind", ["code-review", "test-suite"])
def test_a_task_that_only_reads_commits_nothing_whatever_was_asked(user: User, kind: str) -> None:
    reply = user.execute(task="Add CSV export", taskType=kind, shouldCommit=True)
    assert user.show(reply.headers["x-sandbox-run-id"])["shouldCommit"] is False
    assert not {"commit_created", "git_branch_created"} & set(kinds(reply.text))


def test_runs_are_listed_by_installation_and_repository(user: User) -> None:
    ids = {}
    bodies: dict[str, dict[str, Any]] = {"a": {"repo": "Acme/Ledger"}, "b": {"repo": "acme/other", "installationId": 8}}
    for name, body in bodies.items():
        ids[name] = user.execute(**{"installationId": 7, **body}).headers["x-sandbox-run-id"]
    one_of = {
        "": ["b", "a"],
        "?repo=ACME/ledger": ["a"],
        "?installationId=8": ["b"],
        "?limit=1": ["b"],
        "?installationId=9": [],
    }
    for query, wanted in one_of.items():
        found = [run["runId"] for run in user.get(f"/runs{query}").json()["runs"]]
        assert found == [ids[name] for name in wanted], query


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=-1", "installationId=0", "installationId=x"]
)
def test_a_bad_question_for_a_list_names_its_place(user: User, query: str) -> None:
    reply = user.get(f"/runs?{query}")
    assert reply.status_code == 400
    assert reply.json()["error"] == "Invalid request parameters."
    assert [each["path"] for each in reply.json()["details"]] == [query.partition("=")[0]]
    assert reply.json()["requestId"] == reply.headers["x-request-id"]


def test_every_field_that_is_wrong_is_named(user: User) -> None:
    reply = user.post("/runs/execute-stream", {"repo": "x", "timeoutSeconds": 5, "modelSettings": {"top_p": "x"}})
    assert reply.status_code == 400
    places = [each["path"] for each in reply.json()["details"]]
    assert sorted(places) == ["installationId", "modelSettings.top_p", "repo", "task", "timeoutSeconds"]
    assert user.post("/runs/execute-stream", b"{").json()["details"][0]["path"] == "body"
    assert user.post("/runs/execute-stream", b"[]").json()["details"][0]["path"] == "body"
    assert user.get("/runs").json() == {"runs": []}


def test_what_an_ended_run_left_is_taken_away_with_its_hashes(user: User) -> None:
    run = user.execute().headers["x-sandbox-run-id"]
    listed = user.get(f"/runs/{run}/artifacts").json()["artifacts"]
    names = ["logs.txt", "diff.patch", "events.ndjson", "result.json", "manifest.json"]
    assert [each["name"] for each in listed] == names
    manifest = user.get(f"/runs/{run}/artifacts/manifest.json").json()
    for file in manifest["files"]:
        data = user.get(f"/runs/{run}/artifacts/{file['name']}").content
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size"], file["sha256"])
    assert user.get(f"/runs/{run}/artifacts/none").status_code == 404


def test_a_login_of_the_users_api_goes_through_to_the_worker(user: User) -> None:
    path, sent = "/polychat/sandbox/execute", bearer(user.number)
    result = user.server.post(path, ASKED, **sent)
    assert result.json()["success"] is True
    assert user.show(result.headers["x-sandbox-run-id"])["origin"] == "proxy"
    assert kinds(user.server.post(path, ASKED, Accept="text/event-stream", **sent).text)[-1] == "run_completed"
    assert user.server.post(path, {}, **sent).json()["error"] == "Invalid request parameters."


# --- 2.1: who may, and what the refusals look like -----------------------------------------------------------------

ROUTES = [
    ("GET", "/runs/{}"),
    ("GET", "/runs/{}/events"),
    ("GET", "/runs/{}/events/stream"),
    ("GET", "/runs/{}/events/ws"),
    ("GET", "/runs/{}/control"),
    ("GET", "/runs/{}/artifacts"),
    ("GET", "/runs/{}/artifacts/result.json"),
    ("GET", "/runs/{}/instructions"),
    ("POST", "/runs/{}/instructions"),
    ("POST", "/runs/{}/pause"),
    ("POST", "/runs/{}/resume"),
    ("POST", "/runs/{}/cancel"),
]


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("GET", "/runs"), ("GET", "/quota")])
def test_nobody_gets_in_without_a_login(server: Server, method: str, path: str) -> None:
    for sent in ({}, bearer(5, secret="another")):
        reply = server.client.request(method, "/polychat/apps/sandbox" + path.format(NOBODYS), headers=sent)
        assert reply.status_code == 401
        assert reply.json() == {
            "error": "Authentication failed. Please check your credentials.",
            "requestId": reply.headers["x-request-id"],
        }


def test_anothers_run_is_no_run_by_every_route(server: Server, user: User) -> None:
    mine = user.start("run sleep 300", runId="a-name")["runId"]
    other = User(server)
    for method, path in ROUTES:
        for name in (mine, NOBODYS, "a-name", "..", "%00", "x" * 300):
            sent = {**bearer(other.number)}
            body = {"content": "let me in"} if path.endswith("instructions") else {}
            reply = server.client.request(
                method,
                "/polychat/apps/sandbox" + path.format(name),
                headers=sent,
                json=body if method == "POST" else None,
            )
            assert reply.status_code == 404, (path, name)
            assert reply.json() in (
                {"error": "Requested resource not found.", "requestId": reply.headers["x-request-id"]},
                {"status": "not found"},
            )
    follow = other.execute(followUpOf=mine)
    assert follow.status_code == 404
    assert other.get("/runs").json() == {"runs": []}
    assert user.show(mine)["status"] in ("queued", "running")
    user.post(f"/runs/{mine}/cancel")


def test_an_unknown_route_has_the_apis_own_form(server: Server, user: User) -> None:
    for method, path in (("GET", "/nope"), ("PUT", "/runs"), ("GET", "/runs/execute-stream/x/y"), ("DELETE", "/quota")):
        reply = server.client.request(method, f"/polychat/apps/sandbox{path}", headers=bearer(user.number))
        assert (reply.status_code, reply.json()) == (404, {"status": "not found"})


def test_connections_and_webhooks_say_that_they_have_no_door_yet(user: User) -> None:
    reply = user.get("/connections")
    assert reply.status_code == 404
    assert "not built in this version" in reply.json()["error"]


def test_a_plan_is_asked_for_where_the_operator_says_so(make_server: Callable[..., Server]) -> None:
    server = make_server(jwt_secret=SECRET, jwt_plan="pro")
    for plan, status in (("pro", 200), ("free", 403), ("", 403), (None, 403)):
        reply = server.get("/polychat/apps/sandbox/runs", **bearer(5, plan=plan))
        assert reply.status_code == status
    assert "plan pro" in reply.json()["error"]


def test_without_any_credential_the_users_api_is_open_to_this_machine_and_to_no_page(
    make_server: Callable[..., Server],
) -> None:
    server = make_server()
    assert server.get("/polychat/apps/sandbox/runs").json() == {"runs": []}
    assert server.get("/apps/sandbox/quota").json()["quota"]["perDay"] == {"used": 0}
    refused = server.get("/apps/sandbox/runs", Origin="https://evil.example")
    assert refused.status_code == 403


def test_the_bare_paths_lead_to_the_same_doors(server: Server, user: User) -> None:
    bare = User(server, base="", number=user.number)
    reply = bare.execute(shouldCommit=False)
    assert reply.headers["x-drydock-dialect"] == "polychat"
    run = reply.headers["x-sandbox-run-id"]
    assert bare.show(run) == user.show(run)
    assert server.post("/sandbox/execute", ASKED, **bearer(user.number)).json()["success"] is True
    assert server.get("/apps/sandbox/nope", **bearer(user.number)).json() == {"status": "not found"}
    refused = server.post("/execute", {**ASKED, "shouldCommit": True}, **FORGE)
    assert error(refused) == (401, "Missing authorization token")
    assert server.client.options("/apps/sandbox/runs").status_code == 200


def test_alone_at_the_root_it_has_its_own_forms_and_no_other_door(make_server: Callable[..., Server]) -> None:
    server = make_server(only="polychat", jwt_secret=SECRET)
    for path in ("/", "/health", "/v1/runs", "/code/execute", "/polychat/execute"):
        assert error(server.get(path)) == (404, "Not found")
    assert error(server.get("/execute")) == (405, "Method not allowed")
    assert error(server.post("/execute", b"{")) == (400, "Invalid JSON body")
    assert error(server.post("/execute", {"code": "print(1)"})) == (400, "Invalid task payload")
    assert server.get("/apps/sandbox/runs", **bearer(5)).json() == {"runs": []}
    assert server.get("/apps/sandbox/nope").json() == {"status": "not found"}


def test_the_document_tells_every_route_and_no_other(server: Server) -> None:
    paths = server.get("/openapi.json", **_operators(server)).json()["paths"]
    documented = {(method, path) for path, methods in paths.items() for method in methods}
    mounted = {(m.lower(), p.replace("*}", "}")) for router in server.app.routers for m, p in router.routes()}
    assert mounted - documented <= {("head", path) for method, path in documented if method == "get"}
    assert documented - mounted == set()


def _operators(server: Server) -> dict[str, str]:
    database = connect("", server.settings.data)
    text = Keys(database).add(f"operator-{time.monotonic_ns()}").text
    database.close()
    deadline = time.monotonic() + 3
    while server.get("/v1/runs", X_API_Key=text).status_code != 200:
        assert time.monotonic() < deadline
    return {"X_API_Key": text}


# --- 2.4 and 2.5: control ------------------------------------------------------------------------------------------


def test_control_says_one_of_three_states(user: User) -> None:
    run = user.start("run sleep 300")["runId"]
    user.until_told(run, "command_started")

    def state() -> dict[str, Any]:
        shown: dict[str, Any] = user.get(f"/runs/{run}/control").json()
        return shown

    assert (state()["state"], state()["timeoutSeconds"], state()["runId"]) == ("running", 900, run)
    user.post(f"/runs/{run}/pause", {"reason": " lunch "})
    assert (state()["state"], state()["pauseReason"]) == ("paused", "lunch")
    user.post(f"/runs/{run}/resume")
    assert "pauseReason" not in state()
    user.post(f"/runs/{run}/cancel", {"reason": "enough"})
    assert (state()["state"], state()["cancellationReason"]) == ("cancelled", "enough")
    ended = user.execute().headers["x-sandbox-run-id"]
    assert user.get(f"/runs/{ended}/control").json()["state"] == "cancelled", "completed reads as cancelled"


def test_pause_and_resume_answer_the_same_however_often(user: User) -> None:
    run = user.start("run sleep 0.2; echo through")["runId"]
    user.until_told(run, "command_started")
    first = user.post(f"/runs/{run}/pause", b"").json()
    assert (first["paused"], first["message"]) == (True, "Pause requested")
    assert (first["run"]["status"], first["run"]["pauseReason"]) == ("paused", "Paused by user request")
    again = user.post(f"/runs/{run}/pause", {"reason": "other"}).json()
    assert (again["paused"], again["message"]) == (True, "Run is already paused")
    assert again["run"]["pauseReason"] == "Paused by user request"
    assert user.until_told(run, "run_paused")["message"] == "Paused by user request"
    back = user.post(f"/runs/{run}/resume").json()
    assert (back["resumed"], back["message"], back["run"]["status"]) == (True, "Run resumed", "running")
    assert back["run"]["resumeReason"] == "Resumed by user request"
    more = user.post(f"/runs/{run}/resume").json()
    assert (more["resumed"], more["message"]) in ((False, "Run is not paused"), (False, "Run already completed"))
    ended = user.until(run, "completed")
    assert ended["result"]["summary"] == "completed through"
    assert [each["type"] for each in ended["events"] if each["type"].startswith("run_")] == [
        "run_queued",
        "run_started",
        "run_paused",
        "run_resumed",
        "run_completed",
    ]
    for verb, field in (("pause", "paused"), ("resume", "resumed"), ("cancel", "cancelled")):
        late = user.post(f"/runs/{run}/{verb}").json()
        assert (late[field], late["message"]) == (False, "Run already completed")
        assert late["run"] == ended


def test_a_pause_moves_the_time_at_which_it_is_up(user: User) -> None:
    run = user.start("run sleep 0.2")["runId"]
    user.until_told(run, "command_started")
    before = user.show(run)["timeoutAt"]
    user.post(f"/runs/{run}/pause")
    user.until_told(run, "run_paused")
    threading.Event().wait(0.6)
    user.post(f"/runs/{run}/resume")
    after = user.until(run, "completed")["timeoutAt"]
    assert after[:10] == before[:10]
    assert _seconds(after) - _seconds(before) > 0.5


def _seconds(moment: str) -> float:
    hours, minutes, seconds = moment[11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def test_cancel_is_told_once_and_ends_what_runs(user: User) -> None:
    run = user.start("run sleep 300")["runId"]
    user.until_told(run, "command_started")
    began = time.monotonic()
    first = user.post(f"/runs/{run}/cancel", {"reason": "enough"}).json()
    assert (first["cancelled"], first["aborted"], first["message"]) == (True, True, "Cancellation requested")
    shown = first["run"]
    assert (shown["status"], shown["cancellationReason"]) == ("cancelled", "enough")
    assert {"completedAt", "cancelRequestedAt"} <= set(shown)
    assert "error" not in shown
    stream = user.get(f"/runs/{run}/events/stream").text
    assert time.monotonic() - began < 1.5
    events = told(stream)
    assert [each["type"] for each in events][-2:] == ["task_cancelled", "run_cancelled"]
    assert [each["type"] for each in events].count("run_cancelled") == 1
    assert {name: events[-2][name] for name in ("error", "errorType", "retryable")} == {
        "error": "enough",
        "errorType": "cancelled",
        "retryable": False,
    }
    assert (events[-1]["message"], events[-1]["result"]["success"]) == ("enough", False)
    assert "logs" in events[-1]["result"]
    again = user.post(f"/runs/{run}/cancel").json()
    assert (again["cancelled"], again["aborted"], again["message"]) == (True, False, "Run is already cancelled")
    assert (user.post(f"/runs/{run}/pause").json()["message"]) == "Run already cancelled"


def test_a_paused_run_can_be_cancelled(user: User) -> None:
    run = user.start("run sleep 300")["runId"]
    user.until_told(run, "command_started")
    user.post(f"/runs/{run}/pause")
    user.until_told(run, "run_paused")
    assert user.post(f"/runs/{run}/cancel").json()["cancelled"] is True
    found = kinds(user.get(f"/runs/{run}/events/stream").text)
    assert found[-3:] == ["run_paused", "task_cancelled", "run_cancelled"]


@pytest.mark.parametrize("reason", ["", "   ", "x" * 281, 5, ["x"], True])
@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_a_bad_reason_changes_nothing(server: Server, verb: str, reason: Any) -> None:
    user = User(server)
    reply = user.post(f"/runs/{NOBODYS}/{verb}", {"reason": reason})
    assert reply.status_code == 400
    assert reply.json()["details"][0]["path"] == "reason"


# --- 5.3: instructions ---------------------------------------------------------------------------------------------


def test_what_is_said_arrives_once_in_order_and_is_listed(user: User) -> None:
    run = user.start("listen")["runId"]
    said = [user.post(f"/runs/{run}/instructions", {"content": text}).json()["instruction"] for text in ("one", "two")]
    assert said[0] == {
        "id": "1",
        "runId": run,
        "kind": "message",
        "content": "one",
        "createdAt": said[0]["createdAt"],
    }
    more = {"kind": "continue", "content": "three", "idempotencyKey": "k"}
    thrice = [user.post(f"/runs/{run}/instructions", more).json()["instruction"] for _ in range(3)]
    assert thrice[0] == thrice[1] == thrice[2]
    user.post(f"/runs/{run}/instructions", {"content": "over"})
    ended = user.until(run, "completed")
    assert json.loads(ended["result"]["summary"].removeprefix("completed ")) == ["one", "two", "three", "over"]
    listed = user.get(f"/runs/{run}/instructions").json()["instructions"]
    assert [each["index"] for each in listed] == [1, 2, 3, 4]
    assert [each["instruction"]["kind"] for each in listed] == ["message", "message", "continue", "message"]
    assert user.get(f"/runs/{run}/instructions?after=2").json()["instructions"] == listed[2:]
    submitted = [each for each in ended["events"] if each["type"] == "run_instruction_submitted"]
    received = [each for each in ended["events"] if each["type"] == "run_instruction_received"]
    assert [each["instructionId"] for each in submitted] == [each["instructionId"] for each in received]
    late = user.post(f"/runs/{run}/instructions", {"content": "late"})
    assert (late.status_code, late.json()["error"]) == (400, "Invalid request parameters.")


@pytest.mark.parametrize("answer", ["approved", "rejected"])
def test_an_approval_is_answered_and_changes_where_it_stands(user: User, answer: str) -> None:
    run = user.start("ask")["runId"]
    asked = user.until_told(run, "command_approval_requested")
    assert (asked["command"], asked["approvalStatus"]) == ("npm ci", "pending")
    [listed] = user.get(f"/runs/{run}/instructions").json()["instructions"]
    request = listed["instruction"]
    assert (request["kind"], request["timeoutSeconds"], request["escalateAfterSeconds"]) == ("approval_request", 60, 30)
    assert request["expiresAt"] == asked["approvalExpiresAt"]
    body = {"kind": "approval_response", "requestId": request["id"], "approvalStatus": answer, "content": "my word"}
    said = user.post(f"/runs/{run}/instructions", {**body, "idempotencyKey": "a"}).json()["instruction"]
    assert (said["kind"], said["requestId"], said["approvalStatus"]) == ("approval_response", request["id"], answer)
    assert user.post(f"/runs/{run}/instructions", {**body, "idempotencyKey": "a"}).json()["instruction"] == said
    ended = user.until(run, "completed")
    assert ended["result"]["summary"].startswith("approved" if answer == "approved" else "refused")
    found = [each["type"] for each in ended["events"] if "approval" in each["type"] or "instruction" in each["type"]]
    assert found == ["command_approval_requested", "run_instruction_submitted", "command_approval_resolved"]
    settled = user.get(f"/runs/{run}/instructions").json()["instructions"][0]["instruction"]
    assert (settled["approvalStatus"], settled["resolutionReason"]) == (answer, "my word")


def test_an_approval_is_answered_once_and_only_where_there_is_one(user: User) -> None:
    run = user.start("ask")["runId"]
    asked = user.until_told(run, "command_approval_requested")["approvalId"]
    path = f"/runs/{run}/instructions"
    body = {"kind": "approval_response", "requestId": asked, "approvalStatus": "approved"}
    for unknown in ("99", "x", "-1", "1" * 30):
        assert user.post(path, {**body, "requestId": unknown}).status_code == 404
    for lacking in ("requestId", "approvalStatus"):
        assert user.post(path, {name: value for name, value in body.items() if name != lacking}).status_code == 400
    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(reply.status_code for reply in pool.map(lambda _: user.post(path, body), range(8)))
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {409, 400}


def test_a_key_of_a_person_cannot_take_the_place_of_a_question(user: User) -> None:
    """The run puts its own questions under keys of its own, and nobody can be there first."""
    run = user.start("listen")["runId"]
    user.post(f"/runs/{run}/instructions", {"content": "x", "idempotencyKey": "ask-1"})
    user.post(f"/runs/{run}/instructions", {"content": "over"})
    user.until(run, "completed")
    asks = user.start("ask")["runId"]
    user.post(f"/runs/{asks}/instructions", {"content": "mine", "idempotencyKey": "ask-1"})
    assert user.until_told(asks, "command_approval_requested")["command"] == "npm ci"
    user.post(f"/runs/{asks}/cancel")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "x" * 2001}, "content"),
        ({"content": 5}, "content"),
        ({"kind": "shout", "content": "x"}, "kind"),
        ({"kind": "run_command", "content": "x"}, "kind"),
        ({"kind": "approval_request"}, "command"),
        ({"kind": "approval_request", "command": "x" * 501}, "command"),
        ({"kind": "approval_request", "command": "x", "timeoutSeconds": 4}, "timeoutSeconds"),
        ({"kind": "approval_request", "command": "x", "escalateAfterSeconds": 901}, "escalateAfterSeconds"),
        ({"kind": "approval_response", "approvalStatus": "approved"}, "requestId"),
        ({"kind": "approval_response", "requestId": "1"}, "approvalStatus"),
        ({"kind": "approval_response", "requestId": "1", "approvalStatus": "maybe"}, "approvalStatus"),
        ({"content": "x", "idempotencyKey": "k" * 101}, "idempotencyKey"),
    ],
)
def test_a_bad_instruction_names_its_place(server: Server, body: Any, path: str) -> None:
    reply = User(server).post(f"/runs/{NOBODYS}/instructions", body)
    assert reply.status_code == 400
    assert [each["path"] for each in reply.json()["details"]] == [path]


def test_nobody_but_the_run_asks_for_approval(user: User) -> None:
    run = user.start("run sleep 300")["runId"]
    reply = user.post(f"/runs/{run}/instructions", {"kind": "approval_request", "command": "rm -rf /"})
    assert reply.status_code == 403
    assert user.get(f"/runs/{run}/instructions").json() == {"instructions": []}
    user.post(f"/runs/{run}/cancel")


# --- 2.6: limits ---------------------------------------------------------------------------------------------------


def test_the_third_run_at_once_is_refused_and_leaves_nothing(user: User) -> None:
    runs = [user.start("run sleep 300")["runId"] for _ in range(2)]
    refused = user.post("/runs/execute-stream", {**ASKED, "installationId": 7})
    told_of = refused.json()
    assert (refused.status_code, told_of["retryAfter"], refused.headers["retry-after"]) == (429, 60, "60")
    assert "2 runs" in told_of["error"]
    assert set(told_of) == {"error", "retryAfter", "requestId"}
    worker = user.execute()
    assert (worker.status_code, set(worker.json())) == (429, {"error", "retryAfter"})
    assert user.server.post("/polychat/sandbox/execute", ASKED, **bearer(user.number)).status_code == 429
    user.post(f"/runs/{runs[0]}/pause")
    assert user.execute().status_code == 429, "a paused run is active"
    assert len(user.get("/runs").json()["runs"]) == 2
    assert user.get("/quota").json()["quota"] == {
        "concurrent": {"used": 2, "limit": 2},
        "perMinute": {"used": 2, "limit": 4},
        "perDay": {"used": 2, "limit": 25},
    }
    for run in runs:
        user.post(f"/runs/{run}/cancel")
    assert user.execute().status_code == 200


def test_the_fifth_start_within_a_minute_is_refused(user: User) -> None:
    for _ in range(4):
        assert user.execute().status_code == 200
    refused = user.execute()
    assert refused.status_code == 429
    assert "4 runs" in refused.json()["error"]


def test_starts_side_by_side_never_pass_a_quota(user: User) -> None:
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: user.execute(accept="*/*", task="run sleep 0.3"), range(16)))
    accepted = [reply for reply in replies if reply.status_code == 200]
    assert {reply.status_code for reply in replies} == {200, 429}
    assert 2 <= len(accepted) <= 4
    assert len(user.get("/runs").json()["runs"]) == len(accepted)


def test_a_limit_over_the_operators_is_brought_down_and_told(make_server: Callable[..., Server]) -> None:
    from drydock.dialects.polychat.order import Orders
    from drydock.settings import Settings

    orders = Orders(Settings(run_max_timeout=120, run_timeout=900))
    for asked, wanted in ((None, 120), (30, 30), (120, 120), (121, 120), (7200, 120)):
        spec = orders.worker({**ASKED, "timeoutSeconds": asked}).spec
        assert spec.timeout_ms == wanted * 1000
        assert spec.timeout_requested_ms == (asked * 1000 if asked and asked > 120 else None)
    tiny = Orders(Settings(run_max_timeout=5, run_timeout=5))
    assert tiny.worker(ASKED).spec.timeout_ms == 30_000


# --- the wire ------------------------------------------------------------------------------------------------------


def test_two_bearers_are_none(server: Server) -> None:
    body = json.dumps(ASKED).encode()
    head = f"POST /polychat/execute HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    head += f"Authorization: Bearer {token('5')}\r\nAuthorization: Bearer x\r\nX-GitHub-Token: t\r\n\r\n"
    assert b"Missing authorization token" in server.raw(head.encode() + body)


def test_a_reader_that_never_reads_costs_nobody_anything(server: Server, user: User) -> None:
    run = user.start("run sleep 0.2")["runId"]
    path = f"/polychat/apps/sandbox/runs/{run}/events/stream"
    with socket.create_connection(("127.0.0.1", server.port), timeout=SOON) as silent:
        sent = bearer(user.number)["Authorization"]
        silent.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: {sent}\r\n\r\n".encode())
        assert user.until(run, "completed")
