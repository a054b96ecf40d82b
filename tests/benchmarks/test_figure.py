"""The figure of the benchmark, from a small result that nobody measured."""

import numpy as np

from benchmarks.figure import LOOKS, draw_speed


def case(problem, clients, limit, **ratios):
    ways = {way.replace("_", " "): {"times_plain": ratio} for way, ratio in ratios.items()}
    return {"problem": problem, "clients": clients, "limit_times_plain": limit, "ways": ways}


def fake():
    return {
        "problems": [
            case("line", 2, 16.0, plain_loop=1.0, JAX=12.0, xla=11.0, DeepXDE=0.7),
            case("line", 20, 13.0, plain_loop=1.0, JAX=11.0, xla=10.0, DeepXDE=0.6, Flower=0.5),
            case("Helmholtz", 2, 20.0, plain_loop=1.0, eager=9.0, xla=8.0),
        ]
    }


def test_lines_go_through_the_ratios_of_their_ways():
    over, bars = draw_speed(fake()).axes
    lines = {line.get_label(): np.array(line.get_data()).T.tolist() for line in over.lines}
    assert lines == {
        "plain PyTorch loop": [[2, 1], [20, 1]],
        "JAX by hand": [[2, 12], [20, 11]],
        "engine, XLA": [[2, 11], [20, 10]],
        "authors' way, DeepXDE": [[2, 0.7], [20, 0.6]],
        "Flower, in process": [[20, 0.5]],
        "matrix products alone": [[2, 16], [20, 13]],
    }
    assert over.get_xscale() == over.get_yscale() == bars.get_xscale() == "log"


def test_bars_are_as_long_as_the_ratios_of_their_ways():
    bars = draw_speed(fake()).axes[1]
    assert [bar.get_width() for bar in bars.patches] == [8, 9, 1]
    assert [tick.get_text() for tick in bars.get_yticklabels()] == ["XLA", "eager", "loop"]
    places = [bar.get_y() + bar.get_height() / 2 for bar in bars.patches]
    assert list(bars.get_yticks()) == places
    (limit,) = [line for line in bars.lines if line.get_label() == "matrix products alone"]
    assert set(limit.get_xdata()) == {20.0}


def test_the_legend_names_each_way_once():
    (legend,) = draw_speed(fake()).legends
    names = [text.get_text() for text in legend.get_texts()]
    drawn = {way for c in fake()["problems"][:2] for way in c["ways"]}
    assert sorted(names) == sorted([*(LOOKS[way]["label"] for way in drawn), "matrix products alone"])
