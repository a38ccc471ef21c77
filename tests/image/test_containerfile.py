"""What can be said of the image without building it. tests/image/test_image.py builds and runs it."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

from scripts import outer_filter

ROOT = Path(__file__).parents[2]
SAID = (ROOT / "Containerfile.sandbox").read_text()
STEPS = [
    step.split(None, 1)
    for step in re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", SAID, flags=re.MULTILINE)).splitlines()
    if step.strip()
]
FINAL = STEPS[max(number for number, (word, _) in enumerate(STEPS) if word == "FROM") :]


def of(word: str) -> list[str]:
    return [rest.strip() for each, rest in FINAL if each == word]


def test_it_is_built_in_stages_on_a_base_that_the_reader_chooses() -> None:
    assert [rest for word, rest in STEPS if word == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert STEPS[0] == ["ARG", "BASE=python:3.12-slim"]


def test_no_address_of_a_registry_or_an_index_stands_in_it() -> None:
    assert not re.search(r"://(?!127\.0\.0\.1)|\b[a-z0-9-]+\.(io|org|com|net)\b", SAID)


def test_its_user_is_a_number_and_not_root() -> None:
    (user,) = of("USER")
    assert re.fullmatch(r"[1-9][0-9]*:0", user)


def test_it_is_exposed_and_looks_after_its_own_health() -> None:
    assert of("EXPOSE") == ["8080"]
    (check,) = of("HEALTHCHECK")
    assert "/health" in check


def test_it_serves_the_code_contract_alone_to_everybody_who_reaches_it() -> None:
    assert json.loads(of("ENTRYPOINT")[0]) == [
        *("drydock", "serve", "--only", "code", "--host", "0.0.0.0"),
        *("--data", "/tmp/drydock"),
    ]
    assert "DRYDOCK_OPEN=1" in of("ENV")[0].split()


def test_all_that_is_written_goes_below_tmp() -> None:
    told = dict(pair.split("=", 1) for pair in of("ENV")[0].split())
    assert told["HOME"] == "/tmp"
    assert all(told[name].startswith("/tmp/") for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR"))


def test_every_package_is_pinned_by_its_hash_and_uv_is_one_of_them() -> None:
    assert SAID.count("--require-hashes") == SAID.count("-r requirements")
    assert re.search(r"^uv==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert any(
        need.startswith("uv")
        for need in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    )


def test_nothing_of_a_checkout_gets_near_it_but_what_it_copies() -> None:
    copied = {name for word, rest in STEPS if word == "COPY" and "--from" not in rest for name in rest.split()[:-1]}
    first, *passed = [
        line for line in (ROOT / ".containerignore").read_text().splitlines() if line[:1] not in ("#", "")
    ]
    assert first == "*"
    assert {line[1:] for line in passed if line.startswith("!")} == copied
    assert (ROOT / ".dockerignore").readlink() == Path(".containerignore")


def test_the_profile_for_engines_is_what_the_policy_makes_of_it() -> None:
    assert outer_filter.OUTPUT.read_text() == outer_filter.text(), "write it again: make docs"


def test_the_profile_opens_nothing_that_boxes_are_not_made_of() -> None:
    profile = json.loads(outer_filter.OUTPUT.read_text())
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    dangerous = (
        "bpf ptrace kexec_load init_module finit_module perf_event_open keyctl add_key open_by_handle_at reboot "
    )
    dangerous += "userfaultfd io_uring_setup process_vm_writev pidfd_getfd mount_setattr open_tree setdomainname swapon"
    assert not allowed & set(dangerous.split())


def test_the_verbs_of_the_contract_say_what_they_do() -> None:
    done = subprocess.run(
        ["make", "-n", "sandbox-push", "CONTAINER=true", "SANDBOX_IMAGE_REPO=somewhere/name", "IMAGE_TAG=abc"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "true build -t somewhere/name:abc -f Containerfile.sandbox ." in " ".join(done.stdout.split())
    assert "true push somewhere/name:abc" in done.stdout
