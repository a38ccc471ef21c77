"""`drydock doctor`: every tier of isolation proved on this host, by programs that try to get out."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from drydock.settings import Settings

TIERS = ("box", "gvisor", "process")
UNPRIVILEGED_S = 120
MARKS = {"holds": "ok", "fails": "FAILED", "not promised": "-"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--tier", "tiers", type=click.Choice(TIERS), multiple=True, help="Try this tier alone; may be repeated.")
def doctor(as_json: bool, tiers: tuple[str, ...]) -> None:
    """Prove on this host that boxes hold, with programs that try to get out.

    Each tier of isolation is tried; as root, boxes are also tried as a user who is not. Ends with 1 when a promise is
    broken, or when the tier of the settings cannot be had. Runs beside a server without disturbing it.
    """
    from drydock.settings import load

    with tempfile.TemporaryDirectory(prefix="drydock-doctor-") as folder:
        settings = load({"data": folder, "max_concurrent": 1})
        surveyed = asyncio.run(_survey(settings, tiers or TIERS))
    if not tiers and os.geteuid() == 0:
        surveyed.insert(1, _without_root(settings))
    wanted = [each for each in surveyed if each["tier"] == settings.isolation and each["root"] == (os.geteuid() == 0)]
    sound = all(each["sound"] for each in surveyed) and all(each["available"] for each in wanted)
    if as_json:
        click.echo(json.dumps({"sound": sound, "tiers": surveyed}, indent=2))
    else:
        for each in surveyed:
            click.echo("\n".join(table(each)))
        click.echo("Every promise holds here." if sound else "NOT SOUND: see the lines marked FAILED or missing above.")
    sys.exit(0 if sound else 1)


async def _survey(settings: Settings, tiers: Iterable[str]) -> list[dict[str, Any]]:
    from drydock.box.limits import Limits
    from drydock.box.proof.survey import survey
    from drydock.box.tier import STRENGTH
    from drydock.box.yard import Yard
    from drydock.errors import CannotStart
    from drydock.observe.log import Log

    names = [name for name in STRENGTH if name in tiers]
    names.sort(key=TIERS.index)
    try:
        # Attempts break boxes, as they should: what is to be told of that is in the findings.
        log = Log("error", io.StringIO())
        yard = Yard.open(settings.python, settings.data, settings.uid_base, Limits(), log)
    except CannotStart as wrong:
        return [shown(name, missing=wrong.message, remedy=wrong.remedy) for name in names]
    try:
        found = []
        for name in names:
            one = await survey(yard, name)
            findings = [
                {"promise": f.promise, "name": f.name, "state": f.state, "seen": f.seen, "do": f.remedy}
                for f in one.findings
            ]
            found.append(
                shown(name, one.about, one.missing, one.remedy, lost=one.lost, cannot=one.cannot, findings=findings)
            )
        return found
    finally:
        yard.close()


def shown(
    tier: str,
    about: str = "",
    missing: str = "",
    remedy: str = "",
    *,
    root: bool | None = None,
    lost: Iterable[str] = (),
    cannot: Iterable[str] = (),
    findings: Iterable[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """A tier as `--json` has it."""
    rows = list(findings)
    return {
        "tier": tier,
        "root": os.geteuid() == 0 if root is None else root,
        "available": not missing,
        "sound": not any(row["state"] == "fails" for row in rows),
        "about": about,
        "missing": missing,
        "do": remedy,
        "lost": list(lost),
        "cannot": list(cannot),
        "promises": rows,
    }


def table(tier: Mapping[str, Any]) -> Iterable[str]:
    yield f"{tier['tier']} ({'as root' if tier['root'] else 'without root'}): {tier['about'] or 'not available'}"
    if tier["missing"]:
        yield f"  missing  {tier['missing']}"
        yield f"           {tier['do']}"
    for words in tier["lost"]:
        yield f"  lost     {words}"
    for words in tier["cannot"]:
        yield f"  cannot   {words}"
    for row in tier["promises"]:
        note = f" ({row['seen']})" if row["seen"] and row["state"] == "holds" else ""
        yield f"  {MARKS[row['state']]:7}  {row['promise']:3}  {row['name']}{note}"
        if row["state"] == "fails":
            yield f"                seen: {row['seen']}"
            yield f"                do:   {row['do']}"
    yield ""


def _without_root(settings: Settings) -> dict[str, Any]:
    """The same boxes as a user without rights would have them, by a run of this command as one."""
    uid = settings.uid_base - 1
    command = [sys.executable, "-m", "drydock.cli", "doctor", "--json", "--tier", "box"]
    with tempfile.TemporaryDirectory(prefix="drydock-doctor-") as folder:
        Path(folder).chmod(0o777)
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={"PATH": os.environ.get("PATH", ""), "TMPDIR": folder, "DRYDOCK_PYTHON": str(settings.python)},
                user=uid,
                group=uid,
                extra_groups=[],
                capture_output=True,
                text=True,
                timeout=UNPRIVILEGED_S,
                check=False,
            )
            found: dict[str, Any] = json.loads(done.stdout)["tiers"][0]
        except (OSError, ValueError, subprocess.SubprocessError):
            return shown(
                "box",
                missing="Not tried: this installation cannot be read by another user",
                remedy="Run `drydock doctor` as the user that the server will have.",
                root=False,
            )
    return found
