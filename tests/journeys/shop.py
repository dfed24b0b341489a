"""A shop made up by a seed: what a year of events and a catalogue look like when they leave a database.

Users and items follow power laws, tastes come in clusters, events come in sessions. The tables are as untidy as real
ones: repeated rows, missing ids, times that cannot be right. Nothing depends on today's date.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)
DEPARTMENTS = (
    "Kitchen", "Garden", "Books", "Toys", "Shoes", "Music", "Sport", "Beauty", "Office", "Pets", "Travel", "Lamps",
)  # fmt: skip
SHELVES = ("Basics", "Gifts", "Outlet", "Premium")
WEIGHTS = {"view": 1, "cart": 3, "purchase": 10}
NEGATIVE = "return"
CATEGORY_BETWEEN = "|"


@dataclass(frozen=True)
class Shop:
    """Tables of one shop; `events` is sorted by time, and of the right types."""

    events: pl.DataFrame  # customer_id, sku, event, quantity, price, rating, time
    items: pl.DataFrame  # sku, title, category, brand, price, available_from, available_until
    arrivals: pl.DataFrame  # the same columns: new items that nobody has

    def before(self, moment):
        """The events before a moment."""
        return self.events.filter(pl.col("time") < moment)

    def since(self, moment):
        """The events from a moment on."""
        return self.events.filter(pl.col("time") >= moment)

    def between(self, first, end):
        """The events from one moment up to another one."""
        return self.events.filter((pl.col("time") >= first) & (pl.col("time") < end))

    def weeks_before_the_end(self, weeks):
        """A moment so many weeks before the last day."""
        return LAST - timedelta(weeks=weeks)


def make_shop(events=50_000, users=None, items=None, seed=1):
    """A shop of about so many events; users and items in the proportion of a middling shop, unless given.

    200,000 events are the full size of the journeys: they have 8,000 users and 3,000 items.
    """
    rng = np.random.default_rng(seed)
    n_users = users or max(40, events // 24)
    n_items = items or max(40, round(3100 * (events / 200_000) ** 0.6))
    catalogue = _catalogue(rng, n_items + max(4, n_items // 50))
    known = catalogue.head(n_items)
    arrivals = catalogue.tail(-n_items).with_columns(available_from=pl.lit(LAST).cast(pl.Datetime("us", "UTC")))
    table = _untidy(rng, _events(rng, events, n_users, known), known)
    columns = ["sku", "title", "category", "brand", "price", "available_from", "available_until"]
    return Shop(table, known.select(columns), arrivals.select(columns))


def _catalogue(rng, n):
    """Items with a department (their cluster), an appeal that falls like a power law, and attributes."""
    cluster = rng.integers(0, len(DEPARTMENTS), n)
    shelf = rng.choice(len(SHELVES), n, p=(0.5, 0.2, 0.2, 0.1))
    launch = np.where(rng.random(n) < 0.7, -rng.integers(1, 900, n), rng.integers(0, 330, n))  # days from FIRST
    ends = np.where(rng.random(n) < 0.1, np.maximum(launch + 30, 0) + rng.integers(1, 400, n), -1)
    number = rng.permutation(n)
    table = pl.DataFrame(
        {
            "number": number,
            "cluster": cluster,
            "shelf": shelf,
            "brand_number": (rng.pareto(1.2, n) * 3).astype(int) % 60,
            "price": np.round(np.exp(rng.normal(2.7, 0.9, n)) + 0.5, 2),
            "launch": launch,
            "ends": ends,
            "appeal": rng.permutation(1.0 / np.arange(1, n + 1) ** 0.8),
        }
    )
    departments, shelves = (pl.Series(values, dtype=pl.String) for values in (DEPARTMENTS, SHELVES))
    department = departments.gather(table["cluster"])
    first = pl.lit(FIRST).cast(pl.Datetime("us", "UTC"))
    return table.with_columns(
        sku=pl.col("number").cast(pl.String).str.zfill(6),  # a leading zero is part of the id
        title=department.str.to_lowercase() + " item no. " + pl.col("number").cast(pl.String),
        category=department + CATEGORY_BETWEEN + department + "/" + shelves.gather(table["shelf"]),
        brand=pl.lit("Brand ") + pl.col("brand_number").cast(pl.String),
        available_from=first + pl.duration(days=pl.col("launch")),
        available_until=pl.when(pl.col("ends") >= 0).then(first + pl.duration(days=pl.col("ends"))),
    )


def _events(rng, n, n_users, items):
    """Sessions of views by taste; a part of the views leads to a cart, a purchase, a return, a rating."""
    views = int(n * 0.95)  # what follows from views brings more rows than are needed
    sessions = max(1, views // 5)
    activity = rng.pareto(1.3, n_users) + 0.3
    user = np.concatenate([np.arange(n_users), rng.choice(n_users, sessions, p=activity / activity.sum())])
    tastes = rng.integers(0, len(DEPARTMENTS), (n_users, 2))
    taste = tastes[user, (rng.random(len(user)) < 0.35).astype(int)]
    cluster = np.where(rng.random(len(user)) < 0.85, taste, rng.integers(0, len(DEPARTMENTS), len(user)))
    year = (LAST - FIRST).total_seconds()
    hour = np.clip(rng.normal(17, 4, len(user)), 0, 23.9)
    start = rng.integers(0, int(year // 86400) - 1, len(user)) * 86400 + (hour * 3600).astype(np.int64)

    session = np.sort(rng.integers(0, len(user), views))
    place = np.arange(views) - np.searchsorted(session, session)
    second = start[session] + np.cumsum(rng.integers(15, 90, views)) % 40 + place * 45
    item = _drawn(rng, cluster[session], items)
    on_sale = items["launch"].to_numpy()[item] * 86400 <= second
    liked = cluster[session] == tastes[user[session], 0]
    row = {"user": user[session], "item": item, "second": second, "session": session, "liked": liked}
    row = {name: values[on_sale] for name, values in row.items()}
    parts = [_with_event(row, "view")]
    carted = rng.random(len(row["user"])) < np.where(row["liked"], 0.28, 0.07)
    cart = {name: values[carted] for name, values in row.items()} | {"second": row["second"][carted] + 20}
    parts.append(_with_event(cart, "cart"))
    paid = rng.random(len(cart["user"])) < 0.6
    bought = {name: values[paid] for name, values in cart.items()} | {"second": cart["second"][paid] + 240}
    parts.append(_with_event(bought, "purchase"))
    back = rng.random(len(bought["user"])) < np.where(bought["liked"], 0.06, 0.25)
    days = rng.integers(2, 21, int(back.sum())) * 86400
    returned = {name: values[back] for name, values in bought.items()} | {"second": bought["second"][back] + days}
    parts.append(_with_event(returned, "return"))
    table = pl.concat(parts).filter(pl.col("second") < int(year))
    chosen = rng.permutation(len(user))  # whole sessions, until there are enough rows
    return table.with_columns(turn=pl.lit(chosen).gather(pl.col("session"))).sort("turn", "second").head(n)


def _drawn(rng, cluster, items):
    """For each view an item of its cluster, by appeal."""
    drawn = np.empty(len(cluster), np.int64)
    appeal, home = items["appeal"].to_numpy(), items["cluster"].to_numpy()
    for number in range(len(DEPARTMENTS)):
        at, members = np.flatnonzero(cluster == number), np.flatnonzero(home == number)
        if not len(members):
            members = np.arange(len(home))
        drawn[at] = rng.choice(members, len(at), p=appeal[members] / appeal[members].sum())
    return drawn


def _with_event(row, event):
    return pl.DataFrame(row).with_columns(event=pl.lit(event))


def _untidy(rng, table, items):
    """Columns as a shop has them, with repeated rows and missing ids."""
    n = len(table)
    purchase = (table["event"] == "purchase").to_numpy()
    rated = purchase & (rng.random(n) < 0.4)
    stars = np.clip(np.round(rng.normal(np.where(table["liked"].to_numpy(), 4.3, 3.1), 0.9)), 1, 5)
    price = items["price"].to_numpy()[table["item"].to_numpy()] * rng.choice([1.0, 0.9, 0.8], n, p=(0.8, 0.1, 0.1))
    quantity = np.where(purchase, 1 + rng.poisson(0.4, n), 1)
    first = pl.lit(FIRST).cast(pl.Datetime("us", "UTC"))
    shop = table.select(
        customer_id=pl.when(pl.lit(rng.random(n) >= 0.002)).then(512_000_000 + pl.col("user").cast(pl.Int64) * 17),
        sku=pl.when(pl.lit(rng.random(n) >= 0.001)).then(pl.lit(items["sku"]).gather(pl.col("item"))),
        event=pl.col("event"),
        quantity=pl.Series(quantity),
        price=pl.Series(np.round(price, 2)),
        rating=pl.when(pl.lit(rated)).then(pl.Series(stars)),
        time=first + pl.duration(seconds=pl.col("second")),
    )
    repeated = shop.sample(max(1, n // 200), seed=int(rng.integers(2**31)))
    return pl.concat([shop, repeated]).sort("time", "customer_id", "sku", "event", nulls_last=True)


BAD_ROWS = {  # name: cells of a row that no program should take for an event
    "unreadable": {"time": "yesterday, late"},
    "far future": {"time": "2224-03-01 10:00:00"},
    "sentinel": {"time": "9999-12-31 00:00:00"},
    "short": {"price": None, "rating": None, "time": None},  # in text: the last columns are missing
}


def as_text(events):
    """The events as rows of text, as an export writes them; missing cells are empty."""
    return events.select(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S"), pl.exclude("time").cast(pl.String)).select(
        events.columns
    )


def write_csv(events, path, bad=(), separator=","):
    """A CSV file; of `bad`, names of BAD_ROWS, one row each is put among the others. Returns their line numbers."""
    lines = as_text(events).write_csv(separator=separator).splitlines()
    at = {}
    for number, name in enumerate(bad, 1):
        line = number * len(lines) // (len(bad) + 1)
        cells = lines[line].split(separator)
        if name == "short":
            cells = cells[:3]
        else:
            cells[events.columns.index("time")] = f'"{BAD_ROWS[name]["time"]}"'
        lines.insert(line, separator.join(cells))
        at[name] = line + 1
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return at


def write_parquet(events, path, bad=()):
    """A Parquet file with typed columns; a time can be far off there, but not unreadable."""
    frame = [events]
    for name in bad:
        moment = datetime.strptime(BAD_ROWS[name]["time"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        frame.append(events.head(1).with_columns(time=pl.lit(moment).cast(events.schema["time"])))
    pl.concat(frame).write_parquet(path)


def write_jsonl(events, path, bad=()):
    """JSON Lines; empty cells are left out of a record, as most programs do."""
    records = as_text(events).with_columns(
        pl.col("customer_id").cast(pl.Int64), pl.col("quantity").cast(pl.Int64), pl.col("price", "rating").cast(float)
    )
    lines = [json.dumps({key: value for key, value in row.items() if value is not None}) for row in records.to_dicts()]
    for number, name in enumerate(bad, 1):
        at = number * len(lines) // (len(bad) + 1)
        record = json.loads(lines[at]) | BAD_ROWS[name]
        lines.insert(at, json.dumps({key: value for key, value in record.items() if value is not None}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_pandas(events):
    """A pandas frame as `read_csv` makes it: ids with gaps are floats, times are timestamps."""
    import pandas as pd

    frame = {name: events[name].to_list() for name in ("sku", "event", "quantity", "price")}
    ids = events["customer_id"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    times = pd.to_datetime(pd.Series(events["time"].dt.strftime("%Y-%m-%d %H:%M:%S").to_list()), utc=True)
    ratings = events["rating"].fill_null(float("nan")).to_numpy()
    return pd.DataFrame({"customer_id": ids, **frame, "rating": ratings, "time": times})


def write_items(table, path):
    """The catalogue as CSV or Parquet."""
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.with_columns(pl.col("available_from", "available_until").dt.strftime("%Y-%m-%d")).write_csv(path)
