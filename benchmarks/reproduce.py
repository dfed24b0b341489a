"""An experiment of `corml reproduce`, recorded (run: python benchmarks/reproduce.py NAME DATA[,DATA] [MODELS] FOLDER).

NAME is table, novelty, mix, weights, speed, ablation, leaderboard or strong; FOLDER keeps every finished fit, so that a
run that was stopped goes on. Writes results/reproduce/NAME-DATA.json for each data set.
"""

import sys

from _record import ROOT, begin, command, write

from corml.experiments.reproduce import reproduce


def run(name: str, data: str, models: list[str] | None, folder: str) -> None:
    begun = begin()
    outcome = reproduce(
        name, data=[data], models=models, folder=folder, command=command(), notify=lambda text: print(text, flush=True)
    )
    record = outcome.record()
    begun["data fingerprint"] = record.pop("data fingerprint")
    record.pop("provenance")
    path = write(f"reproduce/{name}-{data}", begun, record)
    print(outcome.to_text(), path.relative_to(ROOT), flush=True)


if __name__ == "__main__":
    name, data, *models, folder = sys.argv[1:]
    for one in data.split(","):
        run(name, one, models[0].split(",") if models else None, folder)
