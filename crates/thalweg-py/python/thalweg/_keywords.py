"""Checks of keyword arguments: the error for an unknown one names the nearest known one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])


def named(function: Function) -> Function:
    """Wrap a function so that an unknown keyword raises a TypeError that names the nearest known one."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD) and name not in ("self", "cls")
    ]

    @functools.wraps(function)
    def checked(*given: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise _core.unknown_keyword(function.__qualname__.removesuffix(".__init__"), name, known)
        return function(*given, **keywords)

    return checked  # type: ignore[return-value]
