"""What passes for a requirement, and what is refused before an installer hears of it."""

from __future__ import annotations

import pytest

from drydock.egress.grants import Ecosystem
from drydock.errors import Invalid
from drydock.packages import specifiers

FINE: list[tuple[Ecosystem, str]] = [
    ("pypi", "numpy"),
    ("pypi", "numpy==1.26.4"),
    ("pypi", "numpy >= 1.2, < 2"),
    ("pypi", "numpy (>=1)"),
    ("pypi", "requests[socks, use_chardet_on_py3]~=2.31"),
    ("pypi", "alpha ; python_version < '3.12'"),
    ("pypi", "alpha;python_version>='3.8' and (os_name=='posix' or sys_platform != \"win32\")"),
    ("pypi", "alpha; 'linux' in sys_platform and platform_machine not in 'x86 arm'"),
    ("pypi", "alpha==1.0 ; extra == ''"),
    ("npm", "left-pad"),
    ("npm", "@scope/name@^1.2 || 2"),
    ("npm", "name@>=1 <2"),
    ("npm", "~odd"),
]
REFUSED: list[tuple[Ecosystem, str]] = [
    ("pypi", "alpha==1;--index-url"),
    ("pypi", "alpha;extra=='x' --pre"),
    ("pypi", "alpha ; os_name=='x' or 'aaa"),
    ("pypi", "alpha;"),
    ("pypi", "alpha;'(((("),
    ("pypi", "alpha ; os_name"),
    ("pypi", "alpha ; os_name == 'a' --hash=sha256"),
    ("pypi", "-e ."),
    ("pypi", "alpha\u200b"),
    ("pypi", "\uff41lpha"),
    ("pypi", "alpha\\"),
    ("pypi", "alpha\r"),
    ("pypi", "a" * 600),
    ("npm", "--global"),
    ("npm", "-g"),
    ("npm", "@-scope/name"),
    ("npm", "a@npm:b"),
    ("npm", "a@file:."),
    ("npm", "__proto__"),
    ("npm", ".bin"),
]


@pytest.mark.parametrize(("ecosystem", "entry"), FINE)
def test_names_versions_and_markers_pass(ecosystem: Ecosystem, entry: str) -> None:
    specifiers.check([entry], ecosystem, urls=False)


@pytest.mark.parametrize(("ecosystem", "entry"), REFUSED, ids=repr)
def test_whatever_else_is_refused_by_its_text(ecosystem: Ecosystem, entry: str) -> None:
    with pytest.raises(Invalid) as refused:
        specifiers.check(["fine", entry], ecosystem, urls=False)
    assert entry[:512] in refused.value.message


@pytest.mark.parametrize(
    "text", ["alpha;" + "(" * 500, "alpha;" + "a" * 500, "alpha;" + "a==a and " * 55, "a[" + "," * 500]
)
def test_a_requirement_that_tries_to_be_slow_is_judged_at_once(text: str) -> None:
    with pytest.raises(Invalid):
        specifiers.check([text[:511] + "!"] * 200, "pypi", urls=False)
