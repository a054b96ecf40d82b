"""Cells of a notebook that others need: what only shows something is left out of a run that asks something else."""

import ast
from collections.abc import Callable, Sequence

from nbformat import NotebookNode


def names_in(source: str) -> tuple[set[str], set[str]]:
    """Names that a cell binds, and all that it names."""
    nodes = [*ast.walk(ast.parse(source))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
    return bound, names


def needed(cells: Sequence[NotebookNode], wanted: Callable[[int, NotebookNode], bool]) -> list[NotebookNode]:
    """The parameters, the code cells that are wanted (by number and cell), and those that bind what these read."""
    kept, read = [], set()
    for i, cell in reversed([*enumerate(cells)]):
        if cell.cell_type == "code":
            bound, names = names_in(cell.source)
            if "parameters" in cell.metadata.get("tags", []) or wanted(i, cell) or bound & read:
                kept.insert(0, cell)
                read |= names
    return kept
