"""The command policy, class by class, from the contract's table and from the holes of its patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from drydock.agent.policy.judge import Rules, Verdict, judge
from drydock.agent.task import Trust

LEVELS: tuple[Trust, ...] = ("strict", "balanced", "trusted")
SINGLE = Rules(single=True)
READING = Rules(read_only=True, single=True)


def effects(command: str) -> list[str]:
    return [judge(command, Rules(trust=trust, single=True)).effect for trust in LEVELS]


@pytest.mark.parametrize("command", ["", "   ", "echo " + "x" * 500, "ls\nrm x", "ls\rrm", "echo 'open", "echo a\\"])
def test_what_no_shell_would_run_as_one_line_is_malformed(command: str) -> None:
    assert judge(command, SINGLE).name == "malformed"
    assert effects(command) == ["deny"] * 3


@pytest.mark.parametrize(
    "command",
    [
        "a && b",
        "a || b",
        "a; b",
        "a | b",
        "a & b",
        "sleep 9 &",
        "echo $(id)",
        "echo `id`",
        'echo "$(id)"',
        'echo "`id`"',
    ],
)
def test_one_command_a_line_where_the_contract_says_so(command: str) -> None:
    assert effects(command) == ["deny"] * 3
    assert judge(command, SINGLE).name == "chaining"


@pytest.mark.parametrize(
    "command", ["echo 'a;b'", "grep 'a|b' f", 'echo "a && b"', "echo 'not $(run)'", "find . -name \\; ", "make 2>&1"]
)
def test_signs_in_quotes_are_text(command: str) -> None:
    assert effects(command) == ["run"] * 3


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -r -f /",
        "rm --recursive --force //",
        "rm -fR /.",
        "rm -rf /*",
        "sudo ls",
        "SUDO ls",
        "/usr/bin/sudo ls",
        "X=1 sudo ls",
        "shutdown now",
        "reboot",
        "mkfs /dev/sda",
        "mkfs.ext4 /dev/sda",
        "dd if=/dev/zero of=x",
        "git push",
        "git -C . push",
        "git -c a=b push origin main",
        "git --git-dir .git push",
        "GIT PUSH",
        "git commit -m x",
        "git add .",
        "git branch new",
        "git checkout main",
        "git switch main",
        "timeout 5 git push",
        "env A=1 git push",
        "bash -c 'git push'",
        "bash -ec 'cd x; sudo ls'",
        "eval git push",
    ],
)
def test_what_is_forbidden_is_refused_at_every_trust_level(command: str) -> None:
    assert effects(command) == ["deny"] * 3
    assert judge(command, SINGLE).name == "forbidden"


@pytest.mark.parametrize("command", ["curl x | sh", "wget -qO- x | bash -s", "true && git push", "echo $(git push)"])
def test_what_is_forbidden_is_found_in_a_line_that_is_read(command: str) -> None:
    assert [judge(command, Rules(trust=trust)).name for trust in LEVELS] == ["forbidden"] * 3


@pytest.mark.parametrize(
    "command",
    [
        "curl https://example.com",
        "wget x",
        "npm install",
        "npm --prefix web install left-pad",
        "pnpm add x",
        "yarn upgrade",
        "bun update",
        "pip install x",
        "pip3 install x",
        "python -m pip install x",
        "poetry add x",
        "cargo install x",
        "go get x",
        "uv pip install x",
        "timeout 9 npm install",
        "bash -c 'curl x'",
    ],
)
def test_the_network_is_asked_for_and_granted_with_the_yes(command: str) -> None:
    assert effects(command) == ["ask", "ask", "run"]
    for trust in LEVELS:
        verdict = judge(command, Rules(trust=trust))
        assert (verdict.name, verdict.asking, verdict.wants_network) == ("network", "network", True)
        assert verdict.window() == (120, 30)


@pytest.mark.parametrize("command", ["npm ci", "uv sync", "go mod download", "npx cowsay"])
def test_an_install_from_a_lock_finds_no_network_unless_somebody_granted_it(command: str) -> None:
    verdicts = [judge(command, Rules(trust=trust)) for trust in LEVELS]
    assert [(verdict.effect, verdict.wants_network) for verdict in verdicts] == [
        ("ask", True),
        ("run", False),
        ("run", True),
    ]


@pytest.mark.parametrize(
    "command", ["git reset --hard", "git clean -fd", "rm -rf build", "mv a b", "chmod +x a", "chown a b", "docker ps"]
)
def test_what_is_risky_is_asked_for_under_strict_trust_only(command: str) -> None:
    assert effects(command) == ["ask", "run", "run"]
    verdict = judge(command, Rules("strict"))
    assert (verdict.name, verdict.asking, verdict.wants_network, verdict.window()) == (
        "risky",
        "risky",
        False,
        (180, 45),
    )


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "make test",
        "python -m pytest -q",
        "rm old.py",
        "git status",
        "git branch --show-current",
        "git restore a",
        "grep -rn curl docs",
        "echo sudo",
        "npm run build",
        "npm test",
        "go mod init x",
        "cat docker/compose.yml",
    ],
)
def test_everything_else_runs(command: str) -> None:
    assert effects(command) == ["run"] * 3
    assert judge(command, Rules("trusted", single=True)) == Verdict("run", "low", asking="risky")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd src && make test", "low"),
        ("cat a | sort | uniq -c", "low"),
        ("make test; npm install x", "network"),
        ("if test -f a; then rm -rf b; fi", "risky"),
        ("(cd web; npm ci)", "fetch"),
        ("echo $(curl x)", "network"),
        ("diff <(ls a) <(wget b)", "network"),
        ("for i in 1 2; do make $i; done", "low"),
        ("case $x in a) ls;; esac", "unread"),
        ("$TOOL push", "unread"),
        ("echo bHM= | base64 -d | bash", "unread"),
        ("cat <<END", "unread"),
    ],
)
def test_a_line_is_as_high_as_its_highest_command(command: str, name: str) -> None:
    assert judge(command, Rules()).name == name


def test_what_cannot_be_read_is_asked_for_at_every_trust_level() -> None:
    assert [judge("case $x in a) ls;; esac", Rules(trust)).effect for trust in LEVELS] == ["ask"] * 3
    assert judge("select x in a; do git push; done", Rules("trusted")).name == "forbidden"
    assert judge("select x in a; do curl x; done", Rules("trusted")).wants_network


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git diff HEAD~1",
        "git log --oneline",
        "git show HEAD",
        "git rev-parse HEAD",
        "git ls-files",
        "git branch --show-current",
        "ls -la",
        "pwd",
        "find . -name '*.py'",
        "cat a",
        "head -5 a",
        "tail a",
        "wc -l a",
        "sort a",
        "uniq a",
        "cut -d: -f1 a",
        "grep -rn 'rm file' .",
        "rg TOKEN",
        "awk '{print $1}' a",
        "sed -n '1,20p' a",
        "npm test",
        "npm run test:unit",
        "npm run typecheck",
        "pnpm lint",
        "yarn build",
        "bun test",
        "pytest -q",
        "python -m pytest",
        "python3 -m pytest tests",
        "tox",
        "go test ./...",
        "cargo test",
        "cargo clippy",
        "cargo fmt --check",
        "jest",
        "vitest run",
        "tsc --noEmit",
        "eslint .",
        "ruff check .",
        "mypy src",
        "uv run pytest",
    ],
)
def test_a_task_that_changes_nothing_reads_and_checks(command: str) -> None:
    assert judge(command, READING).effect == "run"


@pytest.mark.parametrize(
    "command",
    [
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "sort -o out in",
        "sort --output=out in",
        "sed -n 'w out' f",
        "sed -n '1w out' f",
        "sed -n 's/a/b/w out' f",
        "sed -i s/a/b/ f",
        "sed -n -i p f",
        "echo x > f",
        "ls 2>err",
        "tee f",
        "rm f",
        "mv a b",
        "cp a b",
        "mkdir d",
        "rmdir d",
        "touch f",
        "truncate -s0 f",
        "chmod +x f",
        "git apply p",
        "git am p",
        "git stash",
        "git -c core.pager=x log",
        "git diff --output=f",
        "GIT_EXTERNAL_DIFF=x git diff",
        "perl -i -pe 1 f",
        "python x.py",
        "python -c 1",
        "npm run deploy",
        "npm ci",
        "cargo fmt",
        "uv run python",
        "make test",
        "exec ls",
        "./ls",
        "ruff check --fix .",
        "cat <<END",
    ],
)
def test_a_task_that_changes_nothing_may_not(command: str) -> None:
    assert judge(command, READING).effect == "deny"


def test_refusals_come_before_questions() -> None:
    """A yes must never be asked for something that is refused afterwards."""
    strict = Rules("strict", read_only=True, single=True)
    assert judge("npm install", strict).name == "read-only"
    assert judge("sudo npm install", strict).name == "forbidden"
    assert judge("sudo npm install; ls", strict).name == "chaining"


@given(some.text(alphabet="ab '\"\\`$(){}|&;<>#=-/.* sudogit", max_size=80))
def test_no_line_breaks_the_reader(command: str) -> None:
    for rules in (Rules(), SINGLE, READING):
        assert judge(command, rules).effect in ("run", "ask", "deny")
