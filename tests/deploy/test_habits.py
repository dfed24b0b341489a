"""What runs elsewhere only calls make, and CONTRIBUTING.md names what is there."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PHONY = set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.M)[1].split())


def test_every_phony_target_has_a_rule():
    for target in PHONY:
        assert re.search(rf"^(?:[\w-]+ )*{target}(?: [\w-]+)*:", MAKEFILE, re.M), target


def test_the_workflow_only_calls_make():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))["jobs"]
    for job in jobs.values():
        targets = job["strategy"]["matrix"].get("target", ["test"])
        runs = [step["run"] for step in job["steps"] if "run" in step]
        assert runs == ["make ${{ matrix.target }}"] if "target" in job["strategy"]["matrix"] else ["make test"]
        assert set(targets) <= PHONY


def test_hooks_before_a_commit_only_call_make():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    assert {hook["entry"] for hook in hooks} <= {f"make {target}" for target in PHONY}
    assert all(hook["language"] == "system" and not hook["pass_filenames"] for hook in hooks)


def test_contributors_are_told_of_targets_and_files_that_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert set(re.findall(r"`make ([\w-]+)", page)) <= PHONY
    assert {"demo", "quick", "check", "test", "release"} <= set(re.findall(r"`make ([\w-]+)", page))
    for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", page):
        assert (ROOT / name).exists() or name.startswith("dist/"), name


def test_the_changelog_sorts_changes_by_kind():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert next(iter(versions)) == "Unreleased"
    assert re.findall(r"^### (.+)$", versions["Unreleased"], re.M) == ["Added", "Changed", "Removed", "Fixed"]
    for version, changes in versions.items():
        assert version == "Unreleased" or re.match(r"\d+\.\d+\.\d+\b", version)
        assert set(re.findall(r"^### (.+)$", changes, re.M)) <= {"Added", "Changed", "Removed", "Fixed"}
