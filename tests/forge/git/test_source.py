"""What may be cloned and what may be pushed, judged from its spelling before any process starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.egress.address import Kind
from drydock.errors import Invalid, RepositoryRefused
from drydock.forge.git.credential import of_token
from drydock.forge.git.refs import check_new_branch, check_ref, is_protected
from drydock.forge.git.source import Local, Remote, Sources

OPTIONS = "--upload-pack=touch /tmp/pwned"


@pytest.mark.parametrize(
    "text",
    [
        "",
        OPTIONS,
        "-u",
        "ext::sh -c 'touch /tmp/pwned'",
        "fd::17/foo",
        "file::/etc",
        "ssh://git@host.example/a/b.git",
        "ssh://-oProxyCommand=touch/a",
        "git@host.example:a/b.git",
        "git://host.example/a/b.git",
        "ftp://host.example/a/b.git",
        "http://host.example/a/b.git",
        "https://user:secret@host.example/a/b.git",
        "https://token@host.example/a/b.git",
        "https://host.example",
        "https://host.example/",
        "https://host.example/a/../b.git",
        "https://host.example/a/%2e%2e/b.git",
        "https://host.example/a%00b.git",
        "https://host.example/a.git?service=git-receive-pack",
        "https://host.example/a.git#main",
        "https://host.example/a/b.git/info/refs",
        "https://host.example/a/b.git/git-receive-pack",
        "https://host.example\\@evil.example/a.git",
        "https://host.example/a.git\nhttps://evil.example/b.git",
        "https://host.example/a b.git",
        "https://2130706433/a.git",
        "https://0x7f.1/a.git",
        "https://[::1/a.git",
        "https://" + "a" * 5000 + ".example/b.git",
        "../../etc",
        "host.example/a/b.git",
        "/etc",
        "file:///etc",
        "file://host.example/srv/a.git",
        "/nowhere/at/all",
        "/etc\0",
    ],
)
def test_an_address_that_is_none_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(RepositoryRefused) as refused:
        Sources([], [Path("/srv")]).read(text)
    assert refused.value.where == "repo"
    assert "secret" not in refused.value.message


def test_an_address_by_https_is_taken_and_reaches_public_hosts_alone() -> None:
    source = Sources([], []).read("https://Host.Example/acme/demo.git/")
    assert isinstance(source, Remote)
    assert (str(source), source.furthest) == ("https://host.example/acme/demo.git", Kind.PUBLIC)


@pytest.mark.parametrize("allowed", ["git.example", "git.example:8080"])
def test_a_host_that_the_operator_allows_may_be_private_and_plain(allowed: str) -> None:
    source = Sources([allowed], []).read("http://git.example:8080/a.git")
    assert isinstance(source, Remote)
    assert source.furthest is Kind.LOOPBACK


def test_a_port_that_is_not_allowed_is_another_host() -> None:
    with pytest.raises(RepositoryRefused, match="plain http"):
        Sources(["git.example:8080"], []).read("http://git.example:8081/a.git")


def test_a_folder_below_an_allowed_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "srv" / "a.git").mkdir(parents=True)
    for text in (f"{tmp_path}/srv/a.git", f"file://{tmp_path}/srv/a.git"):
        assert Sources([], [tmp_path / "srv"]).read(text) == Local(tmp_path / "srv" / "a.git")


def test_a_link_in_an_allowed_folder_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "srv").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "srv" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(RepositoryRefused):
        Sources([], [tmp_path / "srv"]).read(f"{tmp_path}/srv/link")
    with pytest.raises(RepositoryRefused):
        Sources([], [tmp_path / "srv"]).read(f"{tmp_path}/srv/../secret")


def test_a_folder_whose_name_begins_like_an_allowed_one_is_not_below_it(tmp_path: Path) -> None:
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv-other").mkdir()
    with pytest.raises(RepositoryRefused):
        Sources([], [tmp_path / "srv"]).read(f"{tmp_path}/srv-other")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-",
        OPTIONS,
        "--force",
        "a..b",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a\nb",
        "a\0b",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "@",
        "a@{1}",
        "a" * 300,
        "+a",
        "a\u202eb",
        "\udcff",
    ],
)
def test_a_name_that_no_branch_can_have_is_refused(name: str) -> None:
    if name == "+a":  # git takes it, and so it is quoted nowhere but behind a hash and a full name
        assert check_ref(name) == name
        return
    with pytest.raises(RepositoryRefused):
        check_ref(name)


@pytest.mark.parametrize("name", ["HEAD", "head", "FETCH_HEAD", "refs/heads/main", "deadbeef", "0" * 40])
def test_a_new_branch_is_not_called_like_a_commit_or_a_reference(name: str) -> None:
    with pytest.raises(RepositoryRefused):
        check_new_branch(name)


@pytest.mark.parametrize("name", ["polychat/feature-1799139601000", "a", "fix/ü", "v1.2", "a-b_c"])
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert check_new_branch(name) == name


@pytest.mark.parametrize("branch", ["main", "MAIN", "develop", "release/1.0", "Release/2"])
def test_default_and_listed_branches_are_protected_in_any_case(branch: str) -> None:
    assert is_protected(branch, "develop", ["main", "release/*"])


def test_other_branches_are_not_protected() -> None:
    assert not is_protected("drydock/main", "main", ["main", "release/*"])


@pytest.mark.parametrize("token", ["", " ", "a\nHost: evil", "a\0", "ü"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(Invalid) as refused:
        of_token(token)
    assert "evil" not in refused.value.message
