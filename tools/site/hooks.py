# SPDX-License-Identifier: Apache-2.0
"""What MkDocs needs to know of this repository: pages that are made from other files, the version, and
links from a page to a file outside of docs/."""

import posixpath
import re
import subprocess
import sys
from html import escape
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import gallery  # noqa: E402
import header  # noqa: E402
import package  # noqa: E402
import results  # noqa: E402

# Pages that live elsewhere in the repository, and those that are made: both by their place on the site.
ELSEWHERE = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "reference/vectors.md": "conformance/README.md",
}
MADE = {
    "gallery.md": lambda: gallery.page(ROOT / "docs"),
    "reference/header.md": lambda: header.reference(ROOT / "include/vjp/vjp.h"),
    "reference/package.md": lambda: package.reference(ROOT),
    "reference/program.md": lambda: manual(ROOT / "docs/vjp.1"),
    "results.md": lambda: results_page(),
}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".py": "python", ".sh": "sh", ".txt": "text", ".rs": "rust"}


def version():
    source = (ROOT / "include/vjp/vjp.h").read_text()
    return ".".join(re.search(rf"#define VJP_VERSION_{part} (\d+)", source).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def manual(path):
    source = path.read_text().replace("@PROJECT_VERSION@", version())
    text = subprocess.run(["mandoc", "-T", "markdown"], input=source, check=True, capture_output=True, text=True).stdout
    _, body = text.split("\n", 1)  # the first line is the title
    return "# vjp(1)\n" + re.sub(r"^#", "##", body, flags=re.M) + "\n"


def results_page():
    """The sources of all measured figures."""
    rows = [f"| [{name}](results/{name}.json) | `{result['command']}` | {result['machine']} | {result['commit']} |"
            for name, result in results.load().items()]
    return "\n".join(["# Results", "", "Every measured figure of these pages is in a file of `docs/results`, or in the "
                      "larger file that it names, with the command that measured it, the machine and the commit that "
                      "recorded it. A test compares the pages with the files.", "",
                      "| result | command | machine | commit |", "|---|---|---|---|", *rows, ""])


def with_sources(markdown):
    """Say where figures come from: below a table, and in the tooltip of a single one."""
    known = results.load()

    def below(match):
        return f"{match.group(3)}\n{escape(results.source(known[match.group(1)]))}\n{{ .source }}\n"

    def tooltip(match):
        title = escape(results.source(known[match.group(2)]))
        return f'<span class="figure" title="{title}">{match.group(1)}</span>'

    parts = results.prose_and_code(markdown)
    parts[::2] = [results.VALUE.sub(tooltip, results.TABLE.sub(below, prose)) for prose in parts[::2]]
    return "".join(parts)


def on_config(config):
    config.copyright = f"vjp {version()}, Apache License 2.0"
    names = [name for name, _ in gallery.operators(ROOT / "docs/operators")]
    expand(config.nav, [{name: f"operators/{name}.md"} for name in names])
    return config


def expand(nav, pages):
    """Put the pages of all operators where nav says operators/*."""
    for entry in nav:
        for section in entry.values() if isinstance(entry, dict) else ():
            if isinstance(section, list) and "operators/*" in section:
                section.remove("operators/*")
                section.append({"One by one": pages})


def on_files(files, config):
    check_links_of("README.md")
    for place, make in MADE.items():
        files.append(File.generated(config, place, content=make()))
    for place, path in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text()))
    for path in sorted(set(linked_sources(files))):
        files.append(File.generated(config, source_page(path), content=source_text(path)))
    return files


def check_links_of(path):
    """For a page that is not on the site."""
    for link, _ in LINK.findall(without_code((ROOT / path).read_text())):
        if not (ROOT / link).exists():
            raise PluginError(f"{path}: link to {link}, which is not there")


def repository_path(place):
    """Where the file of a page is in the repository: links are relative to it."""
    return ELSEWHERE.get(place, f"docs/{place}")


def target_of(place, link):
    return posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(place)), link))


def linked_sources(files):
    for file in files.documentation_pages():
        for link, _ in LINK.findall(without_code(file.content_string)):
            target = target_of(file.src_uri, link)
            if not target.startswith("docs/") and target not in ELSEWHERE.values() and (ROOT / target).is_file():
                yield target


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def source_page(path):
    return f"source/{path}.md"


def source_text(path):
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    return f"# {path}\n\n````{language}\n{(ROOT / path).read_text()}````\n"


def place_on_site(target):
    """The page or file of the site that shows this file of the repository; None if there is none."""
    for place, path in ELSEWHERE.items():
        if target == path:
            return place
    if target == "README.md":
        return "index.md"
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return source_page(target) if (ROOT / target).is_file() else None


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def rewritten(match):
        place = place_on_site(target_of(here, match.group(1)))
        if place is None:
            raise PluginError(f"{repository_path(here)}: link to {match.group(1)}, which is not there")
        return posixpath.relpath(place, posixpath.dirname(here) or ".") + (match.group(2) or "")

    return LINK.sub(rewritten, with_sources(markdown))
