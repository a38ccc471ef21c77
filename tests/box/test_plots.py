"""Figures of matplotlib come back as files of the output folder, without the code doing anything special."""

from __future__ import annotations

import asyncio

import pytest

from drydock.box.collect import Collected, collect
from drydock.box.limits import Limits
from drydock.box.pool import Pool
from tests.box.conftest import ENV, WORK, Fleet, python

PNG = b"\x89PNG\r\n\x1a\n"
BEGIN = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"


class Drawn(dict[str, bytes]):
    stderr = b""


def draw(fleet: Fleet, pool: Pool, code: str) -> Drawn:
    """The files that the program leaves, by name."""
    found = Collected()

    async def take_out(root: int) -> None:
        nonlocal found
        found = await asyncio.to_thread(collect, root, "work/output")

    async def through() -> Drawn:
        program = python(code)
        asked = type(program)(
            script=program.script,
            files=program.files,
            folders=("output",),
            env={**ENV, "OUTPUT_DIR": f"{WORK}/output"},
        )
        outcome = await pool.run(asked, Limits(), collect=take_out)
        assert outcome.ended.reason == "completed", outcome
        drawn = Drawn(found.files)
        drawn.stderr = outcome.stderr
        return drawn

    return fleet.run(through())


def test_every_figure_that_is_shown_comes_back_once(fleet: Fleet, pool: Pool) -> None:
    code = BEGIN + "plt.figure(); plt.plot([2, 1]); plt.show(); plt.show(); plt.plot([3]); plt.show()"
    drawn = draw(fleet, pool, code)
    assert sorted(drawn) == ["figure-1.png", "figure-2.png", "figure-3.png"]
    assert all(data.startswith(PNG) for data in drawn.values())
    assert drawn["figure-1.png"] != drawn["figure-2.png"]
    assert drawn.stderr == b""


def test_a_figure_saved_elsewhere_comes_back_too(fleet: Fleet, pool: Pool) -> None:
    drawn = draw(fleet, pool, BEGIN + "plt.savefig('mine.png'); plt.savefig('no-ending'); plt.savefig('/tmp/t.png')")
    assert sorted(drawn) == ["mine.png", "no-ending.png", "t.png"]


@pytest.mark.parametrize("folder", ["", "output/", "/tmp/"])
def test_beside_another_format_there_is_a_png(fleet: Fleet, pool: Pool, folder: str) -> None:
    drawn = draw(fleet, pool, BEGIN + f"plt.savefig('{folder}a.pdf'); plt.savefig('{folder}b.svg')")
    assert sorted(drawn) == ["a.pdf", "a.png", "b.png", "b.svg"]
    assert drawn["a.png"].startswith(PNG)
    assert drawn["a.pdf"].startswith(b"%PDF")


def test_a_figure_saved_again_comes_back_as_it_was_last(fleet: Fleet, pool: Pool) -> None:
    once = draw(fleet, pool, BEGIN + "plt.savefig('a.png')")
    again = draw(fleet, pool, BEGIN + "plt.savefig('a.pdf'); plt.savefig('a.png'); plt.plot([5]); plt.savefig('a.png')")
    assert sorted(again) == ["a.pdf", "a.png"]
    assert again["a.png"] != once["a.png"]
    assert again.stderr == b""


def test_two_figures_of_one_name_both_come_back_and_nothing_of_the_codes_own_is_touched(
    fleet: Fleet, pool: Pool
) -> None:
    code = BEGIN + "plt.savefig('/tmp/a.png'); plt.plot([9]); plt.savefig('a.png')\n"
    code += "open('output/own.png', 'w').write('own'); plt.savefig('own.png'); plt.savefig('/tmp/own.pdf')"
    drawn = draw(fleet, pool, code)
    assert sorted(drawn) == ["a-1.png", "a.png", "own-1.png", "own.pdf", "own.png"]
    assert drawn["a.png"] != drawn["a-1.png"]
    assert drawn["own.png"] == b"own"
    assert drawn.stderr == b""


def test_without_an_output_folder_the_code_goes_on(fleet: Fleet, pool: Pool) -> None:
    drawn = draw(fleet, pool, BEGIN + "import os; os.rmdir('output'); plt.savefig('a.png'); print(1)")
    assert drawn == {}
    assert b"could not be brought back" in drawn.stderr


def test_code_that_has_a_back_end_of_its_own_keeps_it(fleet: Fleet, pool: Pool) -> None:
    code = (
        "import matplotlib\nmatplotlib.use('svg')\nimport matplotlib.pyplot as plt\nassert plt.get_backend() == 'svg'"
    )
    assert draw(fleet, pool, code) == {}
