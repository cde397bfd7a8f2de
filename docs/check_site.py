"""Check the built site: no dead link inside it, nothing loaded from elsewhere, words for each picture, each name there.

    python docs/check_site.py docs/_build/html

It prints what is wrong, one line each, and ends with 1 if there was anything.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "shortcut"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.without_words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take from a tag what is checked."""
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loaded = tag != "link" or LOADED_LINKS & set(given.get("rel", "").split())
        if tag in LOADS and loaded and given.get(LOADS[tag]):
            self.loads.append(given[LOADS[tag]])
        if tag == "img":
            words = given.get("alt", "")
            if "alt" not in given or words.endswith((".png", ".svg")) or words.startswith("plot"):
                self.without_words.append(given.get("src", ""))


def read(path: Path) -> Page:
    """Return what a page has."""
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


def problems(site: Path) -> list[str]:
    """Return what is wrong with the pages of a site, in words."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site)
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    found.append(f"{here}: loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{here}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{here}: {link} has no such place")
        found += [f"{here}: picture {src} has no words in its place" for src in page.without_words]
    return found


def missing_names(site: Path) -> list[str]:
    """Return public names that the reference does not describe."""
    sys.path.insert(0, str(Path(__file__).parent))
    from build_tools.generated import public_names

    described = {path.stem for path in site.glob("reference/python/names/*.html")}
    return [f"{name}: not in the reference" for name in public_names() if name not in described]


def main() -> int:
    """Print what is wrong with a site."""
    site = Path(sys.argv[1]).resolve()
    found = problems(site) + missing_names(site)
    for line in found:
        print(line)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} problems")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
