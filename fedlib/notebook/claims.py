"""The papers' claims and our own targets: what each is called, and what a run says about it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import xarray
import yaml

from ..files import ROOT
from ..refusals import hint
from .verdicts import ENOUGH, FEW

WORDS = {True: "holds", False: "does not hold", None: "not run"}
TRIVIAL = "cannot fail"
LEARNT = 50  # %: of errors above it nothing is learnt, and that two of them are alike says nothing
TARGET_WORDS = {True: "met", False: "missed", None: "not run"}


class Verdict(NamedTuple):
    """Whether a claim holds in a run's results (None: it cannot be told), and the numbers that say so."""

    holds: bool | None
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim, in our words.

    where: section or figure of the paper. target: a criterion of this project, which no paper claims. trivial: it holds
    by construction. A text with "{}" is filled by what follows "/" in an id.
    """

    id: str
    text: str
    where: str
    target: bool = False
    trivial: bool = False

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    def sort(self, judged: Mapping) -> str:
        """What a stored verdict counts as; a target is met or missed, only a claim holds, from ENOUGH seeds on."""
        if self.target or judged["holds"] is None:
            return (TARGET_WORDS if self.target else WORDS)[judged["holds"]]
        if self.trivial and judged["holds"]:
            return TRIVIAL
        return FEW if judged.get("seeds", ENOUGH) < ENOUGH else WORDS[judged["holds"]]

    def in_words(self, judged: Mapping) -> str:
        """The same; of few seeds what they say."""
        word = self.sort(judged)
        return f"{WORDS[judged['holds']]}, {FEW}" if word == FEW else word


@cache
def known_claims() -> dict[str, Claim]:
    """Every claim by id."""
    entries = yaml.safe_load((ROOT / "data/claims.yaml").read_text(encoding="utf-8"))["claims"]
    return {id: Claim(id, **fields) for id, fields in entries.items()}


def find(id: str) -> Claim:
    """The claim of an id such as "fedsciml.q17", or "fedsciml.target.k.points/18" with its text filled.

    Raises:
        ValueError: there is no such claim (the nearest ones are named), or what fills its text is missing or too much.
    """
    base, slash, variant = id.partition("/")
    if base not in known_claims():
        raise ValueError(f"no claim has the id {base!r}{hint(base, known_claims())}; or add it to data/claims.yaml")
    claim = known_claims()[base]
    if ("{}" in claim.text) != bool(slash and variant):
        raise ValueError(f"claim {id!r}: its text is {claim.text!r}; expected an id with '/value' where it has '{{}}'")
    return replace(claim, id=id, text=claim.text.replace("{}", variant))


@dataclass(frozen=True)
class Seeded:
    """A claim(results) that knows, too, how many seeds of these results it rests on; None: on no random number."""

    claim: Callable[[Any], Verdict | None]
    seeds: Callable[[Any], int | None]

    def __call__(self, results: Any) -> Verdict | None:
        return self.claim(results)


def fewest(*arrays: xarray.DataArray) -> int:
    """The fewest seeds that arrays [..., seed] have anywhere, of those places that have any."""
    counts = [values.notnull().sum("seed") for values in arrays]
    return min(int(count.where(count > 0).min()) for count in counts)


def rows(verdicts: Mapping[str, Mapping], full: Mapping[str, Mapping] | None = None) -> list[list[str]]:
    """Rows (claim, verdict, numbers) of text for a table; full: verdicts of the committed result."""
    table = []
    for id, verdict in verdicts.items():
        claim = find(id)
        best = [claim.in_words(full[id]) if id in full else "-"] if full else []
        table.append([titled(claim), claim.in_words(verdict), *best, verdict["why"] or "-"])
    return table


def titled(claim: Claim) -> str:
    """Text and place of a claim; a target is called one."""
    return f"{'our target: ' * claim.target}{claim.text} [{claim.where}]"


def all_claims(results: Sequence[Mapping], whole: bool = True) -> dict[str, dict]:
    """What the results say of every claim; the first that ran it counts. whole: with those that none of them ran."""
    verdicts: dict[str, dict] = {}
    for id in dict.fromkeys(id for result in results for id in result.get("claims", {})):
        ran = [result for result in results if result.get("claims", {}).get(id, {"holds": None})["holds"] is not None]
        verdicts[id] = ran[0]["claims"][id] if ran else {"holds": None, "why": ""}
    missing = [id for id, c in known_claims().items() if whole and id not in verdicts and "{}" not in c.text]
    return verdicts | {id: {"holds": None, "why": ""} for id in missing}


def summary(judged: Iterable[tuple[Claim, Mapping]]) -> str:
    """How many of the papers' claims in words hold, for a newcomer; targets of ours are not among them."""
    n = Counter(claim.sort(verdict) for claim, verdict in judged if not (claim.target or claim.trivial))
    return (
        f"Of {n.total()} claims that the papers make in words, {n[WORDS[True]]} hold in our runs and {n[WORDS[False]]} "
        f"do not; of {n[FEW]} we have fewer than five seeds, which do not count; {n[WORDS[None]]} were not run."
    )
