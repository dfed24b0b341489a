"""Run the attack (python -m attack [SURFACE …] [--short] [--cases N] [--only NUMBER])."""

import argparse
import importlib
import sys

from attack import arena


def main() -> int:
    """Run what was asked for, print a table and every kind of finding; the exit code is 1 if there is any."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("surfaces", nargs="*", default=list(arena.SURFACES), metavar="SURFACE")
    parser.add_argument("--short", action="store_true", help="as many cases as the tests run")
    parser.add_argument("--cases", type=int, help="so many of each")
    parser.add_argument("--only", type=int, help="this case alone, with its traceback")
    given = parser.parse_args()
    found = 0
    for surface in given.surfaces:
        module = importlib.import_module(f"attack.{surface}")
        count = given.cases or (module.SHORT if given.short else module.FULL)
        report = arena.run(surface, [given.only] if given.only is not None else range(count))
        print("  ".join(report.row()), flush=True)
        found += len(report.findings)
        for kind, numbers in _kinds(report).items():
            print(f"  {len(numbers):,} times, for example {numbers[:5]}: {kind}")
            print("    " + report.findings[numbers[0]][-3000:].replace("\n", "\n    "), flush=True)
    return int(found > 0)


def _kinds(report: arena.Report) -> dict[str, list[int]]:
    """Findings by their last line, and where they come from."""
    kinds: dict[str, list[int]] = {}
    for number, words in report.findings.items():
        lines = words.strip().splitlines()
        place = [line.strip() for line in lines if line.strip().startswith("File") and "corml" in line]
        kinds.setdefault(f"{lines[-1][:100]} | {place[-1] if place else ''}", []).append(number)
    return dict(sorted(kinds.items(), key=lambda pair: -len(pair[1])))


if __name__ == "__main__":
    sys.exit(main())
