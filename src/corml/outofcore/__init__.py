"""Data larger than memory: stores are built, fitted on, and turned into sharded lists, by tasks on files."""

from corml.outofcore.fit.estimate import estimate
from corml.outofcore.fit.fit import fit_store, plan_store
from corml.outofcore.fit.stages import Shape
from corml.outofcore.ingest import build_store
from corml.outofcore.lists import recommend_to

__all__ = ["Shape", "build_store", "estimate", "fit_store", "plan_store", "recommend_to"]
