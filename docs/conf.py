"""Configuration of the documentation site; `cargo xtask site` builds it.

Sphinx, because pages of the Python API come from docstrings in numpydoc's form, because it refuses broken links, and because readers know
its pages from NumPy, SciPy and scikit-learn, whose theme this is. Pages are Markdown (MyST), so that they can also be read where the
code is hosted. Everything that a page needs is in the site: no page loads anything from elsewhere.
"""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "examples")]

import lapwing  # noqa: E402

REPOSITORY = "https://github.com/lapwing-learn/lapwing"
SITE = "https://lapwing-learn.github.io/lapwing"

project = "lapwing"
author = "The lapwing developers"
copyright = "The lapwing developers"
version = release = lapwing.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "outside_links",
]
exclude_patterns = ["_ext", "_static", "_templates", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
# Pages of a folder that the site's build fills may be missing in a tree that was not built.
nitpicky = False
suppress_warnings = ["config.cache"]

# Single backquotes in docstrings are code.
default_role = "code"

# Markdown. Headings get the same anchors as where the code is hosted.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
outside_links_base = f"{REPOSITORY}/blob/main"

# The Python API, from docstrings.
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]

# The gallery. Examples whose data are not here become pages without output.
import datasets  # noqa: E402

_here = [path.name for path in sorted((ROOT / "examples").glob("plot_*.py")) if datasets.all_there(path)]
_run = "" if os.environ.get("LAPWING_SITE_EXAMPLES") == "off" else "|".join(name.removesuffix(".py") for name in _here)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/({_run})\.py$" if _run else r"^$",
    "ignore_pattern": r"(datasets|__init__)\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("lapwing",),
    "remove_config_comments": True,
    "min_reported_time": 0,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "gallery_order.Order",
    "write_computation_times": False,
}

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "lapwing"
html_static_path = ["_static"]
html_css_files = ["lapwing.css"]
html_favicon = "_static/lapwing.svg"
html_show_sourcelink = False
html_copy_source = False
html_baseurl = f"{SITE}/stable/"
html_theme_options = {
    "logo": {"text": "lapwing", "image_light": "_static/lapwing.svg", "image_dark": "_static/lapwing.svg"},
    "icon_links": [
        {"name": "Source", "url": REPOSITORY, "icon": "fa-brands fa-github"},
        {"name": "PyPI", "url": "https://pypi.org/project/lapwing", "icon": "fa-brands fa-python"},
    ],
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "switcher": {"json_url": f"{SITE}/switcher.json", "version_match": os.environ.get("LAPWING_SITE_VERSION", "dev")},
    "check_switcher": False,
    "show_version_warning_banner": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "navigation_with_keys": False,
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Colors of Rust for the blocks whose fence also says how rustdoc tests them."""
    from pygments.lexers.rust import RustLexer

    app.add_lexer("rust,no_run", RustLexer)
