"""Whatever is killed or full: the error names it, others keep what they have, and the same commands go on to the end.

With real processes and certificates: test_flare_machines, test_story.
"""

import errno
from pathlib import Path

import pytest

from fedlib.machines.engines import ask_in_turn, difference, sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.machines.server import federate
from fedlib.machines.site import Site

from .test_engines import MOMENTUM, PATH, PERSONAL, case  # noqa: F401

KILLED = RuntimeError("the machine is gone")


def killed(sites, when, monkeypatch):
    """An engine on which site-3 is killed in round 2: before it is asked, while it works, or when it has written down
    what it did, and its answer is lost."""

    def ask(questions):
        if questions.get("site-3", {}).get("round") != 2:
            return ask_in_turn(sites)(questions)
        if when == "before":
            others = {name: question for name, question in questions.items() if name != "site-3"}
            return ask_in_turn(sites)(others) | {"site-3": {"error": f"{KILLED}"}}
        with monkeypatch.context() as patch:
            if when == "during":
                patch.setattr(sites["site-3"], "keep", stop)
            answers = ask_in_turn(sites)(questions)
        return answers | {"site-3": {"error": f"{KILLED}"}}

    return ask


def stop(kept):
    raise KILLED


@pytest.mark.fault("survived")
@pytest.mark.parametrize("name", [MOMENTUM, PERSONAL, "scaffold, personal layer"])
@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_site_killed_before_during_or_after_a_round_loses_nothing(case, name, when, tmp_path, monkeypatch):  # noqa: F811
    case(name)
    plan, file = load(PATH), tmp_path / "server.pt"
    with pytest.raises(RuntimeError, match="round 2: site-3 failed: the machine is gone"):
        [*federate(plan, killed(sites_of(plan, tmp_path), when, monkeypatch), checkpoint=file)]
    sites = sites_of(plan, tmp_path)
    played = [*federate(plan, ask_in_turn(sites), checkpoint=file)]
    assert [done.number for done in played] == [2, 3], "rounds 0 and 1 are kept"
    assert difference(sites, in_one_process(plan)) < 1e-12


@pytest.mark.fault("survived")
def test_a_killed_server_goes_on_from_its_last_round(case, tmp_path):  # noqa: F811
    """After it asked, and before it wrote the round down."""
    case(MOMENTUM)
    plan, file = load(PATH), tmp_path / "server.pt"
    sites = sites_of(plan, tmp_path)

    def ask(questions):
        answers = ask_in_turn(sites)(questions)
        if any(question.get("round") == 2 for question in questions.values()):
            raise KeyboardInterrupt
        return answers

    with pytest.raises(KeyboardInterrupt):
        [*federate(plan, ask, checkpoint=file)]
    assert [done.number for done in federate(plan, ask_in_turn(sites), checkpoint=file)] == [2, 3]
    assert difference(sites, in_one_process(plan)) < 1e-12


@pytest.fixture
def full_disk(monkeypatch):
    """Of site-2, when it is switched on: half of a file is written."""
    real, full = Path.write_bytes, []

    def write_bytes(path, content):
        if full and "site-2.pt" in path.name:
            real(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    return full


@pytest.mark.fault("clear error")
def test_a_full_disk_at_a_site_is_named_and_its_old_state_is_whole(case, tmp_path, full_disk):  # noqa: F811
    case("ragged, full batch")
    plan, file = load(PATH), tmp_path / "server.pt"
    playing = federate(plan, ask_in_turn(sites_of(plan, tmp_path)), checkpoint=file)
    next(playing), next(playing), full_disk.append(True)
    with pytest.raises(RuntimeError, match=r"round 2: site-2 failed: .*site-2.pt cannot be written: No space left"):
        next(playing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server.pt", "site-1.pt", "site-2.pt", "site-3.pt"]
    full_disk.clear()
    sites = sites_of(plan, tmp_path)
    assert [done.number for done in federate(plan, ask_in_turn(sites), checkpoint=file)] == [2, 3]
    assert difference(sites, in_one_process(plan)) < 1e-12


@pytest.mark.fault("survived")
def test_others_go_on_without_a_site_whose_disk_is_full(case, tmp_path, full_disk):  # noqa: F811
    """And it is there again as soon as it can write, with what it kept."""
    case("ragged, full batch")
    plan = load(PATH)
    sites = sites_of(plan, tmp_path)
    playing = federate(plan, ask_in_turn(sites), min_sites=2)
    lost = [next(playing).lost]
    full_disk.append(True)
    lost.append(next(playing).lost)
    full_disk.clear()
    lost += [done.lost for done in playing]
    assert [[*names] for names in lost] == [[], ["site-2"], [], []]
    assert isinstance(sites["site-2"], Site) and max(sites["site-2"].kept) == 3
