"""Sphinx for the site: myst-nb without execution, MathJax from the site itself, no address outside of it."""

import re

from fedlib.pages import citations

project = "Federated scientific machine learning, to move"
author = "The fedlib authors"
copyright = "2026, the fedlib authors"
extensions = ["myst_nb", "sphinx.ext.mathjax", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_pieces", "_stored", "figures"]
html_extra_path = ["_stored"]  # the results that the report was made from
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would offer what lies elsewhere
html_theme = "sphinx_book_theme"
html_title = "Federated scientific machine learning"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("sort.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
html_use_index = html_domain_indices = False  # library.html is one
html_theme_options = {
    "back_to_top_button": False,  # it would lie on what moves
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "navbar_persistent": [],
    "extra_footer": citations.lines(),
}
html_context = {"default_mode": "auto"}
autodoc_typehints = "none"  # docstrings say shapes, which types do not
napoleon_use_param = False  # arguments that share a sentence stay together


def plain(app, what, name, obj, options, lines):
    """Docstrings are text: |u| and *over are what they say, in double backticks is code. Of arguments that share a line
    each gets one."""
    words = "\n".join(lines).split("``")
    words[::2] = [re.sub(r"([*|])", r"\\\1", word) for word in words[::2]]
    text = re.sub(r"^(    .*?\.) (?=[a-z_]+(?:, [a-z_]+)*: )", r"\1\n    ", "``".join(words), flags=re.M)
    lines[:] = text.split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", plain, priority=400)  # before napoleon
