"""The story of docs/own_data.md with five laboratories, as real processes with certificates, and what goes wrong.

Columns in another order, a missing value, one row, no rows, another encoding; a kill in the middle; a
laboratory that comes back with another table. Each is named by the server, and nothing is lost at the others.
"""

from pathlib import Path

import numpy as np
import pytest

from fedlib.machines.model import read_model
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.streams import stream
from fedlib.trainings.settings import read_result

from .laboratories import saved
from .test_flare import largest_difference
from .test_flare_machines import Machines, pytestmark  # noqa: F401, they need FLARE, too

LABORATORIES = [f"site-{i}" for i in range(1, 6)]
SLOW = """
import time
BACKEND, DTYPE = "eager", torch.float64
fast = residuals
def residuals(predict, batch):
    time.sleep(0.05)
    return fast(predict, batch)
"""


def lines(client: int, rows: int = 20) -> list[str]:
    """A laboratory's table, as it should be."""
    T, c = stream(7, "story", client).uniform([290 + 15 * client, 0.1], [320 + 15 * client, 4], (rows, 2)).T
    rate = 3e6 * np.exp(-5200 / T) * c
    return ["temperature,concentration,rate", *(f"{a},{b},{y}" for a, b, y in zip(T, c, rate, strict=True))]


class Story(Machines):
    """Five laboratories, each with a folder of its own table only."""

    def table(self, client: int, text: str, encoding: str = "utf-8") -> None:
        (folder := self.folder / f"tables-{client + 1}").mkdir(exist_ok=True)
        (folder / f"client-{client}.csv").write_text(text, encoding=encoding)

    def play(self, path: Path, *arguments: str) -> None:
        """The same commands at all machines."""
        for i, name in enumerate(LABORATORIES, 1):
            self.site(name, path, FEDLIB_CSV=str(self.folder / f"tables-{i}"))
        self.server(*arguments, path=path)

    def ended(self) -> tuple[int, str]:
        """What the server's command gives and has printed, when all commands have ended."""
        code = self.end("server")
        for name in LABORATORIES:
            self.end(name)
        return code, self.output("server").read_text()


@pytest.fixture
def story(tmp_path):
    path = saved(tmp_path / "laboratories.py", SLOW, SITES=[[k] for k in range(5)])
    machines = Story(tmp_path, path=path)
    yield machines, path
    machines.clear()


@pytest.mark.fault("clear error")
def test_five_laboratories_with_bad_tables_and_kills_equal_one_process(story):
    machines, path = story
    good = {k: "\n".join(lines(k, 1 if k == 2 else 20)) for k in range(5)}
    good[0] = "\n".join(",".join(line.split(",")[::-1]) + ",x" for line in lines(0))  # another order, and one more
    missing, latin = lines(1), lines(4)
    missing[6] = ",".join([*missing[6].split(",")[:2], ""])
    latin = [f"{line},{'ort' if not i else 'Köln'}" for i, line in enumerate(latin)]
    for k, text in good.items():
        machines.table(k, text)
    machines.table(1, "\n".join(missing))
    machines.table(3, lines(3)[0])
    machines.table(4, "\n".join(latin), "latin-1")

    # 1: three of five have to mend their tables, and all are named at once
    machines.play(path, "--rounds", "12")
    code, printed = machines.ended()
    assert code == 2 and "round    1" not in printed
    for words in (
        "site-2 did not join: ",
        "client-1.csv, line 7, column 'rate': '' is not finite; leave out lines without a value",
        "site-4 did not join: ",
        "client-3.csv has no line of data below the names of its columns",
        "site-5 did not join: ",
        "client-4.csv, line 2 is no UTF-8 text; save it as 'CSV UTF-8'",
    ):
        assert words in printed
    assert "site-1 did not" not in printed and "site-3 did not" not in printed, "another order, and one row"

    # 2: a laboratory is killed in the middle
    for k, text in good.items():
        machines.table(k, text)
    machines.play(path, "--rounds", "12", "--timeout", "20")
    machines.until("server", "round    3")
    machines.kill("site-4")
    code, printed = machines.ended()
    assert code == 2 and "site-4 failed: " in printed

    # 3: it comes back with another table
    machines.table(3, good[3].replace("290", "291") + "\n300,1,0.1")
    machines.play(path, "--rounds", "12")
    code, printed = machines.ended()
    assert code == 2 and "site-4.pt is of other points than those that site-4 has now" in printed

    # 4: with its own it goes on from the last round, to the same end as in one process
    machines.table(3, good[3])
    machines.play(path, "--rounds", "12")
    code, printed = machines.ended()
    assert code == 0 and "round   12" in printed and "round    1 " not in printed, printed
    (tables := machines.folder / "all tables").mkdir()
    for k, text in good.items():
        (tables / f"client-{k}.csv").write_text(text)
    pytest.MonkeyPatch().setenv("FEDLIB_CSV", str(tables))
    together = in_one_process(load(path), rounds=12)
    assert largest_difference(machines.folder / "sites", together) < 1e-10
    losses = read_result(machines.folder / "server" / "result.json")["metrics"]["losses"]
    np.testing.assert_allclose(losses, together.losses, rtol=1e-5)  # six digits in a file
    models = [read_model(machines.folder / "sites" / f"{name}.model.pt2") for name in LABORATORIES]
    assert len({model(np.array([[330.0, 1.0]])).item() for model in models}) == 1
    assert machines.left_over() == []
