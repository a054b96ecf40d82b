"""What lesson plans tell teachers to expect is what comes out: of the page's training, of committed runs."""

import re

import numpy as np
import pytest
import xarray

from fedlib.federated import sums
from fedlib.federated.solved import stored_solutions
from fedlib.federated.sweep import errors
from fedlib.files import ROOT
from fedlib.live.training import Training
from fedlib.notebook.run import Run
from fedlib.numerics.metrics import percent
from fedlib.pages import lessons
from fedlib.papers.beyond.leak import study as leak
from fedlib.papers.beyond.one_round import problem as one_round
from fedlib.papers.beyond.one_round import study as one_round_study
from fedlib.papers.fed_deeponet.library import study as library
from fedlib.papers.fed_deeponet.shards import study as shards
from fedlib.papers.feddro.digits import study as digits
from fedlib.papers.feddro.transport import study as transport
from fedlib.papers.fedsciml.flow import study as flow
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.papers.fedsciml.forward import study as forward_study
from fedlib.papers.fedsciml.functions import problem as functions_problem
from fedlib.papers.fedsciml.functions import study as functions
from fedlib.papers.fedsciml.reaction import claims as reaction_claims
from fedlib.papers.fedsciml.reaction import problem as reaction
from fedlib.papers.fedsciml.reaction import study as reaction_study
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import NOTEBOOKS, cells_of, committed
from fedlib.trainings.store import stored

from .node import evaluate

LESSONS = lessons.PLANS

RUN = """
    return given.map(({ rounds, ...controls }) => {
        const run = M.begin({ rate: 0.01, ...controls });
        for (let r = 0; r < rounds; r++) M.oneRound(run);
        return run.errors;
    });
"""


def rows(name, columns):
    """The rows of a lesson's table with so many columns, without its head."""
    lines = re.findall(r"^\| (.*) \|$", (ROOT / "docs/site/lessons" / name).read_text(), re.MULTILINE)
    return [cells for cells in (line.split(" | ") for line in lines) if len(cells) == columns][1:]


def test_lesson_04_says_what_the_page_shows(tmp_path):
    table = rows("04.md", 8)
    assert len(table) == 9
    controls = [
        {"K": int(K), "pieces": int(p) // int(K), "E": int(E), "averaging": server == "averages", "rounds": int(r)}
        for K, p, E, server, r, *_ in table
    ]
    seen = evaluate(Training._esm, RUN, controls, tmp_path)
    for row, run in zip(table, seen, strict=True):
        said = [float(number) for number in re.findall(r"\d+", " ".join(row[5:]))]
        values = [run["server"], *run["clients"], run["centralised"]]
        np.testing.assert_allclose(said, values, rtol=0, atol=0.6, err_msg=str(row))
    blue = [run["server"] for run in seen]
    assert blue[1] < blue[2] < blue[3] < blue[4]  # talking less often costs
    assert blue[6] < blue[5]  # mixed data help
    assert min(seen[7]["clients"]) > 100  # alone


def test_lesson_01_says_what_the_committed_run_says():
    means = committed("01_pendulum")["metrics"]["mean_error_percent"]
    table = [cells for cells in rows("01.md", 2) if cells[0] in means]
    assert len(table) == 10
    for run, said in table:
        assert float(said) == round(float(np.mean(means[run])), 2), run


def told_02(_):
    results, curves = Run(shards).results(), (shards.SGD, shards.CURVES[0])

    def of(values, **labels):
        return values.sel(test=labels.pop("test", "GRF"), **labels).dropna("seed").values

    rows = {f"shards {n}": [of(results.shards, curve=curve, level=n) for curve in curves] for n in (1, 2, 5, 20)}
    rows |= {f"fields {d}": [of(results.fields, curve=curve, level=d) for curve in curves] for d in (0.0, 4.0)}
    second = [of(results.fields, curve=curve, level=4.0, test="second") for curve in curves]
    rates = {"at half the rate": (0.003, 0.85), "the rate 0.0003 stays": (0.0003, 1.0)}
    rows |= {
        name: [*(of(results.rates, algorithm=shards.ADAM, level=n, lr=lr, decay=decay) for n in (1, 2)), None]
        for name, (lr, decay) in rates.items()
    }
    constant = [of(results.shards, curve=shards.CURVES[1], level=n) for n in (1, 2)]
    kept = [of(results.moments, level=n) for n in (1, 5)]
    return rows | {
        "fields 4.0, on the other kind": second,
        "the rate 0.001 stays": [*constant, None],
        "moments kept": [kept[0], None, kept[1]],
    }


def told_03(_):
    results, last = Run(library).results(), library.last
    rows = {f"{case}, {T} s": [last(results.cases).sel(case=case, level=T)] for case in library.CASES for T in (1, 3)}
    rows |= {f"one client alone, {T} s": [last(results.alone).sel(level=T)] for T in (1, 3)}
    rows |= {f"floor, {T} s": [results.floor.sel(level=T)] for T in (1, 3)}
    unseen = library.of_torques(results.paper)
    rows |= {torque: [unseen.sel(torque=torque)] for torque in unseen.torque.values}
    place = last(results.centralised).isel(level=0)
    rows |= {f"centralised, {work}": [place.sel(work=work)] for work in place.work.values}
    return rows | {f"{library.TOLD}, all seeds": [last(results.paper)]}


def shown(study, name, experiment):
    """The errors (%) of the start that a slider shows, by level and model."""
    solved = stored_solutions(stored(study, name), experiment)
    return {n: {label: percent(u, solved.truth) for label, u in models.items()} for n, models in solved.models.items()}


def assert_rounded(said, values, row):
    for number, value in zip(said, values, strict=True):
        decimals = len(number.partition(".")[2])
        assert abs(float(number) - value) <= 0.5001 * 10**-decimals, (row, number, value)


def test_lesson_04_says_what_the_slider_of_the_notebook_shows():
    levels = shown(functions, "line", functions_problem.gramacy_lee())
    table = rows("04.md", 5)
    assert [row[0] for row in table] == ["2", "20", "24", "100"]
    for n, *said in table:
        kinds = ("isolated client 1", "isolated client 2", "federated", "centralised")
        assert_rounded(said, [levels[int(n)][kind] for kind in kinds], n)
    ((_, *said),) = rows("04.md", 3)
    medians = errors(stored(functions, "line"))[-1].sel(level=24).median("seed")
    assert_rounded(said, [medians.sel(kind=kind).item() for kind in ("isolated", "federated")], "medians")


def told_05(metrics):
    levels = shown(forward_study, "poisson", forward.poisson())
    kinds = ("isolated client 1", "isolated client 2", "federated")
    rows = {f"the slider, {n}": [levels[n][kind] for kind in kinds] for n in (2, 8, 32)}
    for problem, levels in metrics["levels"].items():
        errors = metrics["error_percent"][problem]
        for column, level in enumerate(levels):
            name = "beam" if problem == "beam" else problem.capitalize()
            kinds = ("isolated", "federated", "centralised")
            rows[f"{name}, {level}"] = [np.median(np.array(errors[kind])[:, column]) for kind in kinds]
    return rows


def told_06(metrics):
    errors = metrics["errors_percent_C1_C2_velocity_pressure"]
    rows = {model: [np.array(e)[:, i] for i in (0, 1, 3)] for model, e in errors.items()}
    results = flow.results(flow.PAPER, {name: stored(flow, name) for name in ("flow", "aliased")})
    passages = flow.reached(results.C, results.whole).sel(within=10).fillna(np.inf).median("seed") / 1000
    models = {f"n = {n}, first": f"n = {n}" for n in (2, 6, 10)} | {"n = 2, the sum of the steps": "aliased, n = 2"}
    return rows | {
        name: [passages.sel(model=model, coefficient=C).values for C in ("C1", "C2")] for name, model in models.items()
    }


def told_06b(metrics):
    rows, code = {}, "8 inner and 2 end"
    for points in reaction_study.CHOICES:
        errors = {kind: np.median(e, 0) for kind, e in metrics["error_percent"][f"k, {points}"].items()}
        for i, n in ((0, 2), (-1, 24)):
            rows[f"{points}, {n}"] = [errors[kind][i] for kind in ("isolated", "federated", "centralised")]
        history = stored(reaction_study, (points.file, "levels"))
        by_strength = reaction_claims.by_strength(reaction_study.answers(history, reaction.reaction(*points)))
        rows[f"{points}, centralised"] = [np.median(by_strength[where]) for where in ("strong", "weak")]
    two, four = (np.array(metrics["many_percent"][code][0]) > 50).sum(1)  # seeds whose error of u is that large
    share = 100 * np.mean(metrics["share_of_ends"][code])
    return rows | {
        "share of the ends (%)": [share],
        "starts of 20 that lose u with 2 pieces": [two],
        "with 4 pieces": [four],
    }


def told_07(metrics):
    def labelled(table):
        axes = [axis for axis in table if axis != "values"]
        return xarray.DataArray(np.array(table["values"], float), {axis: table[axis] for axis in axes}, axes)

    errors = labelled(metrics["error_percent"]["antiderivative"])
    kinds = ("federated", "client 1 alone", "client 2 alone")
    error = lambda kind, n: errors.sel(kind=kind, level=n).dropna("seed").values  # noqa: E731
    rows = {f"n = {n}": [error(kind, n) for kind in kinds] for n in errors.level.values}
    rows |= {f"union, n = {n}": [error("centralised", n)] for n in (5, 6)}
    steps = labelled(metrics["local_steps"]["antiderivative"]).sel(level=2)
    return rows | {f"E = {E}": [steps.sel(E=E).dropna("seed").values] for E in (1, 100, 1000)}


def told_08(metrics):
    runs = metrics["one_d"] | {k: v for k, v in metrics["two_d"].items() if "all data" not in k}
    rows = {name: [run[what] for what in ("RMSE", "std", "coverage", "in band")] for name, run in runs.items()}
    covered = {
        f"σ = {sigmas.replace(', ', ' and ')}": [row["covered, quiet"], row["covered, loud"]]
        for sigmas, row in metrics["client_noise"].items()
    }
    return rows | covered | {loss: list(spreads.values()) for loss, spreads in metrics["learnt_std"].items()}


def told_08b(metrics):
    ways = {name[5:]: [row["std"], *(100 * np.array(row[what]) for what in ("in band", "coverage"))]
            for name, row in metrics["quality"].items() if name.startswith("5.1, ")}  # fmt: skip
    spreads = {f"{way} at every noise": row for way, row in metrics["spreads"].items()} | metrics["spread_alone"]
    return ways | {name: [row["0.02"], row["0.4"]] for name, row in spreads.items()}


def told_09(metrics):
    kinds = {"federated": "federation", "centralised": "one model with all pixels"}
    right = {words: [100 * np.array(metrics["right"][kind])] for kind, words in kinds.items()}
    right |= {f"{L} own pixels": [100 * np.array(values)] for L, values in metrics["levels"].items()}
    letters = {"federation": metrics["overlap"]["federated"], "50 own pixels": metrics["levels, overlap"]["50"]}
    overlap = {f"overlap, {name}": list(np.array(values).T) for name, values in letters.items()}
    alone = metrics["overlap alone"]
    return right | overlap | {"own letter": [alone["own"]], "the others'": [alone["others"]]}


def told_10(metrics):
    gaps = stored(transport, "walks").gap.sel(round=[1, 2, 3, 10])
    return {start: gaps.sel(start=start).values[:, None] for start in gaps.start.values.tolist()}


def told_10b(metrics):
    results = Run(digits).results()
    rows = {f"{way}, {r} rounds": results.accuracy.sel(way=way, round=r) for way in digits.FOUR for r in (10, 100)}
    rows |= {f"ten means of {who}, no network": results.means[name] for who, name in MEANS_OF.items()}
    return {name: [*values.transpose("level", "seed").values] for name, values in rows.items()}


MEANS_OF = {"all": "all", "client 1": "one"}


def told_11(metrics):
    repair = "fresh correction + averaged moments"
    rules = ("FedAvg", "SCAFFOLD", "fresh correction", repair, "centralised")
    rows = {name: [of[rule] for rule in rules] for name, of in metrics["error_percent"].items()}
    steps = metrics["local_steps"]["wave, 20 pieces"]
    pairs = zip((1, 2, 5, 10, 20, 50), steps["FedAvg"], steps[repair], strict=True)
    return rows | {f"E = {E}": [*both] for E, *both in pairs}


def told_12(metrics):
    messages = stored(leak, "messages")
    apart = {
        f"{attack}, {optimizer}, E = {E}": messages[attack]
        .sel(optimizer=optimizer, E=E, points=[1, 10, 20, 50])
        .mean("client")
        .values
        for attack in ("span", "fit")
        for optimizer, E in (("SGD", 1), ("Adam", 5))
    }
    price = metrics["price"]
    sizes = zip(price["clients"], price["up"], price["data"], strict=True)
    return apart | {str(n): [up / 1e6, data / 1e6] for n, up, data in sizes}


def alone_13(pieces, points):
    """The error (%) of each client's own sums."""
    equation, data = one_round.with_sines("poisson", 60, 6.0, 0), forward.poisson(points).data(pieces, 0)
    messages = [sums.statistics(equation, client, one_round.start(equation)) for client in sums.parts(data)]
    return [one_round.error(equation, sums.solve(message).step, data.test) for message in messages]


def told_13(metrics):
    """And what hiding points costs: by message or crowd, and noise."""
    rows = {f"{of['problem']}, {of['way']}": [np.median(of["error"])] for of in metrics["places"]}
    noise, private = (stored(one_round_study, name).error for name in ("noise", "private"))
    rows |= {f"{e.message.item()}, noise {e.noise.item():g}": [np.median(e)] for one in noise for e in one}
    rows |= {f"{e.points.item()} points, ε = {e.epsilon.item()}": [np.median(e)] for one in private for e in one}
    assert max(alone_13(8, 64)) < 1e-4, "each alone is right, to a ten-thousandth of a per cent"
    cases = [(2, 32), (8, 32), (32, 32), (2, 64)]
    return rows | {f"{n} pieces, {points} points": alone_13(n, points) for n, points in cases}


def told_14(metrics):
    return {f"{of['problem']}, {of['way']}": [np.median(of["error"])] for of in metrics["places"]}


TOLD = {
    "02": ("02_heterogeneity", told_02, 11),
    "03": ("03_pendulum_library", told_03, 12),
    "05": ("05_pinn_forward", told_05, 9),
    "06": ("06_flow", told_06, 8),
    "06b": ("06b_reaction", told_06b, 9),
    "07": ("07_operator_learning", told_07, 10),
    "08": ("08_stochastic_regression", told_08, 12),
    "08b": ("08b_as_coded", told_08b, 8),
    "09": ("09_stochastic_image", told_09, 9),
    "10": ("10_transport", told_10, 4),
    "10b": ("10b_digits", told_10b, 10),
    "11": ("11_client_drift", told_11, 6),
    "12": ("12_real_federation", told_12, 6),
    "13": ("13_one_round", told_13, 17),
    "14": ("14_sums_for_networks", told_14, 4),
}


@pytest.mark.parametrize("lesson", TOLD)
def test_a_lesson_says_what_the_committed_run_says(lesson):
    """Means over seeds, rounded as the lesson rounds them; every row of the tables after the questions."""
    notebook, told, count = TOLD[lesson]
    means = told(committed(notebook)["metrics"])
    text = (ROOT / "docs/site/lessons" / f"{lesson}.md").read_text().split("The numbers above")[1]
    tables = re.findall(r"^\|[^\n]*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    table = [line[2:-2].split(" | ") for rows in tables for line in rows.splitlines()]
    assert len(table) == count
    for run, *said in table:
        assert [number == "-" for number in said] == [values is None for values in means[run]], run
        numbers = [number for number in said if number != "-"]
        assert_rounded(numbers, [np.mean(values) for values in means[run] if values is not None], run)


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lessons_page_is_its_plan_with_the_piece_and_the_exercises_of_its_notebook(path):
    page, notebook = lessons.page(path), lessons.notebook_of(path)
    assert page.count(f"explorer_{notebook.stem}.html") == 1 and "What one sees" in page.split("## Questions")[0]
    headings = "".join("".join(cell["source"]) + "\n" for cell in cells_of(notebook) if cell["cell_type"] == "markdown")
    anchors = {lessons.anchor(heading) for heading in re.findall(r"^## (.+)$", headings, re.MULTILINE)}
    named = re.findall(rf"\]\({notebook.name}#([^)]+)\)", page)
    assert named and {*named} <= anchors
    asked = {int(n) for n in re.findall(r"^(\d)\. ", page.split("## Exercises")[1], re.MULTILINE)}
    assert asked == {*range(1, len(asked) + 1)} and len(asked) >= 3
    assert ("make lab" in page.splitlines()[2]) == ("live.show()" in notebook.read_text())


def test_a_lesson_names_sections_of_its_notebook(tmp_path):
    plan = tmp_path / "05.md"
    plan.write_text("# Lesson\n\n*Before:* lesson 04.\n\n## Questions\n\n1. *Sections 4 and B12.* Why?\n")
    with pytest.raises(ValueError, match=r"05\.md names section B12; 05_pinn_forward\.ipynb has 1, 2, "):
        lessons.page(plan)


def test_every_lesson_is_listed_with_what_must_be_known():
    rows = re.findall(r"^\| \[(\w+)\]\(lessons/\1.md\) \| .+\? \| \w.+\. \|$", lessons.table(), re.MULTILINE)
    assert rows == [path.stem for path in LESSONS] == [name.split("_")[0] for name in STUDIES]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_numbers_in_the_text_stand_in_the_tables(path):
    text = path.read_text()
    words, table = text.split("The numbers above")
    body = words.split("## Questions")[1]
    known = set(re.findall(r"\d+(?:\.\d+)?", table)) | {"83", "100"}  # all begin with 83 %; "more than 100 %"
    for numbers in re.findall(r"((?:\d+(?:\.\d+)?(?:, | and | to | → )?)+) %", body):
        assert set(re.findall(r"\d+(?:\.\d+)?", numbers)) <= known, numbers


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_exercises_have_solutions(path):
    text = (NOTEBOOKS / "solutions" / lessons.notebook_of(path).name).read_text()
    named = re.findall(r"[Ee]xercise (\d)(?: or (\d))?", path.read_text())
    assert named
    for number in filter(None, {*sum(named, ())}):
        assert f'"## {number} ' in text, number
