"""Options of lists: one declaration is found wherever options are written, and a fitted model shows little else."""

import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

import corml
from corml._runtime.settings import declared as settings_of
from corml.client import Client
from corml.errors import UsageError
from corml.recommend.options import ListOptions, RequestOptions, complete, declared
from support import random_interactions

ADDED = """
import os, sys
from typing import Annotated
from corml.recommend import options
from corml.recommend.option import Flag, Option, Range

flag = Flag("--fresh", "SHARE", kind=float)
about = Option(default=0.0, help="the share of new items", flags=(flag,), json=Annotated[float, Range(ge=0, le=1)])
for group in (options.RequestOptions, options.ListOptions):
    group.__annotations__["fresh"] = Annotated[float, about]

import inspect
import corml
from corml import client
from corml.cli import main
from corml.service import schema
from corml.service.openapi import description
from corml.service.schema import options_given

model = inspect.signature(corml.CoRML.recommend).parameters["fresh"]
assert (model.default, model.annotation) == (0.0, float)
assert "fresh: the share of new items (default 0.0)" in corml.CoRML.recommend.__doc__
assert inspect.signature(corml.CoRML.why_not).parameters["fresh"].default == 0.0
for call in (client.Client.recommend, client.Client.why_not):
    assert inspect.signature(call).parameters["fresh"].annotation is float
for name in ("Query", "Recommend", "WhyNot"):
    field = description()["components"]["schemas"][name]["properties"]["fresh"]
    limits = {"minimum": 0, "maximum": 1, "default": 0.0}
    assert field == {"description": "the share of new items", "type": "number", **limits}
assert options_given(schema.Recommend(fresh=0.5)) == {"fresh": 0.5}
try:
    main(["recommend", "--help"])
finally:
    sys.stdout.flush()
    os._exit(int(sys.exc_info()[1].code))  # before the threads of other packages end
"""


def test_an_option_is_added_by_one_declaration():
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "--fresh SHARE" in done.stdout
    assert "The share of new items." in done.stdout


@pytest.mark.parametrize(
    ("call", "of"),
    [
        (corml.CoRML.recommend, ListOptions),
        (corml.CoRML.why_not, ListOptions),
        (Client.recommend, RequestOptions),
        (Client.why_not, RequestOptions),
    ],
    ids=lambda one: getattr(one, "__qualname__", ""),
)
def test_every_option_is_in_the_signature_and_in_the_docstring(call, of):
    parameters, hints = inspect.signature(call).parameters, get_type_hints(of)
    for name, option in declared(of).items():
        assert (parameters[name].default, parameters[name].annotation) == (option.default, hints[name])
        assert f"{name}: {option.help}" in call.__doc__


def test_defaults_pass_their_own_checks_and_unknown_options_are_refused():
    assert complete({}) == {name: option.default for name, option in declared().items()}
    model = corml.CoRML(rank=2).fit(random_interactions(1))
    with pytest.raises(UsageError, match=r"recommend has no option 'boosts'; did you mean 'boost'"):
        model.recommend(["u1"], boosts={})


def test_a_model_with_one_operating_point_refuses_novelty():
    model = corml.models.make("ease").fit(random_interactions(1))
    with pytest.raises(UsageError, match=r"novelty \(--novelty\) needs a model with several operating points"):
        model.recommend(["u1"], novelty=0.5)


def test_a_fitted_model_shows_few_public_attributes_besides_its_settings():
    model = corml.CoRML(rank=2).fit(random_interactions(1))
    public = {name for name in dir(model) if not name.startswith("_")}
    assert len(public - settings_of(corml.CoRML).keys()) <= 37
