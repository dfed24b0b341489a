"""Ask OSV, the database of known vulnerabilities, about every package of requirements.lock (make audit).

The exit code is 1 if a vulnerability is known, else 0. If the database cannot be reached, or its answer cannot be read,
nothing was checked: it then prints "skipped", never that all is well. WAIVED lists findings that do not concern corml,
each with a date: after it the finding counts again.
"""

import datetime
import json
import sys
import urllib.request

from lock import read

OSV = "https://api.osv.dev/v1/querybatch"
WAIVED: dict[str, tuple[str, str]] = {}  # id of a finding -> (last day, why)


def known(pinned: dict[str, str], address: str = OSV) -> dict[str, list[str]]:
    """The ids of the known vulnerabilities of each package that has any."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": pinned[name]} for name in pinned]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", "User-Agent": "corml"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        results = json.load(answer)["results"]
    found = {name: [one["id"] for one in result.get("vulns", [])] for name, result in zip(pinned, results, strict=True)}
    return {name: ids for name, ids in found.items() if ids}


def open_findings(found: dict[str, list[str]], today: str) -> dict[str, list[str]]:
    """The findings that are not waived today."""
    left = {name: [one for one in ids if WAIVED.get(one, ("", ""))[0] < today] for name, ids in found.items()}
    return {name: ids for name, ids in left.items() if ids}


def main(address: str = OSV) -> int:
    """Print the outcome and return the exit code."""
    pinned = {name: one.version for name, one in read().items()}
    try:
        found = known(pinned, address)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        print(f"skipped: {address} could not be asked ({type(fault).__name__}: {fault}); nothing was checked")
        return 0
    left = open_findings(found, datetime.date.today().isoformat())
    for name, ids in left.items():
        print(f"{name} {pinned[name]}: {', '.join(ids)}")
    print(f"{len(pinned)} packages checked, {len(left)} with known vulnerabilities")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
