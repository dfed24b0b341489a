"""Every model by name: CoRML, the files of `baselines`, and what other packages add to the group `corml.models`."""

import os
from collections.abc import Mapping
from typing import Any

from corml import plugins
from corml._runtime.settings import build
from corml._runtime.values import nearest
from corml.errors import ModelFileError, UsageError, ascii_line, printable
from corml.models.neural.training.checkpoint import UNFINISHED
from corml.models.recommender import Recommender
from corml.models.saved import model_file
from corml.persistence import container

GROUP = "corml.models"
OURS = ("corml", "corml-dial")
INSTEAD = {  # of models of other libraries
    "als ials wals wrmf implicit": "ease or bpr-mf",
    "mf nmf svd svdpp puresvd lightfm": "gf-cf or bpr-mf",
    "vae multvae multdae autorec": "recvae or ease",
    "knn itemitem cosine": "item-knn",
    "ngcf gcn gnn": "lightgcn or gf-cf",
    "random top toppop mostpopular": "popularity",
}


def names() -> tuple[str, ...]:
    """All model names, ours first."""
    others = (name.replace("_", "-") for name in plugins.names(GROUP))
    return (*OURS, *(name for name in others if name not in OURS))


def get(name: str) -> type[Recommender]:
    """The class behind a model name: "item-knn", in either case, with dashes, underscores or, as ItemKNN, neither."""
    name = _spelled(str(name))
    if name in OURS:
        plugins.refuse_clash(GROUP, name)
    if name == "corml":
        from corml.models.corml.estimator import CoRML

        return CoRML
    if name == "corml-dial":
        from corml.models.corml.estimator import Dial

        return Dial
    if name not in names():
        raise UsageError(f"There is no model {ascii_line(name)}{_instead(name)}")

    def fits(model: Any) -> bool:
        return isinstance(model, type) and issubclass(model, Recommender) and model.NAME == name

    model: type[Recommender] = plugins.get(GROUP, name, fits, f"a Recommender whose NAME is {ascii_line(name)}")
    return model


def class_named(name: str) -> type[Recommender] | None:
    """The class of a model by its own name, such as EASE or ItemKNN; None if there is no such model."""
    if name not in names() and _spelled(name) in names():
        model = get(name)
        return model if model.__name__ == name else None
    return None


def make(name: str, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Recommender:
    """A model by name with settings by name: `make("ease", l2=500)`; an unknown name is an error with a suggestion."""
    model: Recommender = build(get(name), {**(settings or {}), **more})
    return model


def _instead(name: str) -> str:
    """What to use in place of an unknown name: a similar model, or the name that was meant; and all names."""
    same = next((ours for others, ours in INSTEAD.items() if _bare(name) in others.split()), None)
    meant = f"; instead use {same}, or corml, the default" if same else nearest(name, names()).rstrip(".")
    stop = "" if meant.endswith("?") else "."
    return (
        meant + stop if "there is:" in meant else f"{meant}{stop} The models are: {', '.join(map(printable, names()))}."
    )


def _spelled(given: str) -> str:
    """A name as it is listed; an unknown one only gets dashes."""
    dashed = given.replace("_", "-")
    if dashed in names():  # before another that differs by a dash alone
        return dashed
    return next((name for name in names() if _bare(name) == _bare(given)), dashed)


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def read_model(path: str | os.PathLike[str], *, mapped: bool | None = None) -> Recommender:
    """Open a model file: every byte, shape and index is checked before the model is used.

    The arrays of a large file on a disk of this machine are not read into memory, but mapped: parts of them are read as
    they are needed, and other processes share them. Such a file may be replaced, as `save` and `corml fit --out` do it,
    but not be changed or cut off in place while the model is used. `mapped=False` reads any file into memory, after
    which nothing that happens to it matters; `mapped=True` maps any.
    """
    return from_contents(container.read(path, mapped=mapped))


def from_contents(contents: container.Contents) -> Recommender:
    """The model of a file that has been read; its contents have the digest as well, which tells versions apart."""
    name = contents.meta["model"]
    if name.endswith(UNFINISHED):
        raise ModelFileError(
            f"{contents.name} is the checkpoint of an unfinished fit of {ascii_line(name.removesuffix(UNFINISHED))}: "
            "run that fit again with it, then read the model it writes."
        )
    try:
        if name not in names():  # a file has the name as it is listed, in no other spelling
            raise UsageError(f"There is no model {ascii_line(name)}{_instead(name)}")
        model = make(name, contents.meta["settings"])
    except (UsageError, OverflowError) as fault:
        raise ModelFileError(f"{contents.name} was made by another corml: {fault} Fit again.") from None
    return model_file.restore(model, contents)
