"""`python -m bench [NAME...]`: run the benches, say each figure with its verdict, note them in results.md."""

from __future__ import annotations

import argparse
import importlib
import sys

from bench.figure import Figure, as_json, note

BENCHES = ("code", "idle", "kill", "packages", "trees", "runs")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("name", nargs="*", choices=[*BENCHES, []], help="all of them when none is named")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    parser.add_argument("--no-note", action="store_true", help="do not append to results.md")
    asked = parser.parse_args()
    figures: list[Figure] = []
    for name in asked.name or BENCHES:
        for figure in importlib.import_module(f"bench.{name}").measure():
            figures.append(figure)
            print(figure, file=sys.stderr if asked.json else sys.stdout, flush=True)
    if asked.json:
        print(as_json(figures))
    if not asked.no_note:
        note(figures)
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
