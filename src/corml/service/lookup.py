"""Find items by words and beginnings of words, or by similar spelling where nothing has these words."""

import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence

__all__ = ["Lookup"]

_WORD = re.compile(r"[^\W_]+")
MAX_WORDS = 12
LONGEST = 200  # characters of a title that are compared by how they are written
CANDIDATES = 200  # of which the ones written most alike are chosen
ALIKE = 0.3  # share of common trigrams below which two texts are not alike


class Lookup:
    """Titles and ids in SQLite's full-text index, in memory, best known first: so the first rows are the best."""

    def __init__(self, labels: Sequence[str], titles: Mapping[str, str], best_known: Sequence[int]) -> None:
        """`best_known` are the numbers of the items, those with most users first."""
        self._order = list(best_known)
        self._labels = [labels[item] for item in self._order]
        self._titles = [titles.get(label, label) for label in self._labels]
        self._row = {label: row for row, label in enumerate(self._labels)}
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        for table, tokenizer in (("words", "unicode61 remove_diacritics 2"), ("grams", "trigram")):
            self._db.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, content='', tokenize='{tokenizer}')")
        # An id stands on a line of its own behind the title; what is only alike is looked for in titles alone.
        texts = (f"{title}\n{label}" for title, label in zip(self._titles, self._labels, strict=True))
        self._insert("words", [text.replace("\0", " ") for text in texts])
        self._insert("grams", [title[:LONGEST].replace("\0", " ") for title in self._titles])

    def find(self, text: str, limit: int) -> tuple[list[int], bool]:
        """Numbers of items that have all the words, the last one as a beginning; or else of those written alike.

        The flag says that they are only alike.
        """
        exact = self._row.get(text.strip())
        found = [row for row in self._having(text, limit) if row != exact]
        listed = ([] if exact is None else [exact]) + found
        rows = listed[:limit] or self._alike(text, limit)
        return [self._order[row] for row in rows], not listed

    def close(self) -> None:
        """Free the index at once."""
        with self._lock:
            self._db.close()

    def _insert(self, table: str, texts: list[str]) -> None:
        safe = (text.encode("utf-8", "replace").decode() for text in texts)  # a lone surrogate is no text to SQLite
        self._db.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", enumerate(safe))
        self._db.commit()

    def _having(self, text: str, limit: int) -> list[int]:
        words = _WORD.findall(text)[:MAX_WORDS]
        if not words:
            return []
        query = " ".join([f'"{word}"' for word in words[:-1]] + [f'"{words[-1]}"*'])
        return self._rows("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid LIMIT ?", query, limit)

    def _alike(self, text: str, limit: int) -> list[int]:
        """By the share of the trigrams of the text, the shorter title first."""
        wanted = _trigrams(text)
        if not wanted:
            return []
        query = " OR ".join('"' + gram.replace('"', '""') + '"' for gram in sorted(wanted))
        rows = self._rows("SELECT rowid FROM grams WHERE grams MATCH ? ORDER BY rank LIMIT ?", query, CANDIDATES)
        titles = {row: _trigrams(self._titles[row]) for row in rows}
        shares = {row: len(wanted & grams) / len(wanted) for row, grams in titles.items()}
        alike = [row for row in rows if shares[row] >= ALIKE]
        return sorted(alike, key=lambda row: (-shares[row], len(titles[row]), row))[:limit]

    def _rows(self, statement: str, query: str, limit: int) -> list[int]:
        safe = query.encode("utf-8", "replace").decode()
        with self._lock:  # one connection, many threads
            return [row for (row,) in self._db.execute(statement, (safe, limit))]


def _trigrams(text: str) -> set[str]:
    folded = " ".join(text[:LONGEST].lower().replace("\0", " ").split())
    return {folded[at : at + 3] for at in range(len(folded) - 2)}
