"""``python -m tests.golden.record [case ...]``: values of cases that have none yet.

Stored values are never overwritten, but of cases that are named together with ``--anew``. Who does that has changed an
experiment's numbers: raise its ``numerics``, and write a line with the reason into CHANGELOG.md.
"""

import argparse

from .cases import CASES
from .runner import group_of, read, trained, values_of, write


def main() -> None:
    """Train what has no values, or what is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help="all that have no values yet, without any")
    parser.add_argument("--anew", action="store_true", help="overwrite the values of the named cases")
    asked = parser.parse_args()
    if unknown := sorted({*asked.cases} - {*CASES}):
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    if asked.anew and not asked.cases:
        parser.error("--anew overwrites what is named; name the cases")
    stored = [name for name in CASES if name in read(group_of(name))]
    if kept := [name for name in asked.cases if name in stored and not asked.anew]:
        parser.error(f"{kept[0]!r} has values; --anew overwrites them")
    for name in asked.cases or [name for name in CASES if name not in stored]:
        values = read(group_of(name)) | {name: values_of(trained(CASES[name]()))}
        write(group_of(name), {case: values[case] for case in CASES if case in values})
        print(name)


if __name__ == "__main__":
    main()
