"""JavaScript in Node, which playwright brings along where the machine has none."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest


def runtime() -> str:
    """Node's path; the test is skipped where there is none."""
    if found := shutil.which("node"):
        return found
    driver = pytest.importorskip("playwright._impl._driver", reason="no node on the PATH and no playwright")
    return str(driver.compute_driver_executable()[0])


def evaluate(module: str, body: str, given, tmp_path: Path):
    """What ``body`` returns: a function's body that knows M, the module's exports, and ``given``."""
    (tmp_path / "module.mjs").write_text(module)  # .mjs: every Node takes it for a module
    script = f"""
        import * as M from "./module.mjs";
        import {{ readFileSync }} from "node:fs";
        const plain = (key, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
        const run = (given) => {{ {body} }};
        console.log(JSON.stringify(run(JSON.parse(readFileSync(0, "utf8"))), plain));
    """
    (tmp_path / "script.mjs").write_text(script)
    done = subprocess.run(
        [runtime(), str(tmp_path / "script.mjs")], input=json.dumps(given), capture_output=True, text=True, timeout=120
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)
