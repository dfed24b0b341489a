"""Drawings: well formed, the same every time, text as text, nothing from elsewhere."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

plots = pytest.importorskip("corml.report.plots")

NAMES = ["CoRML", "a <b> & $x^2$", "千と千尋", *map("model {}".format, range(6))]


def drawings() -> dict[str, str]:
    rng = np.random.default_rng(0)
    spans = {name: (0.3, (0.28, 0.32)) for name in NAMES} | {"none": (0.1, None)}
    return {
        "bars": plots.bars({"NDCG@10": spans, "MRR@10": spans}),
        "novelty": plots.accuracy_against_novelty(
            {name: (0.4, 0.3 + 0.001 * at) for at, name in enumerate(NAMES)}, accuracy="NDCG@10", novelty="Novelty@10"
        ),
        "degrees": plots.degrees(np.append(rng.zipf(1.7, 500).clip(max=400), 0)),
        "users": plots.user_shares({name: rng.random(50) for name in NAMES}, label="NDCG@10"),
        "popularity": plots.popularity({name: rng.dirichlet(np.ones(10)) for name in NAMES}, [1, *range(2, 11)]),
        "convergence": plots.convergence({"primal": 0.8 ** np.arange(60), "dual": [0.5, 0.1, 0.0]}, tol=1e-4),
    }


@pytest.fixture(scope="module")
def drawn():
    return drawings()


KINDS = ["bars", "novelty", "degrees", "users", "popularity", "convergence"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_a_drawing_with_text(drawn, kind):
    root = ElementTree.fromstring(drawn[kind])
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 3
    assert any(texts)
    assert "sans-serif" in drawn[kind]


@pytest.mark.parametrize("kind", ["bars", "novelty", "users", "popularity"])
def test_names_show_as_they_are(drawn, kind):
    texts = {"".join(text.itertext()) for text in ElementTree.fromstring(drawn[kind]).iter()}
    assert set(NAMES) <= texts


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_comes_from_elsewhere_and_nothing_reaches_out(drawn, kind):
    assert re.findall(r"https?://[^\"]*", drawn[kind]) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<(style|script|metadata|image)\b", drawn[kind])


def test_the_same_numbers_give_the_same_bytes(drawn):
    assert drawings() == drawn


def test_drawings_on_one_page_do_not_share_ids(drawn):
    ids = re.findall(r'\bid="([^"]*)"', "".join(drawn.values()))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", KINDS)
def test_every_reference_finds_its_target(drawn, kind):
    ids = set(re.findall(r'\bid="([^"]*)"', drawn[kind]))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', drawn[kind])) <= ids


@pytest.mark.parametrize("counts", [[1], [5, 5, 5], [1, 0]])
def test_the_smallest_catalogues_can_be_drawn(counts):
    assert "</svg>" in plots.degrees(np.array(counts))


def test_one_model_at_one_point_can_be_drawn():
    assert "only" in plots.accuracy_against_novelty({"only": (0.5, 0.0)}, accuracy="a", novelty="n")


def test_nothing_found_by_anybody_can_be_drawn():
    assert "</svg>" in plots.bars({"NDCG@10": {"a": (0.0, (0.0, 0.0))}})
    assert "</svg>" in plots.user_shares({"a": np.zeros(3)}, label="NDCG@10")


def test_a_solver_that_arrived_at_once_can_be_drawn():
    assert "</svg>" in plots.convergence({"residual": [0.0]})
