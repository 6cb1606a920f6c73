"""Functions and classes whose keywords, signatures and docstrings are made from the library's declarations."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])

#: The placeholders of a docstring: the description of the operation, and its parameters.
PAGE, OPTIONS = "{page}", "{options}\n"

#: The number of characters to which a line of an entry is wrapped, without its indent of 4.
WIDTH = 112

#: The suffix of the name of a constructor, which messages leave out.
INIT = ".__init__"


def declared(operation: str, *, in_store: bool = False) -> Callable[[Function], Function]:
    """Completes a function, or a class by its constructor, that takes the options of an operation as ``**options``.

    The signature lists the options after the function's own parameters. Unknown keywords are refused with the nearest
    known one. In the docstring, ``{page}`` becomes the description of the operation and ``{options}`` its parameters.
    """
    page = _core.operation(operation, in_store)

    def complete(subject: Function) -> Function:
        completed: Any = subject
        if isinstance(subject, type):
            completed.__init__ = _checked(completed.__init__, page)
        else:
            completed = _checked(subject, page)
        completed.__doc__ = _docstring(subject.__doc__ or "", page)
        return completed  # type: ignore[no-any-return]

    return complete


def _checked(function: Callable[..., Any], page: _core._Operation) -> Callable[..., Any]:
    own = inspect.signature(function)
    parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    options = [_parameter(option) for option in page["options"]]
    known = [parameter.name for parameter in [*parameters, *options] if parameter.name != "self"]

    @functools.wraps(function)
    def checked(*given: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise _core.unknown_keyword(function.__qualname__.removesuffix(INIT), name, known)
        return function(*given, **keywords)

    checked.__signature__ = own.replace(parameters=[*parameters, *options])  # type: ignore[attr-defined]
    return checked


def _parameter(option: _core._Option) -> inspect.Parameter:
    default = () if option["kind"].startswith(("list", "dict")) else option["default"]
    if option["required"]:
        default = inspect.Parameter.empty
    return inspect.Parameter(option["name"], inspect.Parameter.KEYWORD_ONLY, default=default)


def _docstring(template: str, page: _core._Operation) -> str:
    described = page["page"].split("# Examples")[0]
    paragraphs = [" ".join(paragraph.split()) for paragraph in described.strip().split("\n\n")]
    text = "\n\n".join(textwrap.fill(paragraph, 112) for paragraph in paragraphs if paragraph)
    options = "".join(_described(option) for option in page["options"])
    return inspect.cleandoc(template).replace(PAGE, text).replace(OPTIONS, options)


def _described(option: _core._Option) -> str:
    kind, unit = option["kind"].removesuffix(", optional"), option["unit"]
    if kind in ("float", "int") or kind.startswith("float or"):
        kind += f", {shorten_range(option['allowed'])}"
    elif unit != "1":
        kind += f", {unit}"
    if option["default"] is not None:
        kind += f", default {option['default']!r}"
    elif not option["required"]:
        kind += ", optional"
    return "".join(f"{line}\n" for line in entry(f"{option['name']} : {kind}", option["meaning"], option["words"]))


def shorten_range(allowed: str) -> str:
    """Return the accepted values of a number without the words that its type says already."""
    return allowed.removeprefix("a whole number from ").removeprefix("a whole number of ")


def entry(head: str, meaning: str, words: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the lines of an entry in a section of a docstring, with a list of the words that a choice accepts."""
    wrap = functools.partial(textwrap.wrap, width=WIDTH, break_on_hyphens=False, break_long_words=False)
    lines = wrap(meaning)
    if words := list(words):
        lines.append("")
    for word, about in words:
        lines += wrap(f"- ``{word}``: {about}", subsequent_indent="  ")
    return [head, *(f"    {line}".rstrip() for line in lines)]


def cite(source: str) -> str:
    """Return the source of a parameter or a model in words; empty if the authors of the library chose it."""
    source = source.rstrip(".")
    return "" if source in ("ours", "none") else re.sub(r"\bours\b", "chosen for this library", source)
