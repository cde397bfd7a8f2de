"""Make the report of the tastings and a picture of its first screen, as the start page of the site shows it.

    python examples/report_picture.py [--out docs/report.png]

Needs playwright (pip install playwright) and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "report.png")
    out = parser.parse_args().out
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("report_picture: Chromium is not installed.")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        command = ["rank", "tastings.csv", "--items", "teas.csv", "--report", str(report)]
        subprocess.run([sys.executable, "-m", "preflearn", *command], cwd=HERE, check=True)
        with sync_playwright() as tools:
            browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1000, "height": 1180}, device_scale_factor=1)
            page.goto(report.as_uri())
            page.screenshot(path=str(out))
            browser.close()


if __name__ == "__main__":
    main()
