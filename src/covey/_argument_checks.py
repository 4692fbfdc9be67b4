"""Checks of the arguments of public functions against their annotations.

An argument of a wrong type raises a covey error that names the argument, instead of an error from
the library that uses the argument first. `check_arguments` decorates a function or method;
`check_fields` is called in the `__post_init__` of a dataclass. Conditions that an annotation
cannot express (a range, required names) are checked by the function itself.

Cost: one to five microseconds per call, so check the arguments of functions that take batches, but
not of functions that are called in inner loops.
"""

from __future__ import annotations

import collections.abc as abc
import inspect
import os
import re
import reprlib
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cache, wraps
from numbers import Integral, Real
from types import FunctionType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from covey.errors import CoveyError, InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = [
    "as_numeric_array",
    "check_arguments",
    "check_fields",
    "check_local_path",
    "check_range",
    "check_rows",
    "format_value",
    "parse_whole_number",
]

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[Any], bool]

_ARRAY_KINDS = {"integer": "iu", "floating": "fiu", "bool": "b"}
"""For each NumPy class in annotations of arrays, the characters of `dtype.kind` that it accepts."""
_JSON_TYPES = {"JsonValue": Any, "JsonObject": dict[str, Any]}
"""Replacements for recursive aliases, whose annotations cannot be compiled to checks.

The values inside JSON values and objects are not checked.
"""
_TYPE_WORDS = {
    bool: "True or False",
    bytes: "bytes",
    float: "a number",
    int: "a whole number",
    str: "a string",
    NoneType: "None",
}


@overload
def check_arguments(function: Callable[P, R]) -> Callable[P, R]: ...


@overload
def check_arguments(*, raises: type[CoveyError]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def check_arguments(
    function: Any = None, *, raises: type[CoveyError] = InvalidArgumentError
) -> Any:
    """Decorate a function so that an argument of a wrong type raises a covey error.

    An annotation is checked if it is a class, a union, a literal, a callable, a list or a mapping
    (with its elements), or a NumPy array (with the kind of its dtype). An argument fits a protocol
    if it has all public members of the protocol. NumPy numbers count as numbers; a bool does not.

    Args:
        function: the function to decorate; if it is left out, a decorator is returned.
        raises: class of the error.

    >>> @check_arguments
    ... def repeat(texts: list[str], times: int = 2) -> list[str]:
    ...     return texts * times
    >>> repeat(["ab"], times="3")
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: repeat: times must be a whole number, got '3'
    >>> repeat(["ab", None])
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: repeat: texts[1] must be a string, got None
    """
    if function is None:
        return lambda decorated: _decorate(decorated, raises)
    return _decorate(function, raises)


def _decorate(function: Callable[P, R], raises: type[CoveyError]) -> Callable[P, R]:
    names = tuple(inspect.signature(function).parameters)
    checks_of, describe = _compile_parameters, _describe_mistake

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        checks = checks_of(function)
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in checks:
                hint, fits = checks[name]
                if type(value) is not hint and not fits(value):
                    raise raises(describe(function, name, value, hint))
        return function(*args, **kwargs)

    # doctest assigns a function to a module by its globals, so the wrapper gets the same globals.
    wrapper = FunctionType(call.__code__, function.__globals__, closure=call.__closure__)
    return wraps(function)(wrapper)


def check_fields(instance: Any, raises: type[CoveyError] = InvalidArgumentError) -> None:
    """Raise the error `raises` if a field of a dataclass instance does not fit its annotation."""
    dataclass_type: Any = type(instance)
    for name, (hint, fits) in _compile_parameters(dataclass_type).items():
        value = getattr(instance, name)
        if type(value) is not hint and not fits(value):
            raise raises(_describe_mistake(dataclass_type, name, value, hint))


def check_range(name: str, value: float, low: float, high: float | None = None) -> None:
    """Raise InvalidArgumentError if a number is below `low`, above `high` or NaN.

    >>> check_range("max_regions", 0, 1)
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: max_regions must be at least 1, got 0
    """
    if high is not None and not low <= value <= high:
        raise InvalidArgumentError(f"{name} must be from {low} to {high}, got {value}")
    if not low <= value:
        raise InvalidArgumentError(f"{name} must be at least {low}, got {value}")


def check_local_path(name: str, path: str | os.PathLike[str]) -> None:
    """Raise InvalidArgumentError if the local file system cannot look up a path.

    A path that does not exist is accepted: only the lookup itself must be possible.

    >>> check_local_path("the folder of a plan", "a" * 300)
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: the folder of a plan cannot be 'aaaaaaaaaaaaaaaaaaaaaaa\
...aaaaaaaaaaaaaaaaaaaaaaaa': File name too long
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:  # ValueError: a null character, or a lone surrogate
        reason = getattr(error, "strerror", None) or error
        shown = format_value(os.fspath(path))
        raise InvalidArgumentError(f"{name} cannot be {shown}: {reason}") from None


def as_numeric_array(
    name: str, values: ArrayLike, dtype: DTypeLike | None = "float64"
) -> NDArray[Any]:
    """Return an argument as a NumPy array; raise InvalidArgumentError if that is not possible.

    >>> as_numeric_array("parents", ["-1", 0.0])
    array([-1.,  0.])
    """
    import numpy as np

    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(
            f"{name} must be an array of numbers: its rows differ in length, or an element is not "
            "a number or is too large"
        ) from None


def check_rows(name: str, rows: NDArray[Any], count: int, first: int = 0) -> None:
    """Raise InvalidArgumentError if a row number is less than `first` or at least `count`.

    >>> import numpy as np
    >>> check_rows("rows", np.array([0, 7]), 3)
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: rows must be from 0 to 2, got 7
    """
    if rows.size and not (first <= rows.min() and rows.max() < count):
        wrong = rows.min() if rows.min() < first else rows.max()
        if count <= first:
            raise InvalidArgumentError(f"{name} must be empty: there are no rows, got {wrong}")
        raise InvalidArgumentError(f"{name} must be from {first} to {count - 1}, got {wrong}")


def parse_whole_number(text: str) -> int | None:
    """Return the integer of a string of 1 to 18 ASCII digits, or None for any other string.

    `str.isdigit` accepts strings that `int` rejects, and `int` accepts digits of all scripts.

    >>> parse_whole_number("384"), parse_whole_number("²"), parse_whole_number("-1")
    (384, None, None)
    """
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def format_value(value: object) -> str:
    """Return a representation of any value for a message; long values are shortened.

    >>> format_value("a" * 90)
    "'aaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaa'"
    """
    return _shortener.repr(value)


_shortener = reprlib.Repr()
_shortener.maxstring = _shortener.maxother = 52


@cache
def _compile_parameters(annotated: Any) -> dict[str, tuple[Any, Check]]:
    """Return by name the annotation and the check of each parameter or field.

    Args:
        annotated: a function, or a dataclass, whose fields are returned.
    """
    hints = get_type_hints(annotated, localns=_JSON_TYPES)
    if isinstance(annotated, type):
        names = [field.name for field in fields(annotated) if field.init]
    else:
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(annotated).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind not in variadic]
    return {name: (hints[name], _compile(hints[name])) for name in names if name in hints}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value fits an annotation, as far as a quick check can decide."""
    return _compile(hint)(value)


@cache
def _compile(hint: Any) -> Check:
    """Return the check of an annotation; it is cached, because inspecting annotations is slow."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return _compile_plain(hint)
    if origin in (Union, UnionType):
        members = tuple(_compile(member) for member in arguments)
        return lambda value: any(fits(value) for fits in members)
    if origin is Literal:
        return lambda value: isinstance(value, str | int) and value in arguments
    if _is_array_type(origin):
        kinds = _find_kinds(arguments)
        return lambda value: (
            _is_numpy(value, "ndarray") and (kinds is None or value.dtype.kind in kinds)
        )
    if origin is abc.Callable:
        return callable
    if not isinstance(origin, type) or origin is type:
        return lambda value: origin is not type or isinstance(value, type)
    if issubclass(origin, abc.Mapping):
        key, element = arguments if len(arguments) == 2 else (Any, Any)
        return lambda value: (
            isinstance(value, abc.Mapping)
            and _all_fit(value, key)
            and _all_fit(value.values(), element)
        )
    if issubclass(abc.Sequence, origin) or issubclass(origin, abc.Sequence):
        return _compile_sequence(origin, arguments)
    return _compile_plain(origin)


def _compile_sequence(origin: type, arguments: tuple[Any, ...]) -> Check:
    """Return the check of a sequence or iterable type.

    The elements of an iterator are not checked, because reading them would consume the iterator.
    """
    element = arguments[0] if arguments else Any
    is_fixed = origin is tuple and arguments[-1:] != (...,)
    required_class = origin if issubclass(origin, list | tuple) else object
    must_be_sized = issubclass(origin, abc.Sequence)

    def fits(value: Any) -> bool:
        if isinstance(value, list | tuple):
            if not isinstance(value, required_class):
                return False
            if is_fixed:
                return len(value) == len(arguments) and all(map(_fits, value, arguments))
            return _all_fit(value, element)
        if required_class is not object or isinstance(value, str | bytes | abc.Mapping):
            return False
        if _is_numpy(value, "ndarray"):
            return value.ndim == 1 and _all_fit(value[:1], element)
        if isinstance(value, abc.Sequence | abc.Set):
            return _all_fit(value, element)
        is_sized = hasattr(value, "__getitem__") and hasattr(value, "__len__")
        return hasattr(value, "__iter__") and (is_sized or not must_be_sized)

    return fits


def _all_fit(values: Any, hint: Any) -> bool:
    """Return whether all values fit an annotation.

    Only one value of each class is checked, since there may be millions of values.
    """
    if hint is Any or isinstance(hint, TypeVar):
        return True
    return all(map(_compile(hint), {type(value): value for value in values}.values()))


def _compile_plain(hint: Any) -> Check:
    if hint in (int, float):
        number_class = Integral if hint is int else Real
        return lambda value: isinstance(value, number_class) and not isinstance(value, bool)
    if hint is bool:
        return lambda value: isinstance(value, bool) or _is_numpy(value, "bool_")
    if getattr(hint, "_is_protocol", False):
        members = [name for name in vars(hint) if not name.startswith("_")]
        return lambda value: all(hasattr(value, name) for name in members)
    if isinstance(hint, type) and hint is not Any:
        return lambda value: isinstance(value, hint)
    return lambda value: True


def _find_kinds(arguments: tuple[Any, ...]) -> str | None:
    """Return the `dtype.kind` characters that fit the arguments of `NDArray[…]`; None for any."""
    scalar = (*get_args(arguments[1]), None)[0] if len(arguments) == 2 else None
    scalar = get_origin(scalar) or scalar
    if not isinstance(scalar, type):
        return None
    numpy = sys.modules["numpy"]
    kinds = (k for name, k in _ARRAY_KINDS.items() if issubclass(scalar, getattr(numpy, name)))
    return next(kinds, None)


def _is_array_type(hint: Any) -> bool:
    return getattr(hint, "__name__", None) == "ndarray"


def _is_numpy(value: Any, name: str) -> bool:
    """Return whether a value is an instance of a NumPy class, without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, name))


def _describe_mistake(annotated: Any, name: str, value: object, hint: Any) -> str:
    argument, wrong, expected = _locate_misfit(name, value, hint)
    function = annotated.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")
    return f"{function}: {argument} must be {_describe(expected)}, got {_describe_value(wrong)}"


def _locate_misfit(name: str, value: Any, hint: Any) -> tuple[str, Any, Any]:
    """Return the name, the value and the annotation of the argument or element that does not fit.

    If only elements of a list or mapping are wrong, the first of them is returned, otherwise the
    argument itself.
    """
    for member in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, arguments = get_origin(member), get_args(member)
        if not isinstance(origin, type) or not arguments or _is_array_type(get_origin(member)):
            continue
        if issubclass(origin, abc.Mapping) and isinstance(value, abc.Mapping):
            for key, element in value.items():
                if not _fits(key, arguments[0]):
                    return f"a key of {name}", key, arguments[0]
                if not _fits(element, arguments[1]):
                    return f"{name}[{format_value(key)}]", element, arguments[1]
        elif isinstance(value, list | tuple) and isinstance(value, origin):
            for number, element in enumerate(value):
                if not _fits(element, arguments[0]):
                    return f"{name}[{number}]", element, arguments[0]
    return name, value, hint


def _describe_value(value: Any) -> str:
    if _is_numpy(value, "ndarray"):
        return f"an array of {value.dtype}"
    return format_value(value)


def _describe(hint: Any) -> str:
    """Return a description of an annotation in words, for a message.

    >>> _describe(list[str] | None), _describe(dict[str, int])
    ('a list of strings or None', 'a mapping of strings to whole numbers')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_describe, arguments)))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if _is_array_type(origin):
        return f"a NumPy array of {_describe_array(arguments)}"
    if origin is abc.Callable:
        return "a function"
    if isinstance(origin, type) and issubclass(origin, abc.Mapping):
        return f"a mapping of {_describe_many(arguments[0])} to {_describe_many(arguments[1])}"
    if isinstance(origin, type) and issubclass(origin, abc.Iterable) and arguments:
        return f"a list of {_describe_many(arguments[0])}"
    return _TYPE_WORDS.get(hint) or f"of type {getattr(hint, '__name__', hint)}"


def _describe_many(hint: Any) -> str:
    if hint is Any or isinstance(hint, TypeVar):
        return "values"
    words = {int: "whole numbers", float: "numbers", str: "strings"}
    return words.get(hint) or getattr(hint, "__name__", None) or _describe(hint)


def _describe_array(arguments: tuple[Any, ...]) -> str:
    scalar = (*get_args(arguments[1]), Any)[0] if len(arguments) == 2 else Any
    return getattr(get_origin(scalar) or scalar, "__name__", "numbers")
