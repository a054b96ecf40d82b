"""What holds of the claims of every room."""

import subprocess
import sys

from fedlib.files import ROOT

ROOMS = [".".join(path.with_suffix("").relative_to(ROOT).parts) for path in ROOT.glob("fedlib/papers/*/*/claims.py")]


def test_a_verdict_needs_no_pictures():
    assert "fedlib.papers.fedsciml.functions.claims" in ROOMS
    code = f"import sys, {', '.join(ROOMS)}; assert not {{'matplotlib', 'ipywidgets', 'IPython'}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)
