"""How the site is built: ``make docs``. Pages that follow from the code are written by `docs/build_tools`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from build_tools.gallery import SUBSECTIONS, reset  # noqa: E402

import preflearn  # noqa: E402

project = "preflearn"
author = "the preflearn developers"
copyright = author  # noqa: A001 - the name that Sphinx reads
version = release = preflearn.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "build_tools.docstrings",
    "build_tools.generated",
    "build_tools.live",
    "build_tools.mathml",
    "build_tools.llms",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "build_tools", "results", "**/*.template", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["build_tools/templates"]
default_role = "py:obj"
nitpicky = False
suppress_warnings = ["config.cache"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# The reference
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The gallery runs every example; a failing one fails the build.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": SUBSECTIONS,
    "reset_modules": (reset,),
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "image_srcset": ["2x"],
    "reference_url": {"preflearn": None},
    "backreferences_dir": "reference/examples",
    "doc_module": ("preflearn",),
}

# The look
html_theme = "pydata_sphinx_theme"
html_title = "preflearn"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True
html_show_sourcelink = False
html_show_search_summary = False  # it would be fetched, which browsers forbid for files
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "start", "which-model", "answer", "statistics", "data")}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
