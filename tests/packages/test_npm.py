"""npm packages under node: installed once in a box, found by `require` and `import` ever after."""

from __future__ import annotations

from tests.packages.shop import Shop
from tests.standins.index import Index
from tests.standins.wheels import tarball

REQUIRE = "console.log(require('@scope/alpha').version, require('beta').version)"


def test_packages_of_the_registry_can_be_required_and_are_installed_once(shop: Shop, index: Index) -> None:
    index.publish(tarball("@scope/alpha", "1.2.0", package={"dependencies": {"beta": "^1.0.0"}}), tarball("beta"))
    first = shop.ask(REQUIRE, "@scope/alpha@^1", "beta", language="node")
    asked = len(index.asked)
    again = shop.ask(REQUIRE, "beta", "@scope/alpha@^1", language="node")
    assert first.json()["stdout"] == again.json()["stdout"] == "1.2.0 1.0.0\n", first.json()
    assert again.headers["x-packages"].startswith("hit; ")
    assert len(index.asked) == asked


def test_a_module_of_the_new_kind_finds_them_too(shop: Shop, index: Index) -> None:
    index.publish(tarball("beta"))
    told = shop.native("import beta from 'beta'; console.log(beta.version)", "beta", language="node")
    assert told["stdout"] == "1.0.0\n"
    assert told["packages"]["lock"] == ["beta@1.0.0"]


def test_what_the_registry_has_not_is_a_failed_installation(shop: Shop) -> None:
    told = shop.code("console.log(1)", "nonexistent-pkg-zz", language="node")
    assert (told["exit_code"], told["end_reason"], told["stdout"]) == (-1, "install_failed", "")
    assert "nonexistent-pkg-zz" in told["stderr"]
    assert "127.0.0.1:8000" not in told["stderr"]


def test_programs_that_packages_bring_stay_out_and_do_no_harm(shop: Shop, index: Index) -> None:
    index.publish(tarball("alpha", files={"index.js": "module.exports = 1", "cli.js": ""}, package={"bin": "cli.js"}))
    told = shop.code(
        "console.log(require('alpha'), require('fs').readdirSync('/node_modules'))", "alpha", language="node"
    )
    assert told["stdout"] == "1 [ 'alpha' ]\n"


def test_install_scripts_run_in_the_build_box_and_what_they_made_is_kept(shop: Shop, index: Index) -> None:
    scripts = {"postinstall": "node make.js"}
    files = {"make.js": "require('fs').writeFileSync('index.js', 'module.exports = ' + process.getuid())"}
    index.publish(tarball("alpha", files=files, package={"scripts": scripts}))
    told = shop.code("console.log(require('alpha'))", "alpha", language="node")
    assert told["stdout"] == "1000\n", told
