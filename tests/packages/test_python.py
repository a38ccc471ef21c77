"""Python requirements: installed once in a box, mounted ever after."""

from __future__ import annotations

from tests.packages.shop import Shop
from tests.standins.index import Index
from tests.standins.wheels import sdist, wheel


def test_a_requirement_of_the_index_can_be_imported(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha", "1.5", requires=["beta>=2"]), sdist("beta", "2.1"))
    told = shop.code("import alpha, beta; print(alpha.__version__, beta.__version__)", "alpha")
    assert (told["status"], told["stdout"], told["stderr"]) == ("success", "1.5 2.1\n", "")


def test_the_same_list_in_any_order_is_installed_once(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"), wheel("beta"))
    code = "import alpha, beta; print('both')"
    first = shop.ask(code, "alpha", "beta")
    asked = len(index.asked)
    again = shop.ask(code, "beta", " alpha ", "beta")
    assert (first.json()["stdout"], again.json()["stdout"]) == ("both\n", "both\n")
    assert len(index.asked) == asked
    assert first.headers["x-packages"].startswith("miss; ")
    assert again.headers["x-packages"].startswith("hit; ")
    assert len(shop.layers()) == 1


def test_what_no_index_has_is_a_failed_installation_and_the_code_does_not_run(shop: Shop) -> None:
    told = shop.code("open('output/ran', 'w')", "nonexistent-pkg-zz", timeout_seconds=20)
    assert (told["status"], told["exit_code"], told["execution_time_ms"], told["stdout"]) == ("error", -1, 0, "")
    assert told["stderr"].startswith("package installation failed: ")
    assert "nonexistent-pkg-zz" in told["stderr"]
    assert told["end_reason"] == "install_failed"
    assert "files_produced" not in told
    assert shop.remains() == []
