"""`drydock doctor` finds the wall sound where it stands, and says so loudly where there is none."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from drydock.cli import doctor
from tests.e2e.conftest import DRYDOCK, own_environment
from tests.standins.plain_executor import PlainExecutor

DANGEROUS_WITHOUT_A_BOX = {"memory ends where its limit is", "processes end where their limit is"}
SAME_WITHOUT_A_BOX = {
    "a program runs and its end is told",
    "its time is over when it is over",
    # The collector of the plain executor follows no links either, and it kills by process group.
    "no link out of the box is followed",
    "a child that leaves its session does not outlive it",
}


def test_every_proof_holds_on_this_host(tmp_path: Path) -> None:
    done = subprocess.run([DRYDOCK, "doctor"], cwd=tmp_path, env=own_environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("isolation: box; languages: python")
    assert done.stdout.count("\nok      ") == len(doctor.PROOFS)


@pytest.mark.parametrize(
    "proof",
    [proof for proof in doctor.PROOFS if proof.name not in DANGEROUS_WITHOUT_A_BOX | SAME_WITHOUT_A_BOX],
    ids=lambda proof: proof.name,
)
def test_where_there_is_no_wall_the_proof_fails(proof: doctor.Proof, tmp_path: Path) -> None:
    async def tried() -> bool:
        executor = PlainExecutor()
        await executor.open()
        try:
            with doctor.planted(tmp_path) as host:
                return proof.holds(await executor.execute(proof.request(host)), host)
        finally:
            await executor.close()

    assert not asyncio.run(tried())


def test_what_keeps_boxes_from_being_made_is_said(tmp_path: Path) -> None:
    environ = own_environment() | {"DRYDOCK_PYTHON": "/nowhere/python3"}
    done = subprocess.run([DRYDOCK, "doctor"], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("drydock: ")
    assert "/nowhere/python3" in done.stderr
    assert "Traceback" not in done.stderr
