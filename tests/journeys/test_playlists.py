"""Playlists in JSON Lines: tracks with commas and other letters, several genres, a dial from hits to finds."""

import json

import numpy as np
import polars as pl
import pytest

from journeys.facts import assert_explained, assert_lists, known_pairs
from journeys.program import Shell

MOODS = ("rainy, slow", "Tanz Ö", "早晨", 'the "loud" one', "🎷 late")


@pytest.fixture
def playlists(shop):
    """Who has what in the shop, as playlists of tracks; the last tenth of the playlists is made later."""
    had = shop.events.drop_nulls(["customer_id", "sku"]).unique(["customer_id", "sku"], maintain_order=True)
    mood = pl.lit(pl.Series(MOODS, dtype=pl.String)).gather(pl.col("sku").cast(pl.Int64) % len(MOODS))
    rows = had.select(playlist="customer_id", track=pl.concat_str(pl.col("sku"), pl.lit(" "), mood), added_at="time")
    later = rows["playlist"].unique().sort().sample(fraction=0.1, seed=2).implode()
    return rows.filter(~pl.col("playlist").is_in(later)), rows.filter(pl.col("playlist").is_in(later))


def write(rows, path):
    """A record for each playlist; their numbers are numbers."""
    made = rows.group_by("playlist", maintain_order=True).agg("track", pl.col("added_at").max())
    lines = []
    for playlist, tracks, at in made.iter_rows():
        lines.append(json.dumps({"playlist": playlist, "tracks": tracks, "saved_at": at.isoformat()}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tracks(shop, tracks, path):
    """What is known of tracks, nested as in an API: an artist, several genres, a length."""
    about = shop.items.select("sku", "brand", "category", "price").rows_by_key("sku", unique=True)
    with open(path, "w", encoding="utf-8") as out:
        for track in tracks:
            artist, genres, length = about[track[:6]]
            record = {"track": track, "artist": artist, "genres": genres.split("|"), "minutes": length}
            print(json.dumps(record, ensure_ascii=False), file=out)


READING = ["--item-lists", "--user", "playlist", "--item", "tracks", "--time", "saved_at"]
READING += ["--k-core", 3, "--items", "tracks.jsonl"]


def test_playlists_in_json_lines_are_continued_from_hits_to_finds(shop, playlists, tmp_path):
    shell, (old, new) = Shell(tmp_path), playlists
    had = known_pairs(old, user="playlist", item="track")
    write(old, shell / "playlists.jsonl")
    write(new, shell / "new.jsonl")
    write_tracks(shop, pl.concat(playlists)["track"].unique().sort(), shell / "tracks.jsonl")

    # the data read back as they were written, letter for letter
    facts = shell.corml("data", "info", "playlists.jsonl", *READING, "--json").json["facts"]
    assert facts["rows read"] == len(old)
    assert facts["repeated rows"] == 0
    shell.corml("data", "convert", "playlists.jsonl", "all.parquet", *READING[:7])
    pairs = pl.read_parquet(shell / "all.parquet").select("user", "item")
    assert set(pairs.iter_rows()) == {(user, track) for user, tracks in had.items() for track in tracks}

    # a dial from hits to finds, which is better than hits alone
    study = ["compare", "playlists.jsonl", *READING, "--models", "corml,item-knn,popularity", "-m", "ndcg@10", "--json"]
    means = {entry["label"]: entry["means"]["ndcg@10"] for entry in shell.corml(*study).json["models"]}
    assert means["corml"] > 1.2 * means["popularity"]
    shell.corml("fit", "playlists.jsonl", *READING, "--model", "corml-dial", "--split", "ratio", "--out", "p.corml")
    users = old.group_by("track").len()
    popularity = []
    for novelty in (0, 0.5, 1):
        shell.corml("recommend", "p.corml", "--all", "--novelty", novelty, "--out", f"{novelty}.parquet")
        lists = pl.read_parquet(shell / f"{novelty}.parquet")
        assert_lists(lists, had, 10)
        popularity.append(lists.join(users, left_on="item", right_on="track")["len"].mean())
    assert popularity == sorted(popularity, reverse=True)
    assert popularity[0] > 1.05 * popularity[2]

    # one playlist is continued: by its tracks, commas and all, without more than two of an artist
    tracks = sorted(max(had.values(), key=len))[:4]
    words = [word for track in tracks for word in ("--item", track)]
    (shell / "mine.txt").write_text("\n".join(tracks), encoding="utf-8")
    asked = ["recommend", "p.corml", "-k", 20, "--json", "--max-per", "artist=2", "--exclude-where", "genres=Toys"]
    (one,) = shell.corml(*asked, *words).json
    (same,) = shell.corml(*asked, "--history", "@mine.txt").json
    assert one["items"] == same["items"]
    assert one["unknown"] == []
    listed = [item["item"] for item in one["items"]]
    assert not set(listed) & set(tracks)
    about = shop.items.select("sku", "brand", "category").rows_by_key("sku", unique=True)
    artists = [about[track[:6]][0] for track in listed]
    assert max(map(artists.count, artists)) <= 2
    assert not any("Toys" in about[track[:6]][1].split("|") for track in listed)
    history = ["--history", "@mine.txt"]
    (plain,) = shell.corml("recommend", "p.corml", *history, "--json").json
    why = shell.corml("explain", "p.corml", plain["items"][0]["item"], *history, "--json").json
    assert_explained(why, plain["items"][0]["score"])
    assert {part["item"] for part in why["contributions"]} <= set(tracks)

    # new playlists count at once
    update = shell.corml("update", "p.corml", "new.jsonl", "--json").json["update"]
    assert update["rows"] == len(new)
    assert update["new_users"] == new["playlist"].n_unique()
    (shell / "new.txt").write_text("\n".join(str(n) for n in new["playlist"].unique().sort()), encoding="utf-8")
    shell.corml("recommend", "p.corml", "--users", "new.txt", "--out", "new.json")
    lists = json.loads((shell / "new.json").read_text(encoding="utf-8"))
    theirs = known_pairs(new, user="playlist", item="track")
    for one in lists:
        assert not theirs[one["user"]] & {item["item"] for item in one["items"]}
        assert np.isfinite([item["score"] for item in one["items"]]).all()
    assert sum(one["source"] == "personal" for one in lists) > 0.9 * len(lists)
