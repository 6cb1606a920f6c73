"""Names of the development versions, and the names that have replaced them."""

from __future__ import annotations

from typing import NoReturn

#: The present name by the former one, both with their module. The package adds the models that have moved.
MOVED = {
    "thalweg.River": "thalweg.ChannelReach",
    "thalweg.open": "thalweg.read",
    "thalweg.save": "thalweg.write",
    "thalweg.dask.carry_out": "thalweg.dask.execute_plan",
    "thalweg.dask.open": "thalweg.dask.read_store",
    "thalweg.flow.Depressions": "thalweg.flow.DepressionHierarchy",
    "thalweg.flow.Hack": "thalweg.flow.HackLaw",
    "thalweg.flow.accumulate": "thalweg.flow.accumulate_flow",
    "thalweg.flow.basins": "thalweg.flow.label_basins",
    "thalweg.flow.breach": "thalweg.flow.breach_depressions",
    "thalweg.flow.dinf_accumulate": "thalweg.flow.accumulate_flow_dinf",
    "thalweg.flow.fill": "thalweg.flow.fill_depressions",
    "thalweg.flow.hack": "thalweg.flow.fit_hack_law",
    "thalweg.flow.hierarchy": "thalweg.flow.depression_hierarchy",
    "thalweg.flow.mfd_accumulate": "thalweg.flow.accumulate_flow_mfd",
    "thalweg.flow.orders": "thalweg.flow.stream_order",
}


def refuse(module: str, name: str) -> NoReturn:
    """Raise the AttributeError for a name that a module does not have; it says where the name has moved."""
    former = f"{module}.{name}"
    if former in MOVED:
        raise AttributeError(f"{former} is now {MOVED[former]}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
