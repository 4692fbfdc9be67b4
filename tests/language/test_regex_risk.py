"""Regex patterns are accepted exactly if Java decides them in bounded time and stack."""

from __future__ import annotations

import time

import pytest

from covey.language.semantics.regex_risk import find_like_risk, find_regex_risk

REPEATED = "may overflow Java's stack: a part is repeated too often"
LONG = "may overflow Java's stack: there are too many parts in a row"
CHOICES = "may take very long: there are too many choices"
SAME_TEXT = "may take very long: several repetitions can match the same text"
REFERENCE = "cannot be checked: it has a reference to a group"
NESTED_CLASS = "cannot be checked: it has a class inside a class"
NOTHING = "cannot be checked: a *, +, ? or { does not repeat a character or a group"
BOUNDS = "is not valid: the bounds of a repetition are in the wrong order"
RANGE = "is not valid: the characters of a range are in the wrong order"
RANGE_END = "cannot be checked: it has a range that does not end with a single character"
LOOKBEHIND = "cannot be checked: it has a lookbehind without a maximum length"


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(\d{1,3}\.){3}\d{1,3}$", "(?i)iphone 1[2-5]", "^[0-9]+$", "error.*timeout", r"\bbike\b",
        r"^[\w.+-]+@[\w-]+\.[\w.-]+$", r"\b\w+@\w+\.\w{2,4}\b", "^.*a.*b", "a.*b.*", "@(.*)$",
        r"^\s*(GET|POST|PUT) /api/v\d+/(users|orders)/\d+(\?.*)?$", r"^([A-Z]{2}\d+)(-[a-z]+)?$",
        r"(?i)(refund|chargeback|dispute).*(card|account|bank|payment)", "oom|out of memory",
        r"https?://[^/]+/.*\.(png|jpe?g)$", r"^(?=.*\d)(?=.*[a-z]).{8,}$", r"\$\d+(\.\d\d)?",
        r"(?<!foo)bar", r"\p{Lu}\p{L}+", "[^0-9]", "", "a||b", "]}", "[]a]", "[^]a-]+b", r"[\w-]+=",
        r"\Q(a+)+\E", r"\x41\u0042\t\cA\0101\x{1F600}", "(?<year>[0-9]{4})-(?:0[1-9]|1[0-2])",
        "(a|b)*+c", "(?>a|ab)c", "|".join(f"word{n}" for n in range(300)), "x" * 4_000,
    ],
)  # fmt: skip
def test_common_patterns_are_admitted(pattern: str) -> None:
    assert find_regex_risk(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a?" * 19 + "b", CHOICES), ("(a?){19}b", CHOICES), ("^" + "a{0,1}" * 40 + "b", CHOICES),
        ("(a|ab){40}c", CHOICES), ("(a|A){40}b", CHOICES), ("(?:x|x|x)" * 20 + "y", CHOICES),
        ("(abc|abcabc){30}d", CHOICES), ("^(a{0,50}){3}b", SAME_TEXT), (r"(\w|\d){40}!", CHOICES),
        ("(a|b?){40}c", CHOICES), ("(?=" + "a?" * 30 + "b)", CHOICES), ("(?:a??){30}b", CHOICES),
        ("(?<=(a|aa){20})b", CHOICES), ("[k\u212a]?" * 30 + "!", CHOICES),
        (r"\Qa\E?" * 30 + "b", CHOICES), ("[^b]?" * 30 + "b", CHOICES),
        ("a*a*b", SAME_TEXT), ("a.*b.*c", SAME_TEXT), ("^.*.*.*x", SAME_TEXT),
        ("a{0,999}a{0,999}b", SAME_TEXT), (r"\s*\s*\s*x", SAME_TEXT), (r"^\w*\d*\w*x$", SAME_TEXT),
        ("(?=.*a.*b)x", SAME_TEXT), ("(?>a*a*b)", SAME_TEXT), ("(.*,.*)*+x", SAME_TEXT),
        ("(a|b)*", REPEATED), ("(a|b)*?c", REPEATED), ("(?:ab)+", REPEATED), ("(?>a|b)*", REPEATED),
        ("(a|b){400}", REPEATED), ("((a){20}){20}", REPEATED), ("(a?b){1000}", REPEATED),
        (".{0,5000}x", REPEATED),
        ("a?b" * 400, LONG), ("[ab]" * 1_100, LONG), ("(a)" * 400, LONG),
        ("(" * 60 + "a" + ")" * 60, "is too large: it has more than 50 nested groups"),
        ("[" + "\u0416\u0436" * 300 + "]", "is too large: a class has more than 500 characters"),
        ("|".join(["a"] * 2_000), "is too large: it has more than 1,500 parts"),
        (r"(.)\1", REFERENCE), (r"(?<x>a)\k<x>", REFERENCE),
        ("[a[b]]", NESTED_CLASS), ("[a&&b]", NESTED_CLASS), ("[a-[b]]", NESTED_CLASS),
        ("(?x)a +", "cannot be checked: it has the flag x"),
        ("(?i-U:a)", "cannot be checked: it has the flag U"),
        (r"\X*", r"cannot be checked: it has the escape \X"),
        ("a**", NOTHING), ("a{2}{3}", NOTHING), ("^*a", NOTHING), ("*a", NOTHING),
        ("(?=a)*", NOTHING), ("(?<=a*)b", LOOKBEHIND), ("a{3,2}", BOUNDS),
        ("[b-a]", RANGE), (r"[a-\d]", RANGE_END),
        ("(a", "is not valid: a group has no closing )"),
        ("a)", "is not valid: a ) closes no group"),
        ("[a", "is not valid: a character class has no closing ]"),
        ("\\", "is not valid: it ends with a backslash"),
        (r"\x{110000}", "is not valid: a character code is larger than 10FFFF"),
        ("(?$a)", "cannot be checked: it has an unknown kind of group"),
    ],
)  # fmt: skip
def test_patterns_with_unbounded_time_or_stack_are_refused(pattern: str, problem: str) -> None:
    assert find_regex_risk(pattern) == problem


@pytest.mark.parametrize(
    "unit",
    [
        r"([^\w\W]?){250}", "(", "a?", "[a]", "a|", "(a|", "a{1,9}", "(?:a|b)", r"\Q", "[a", "(?=",
        "x*y*", "[a-", r"\x{", "(?i)", "ab|", "(?<=a)", "((a?){9}|)", r"[\w", "(a?b", "(a*)*+",
    ],
)  # fmt: skip
def test_long_patterns_are_decided_in_linear_time(unit: str) -> None:
    started = time.monotonic()
    for pattern in (unit, unit * (65_536 // len(unit)), f"({unit}" * 5_000 + "){9}" * 5_000):
        find_regex_risk(pattern)
    assert time.monotonic() - started < 10  # it once took hours and all memory


def test_like_patterns_have_bounded_steps_and_stack() -> None:
    for pattern in ("%a%b%", "%iphone%", "a%", "_", "", "%100\\%%", "%", "a_c%", "x" * 4_000):
        assert find_like_risk(pattern) is None, pattern
    assert find_like_risk("%a%b%c") == "may take very long: more than 2 wildcards % before its end"
    assert find_like_risk("_" * 2_000) == LONG
    assert find_like_risk("%_%" + "_" * 500 + "b") == CHOICES
