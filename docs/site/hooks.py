"""What MkDocs is told beside mkdocs.yml: which pages, in which order; source files as pages; search from disk.

The pages are written for a forge: they link to source files with relative paths. Here each file that is linked, or
named in backquotes, becomes a page of its own.
"""
import json
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
PATH = re.compile(r"(?<!\[)`((?:stages|common|tests|bench|docs|\.ci)/[\w./-]+)`")

# Headings of the menu, and the pages under each; those that do not exist (yet) are left out.
MENU = [
    ("Start", ["README.md", "start.md", "c-you-need.md", "contract.md", "how-to-measure.md"]),
    ("Stages", [f"stage-{n}.md" for n in range(1, 7)] + ["predicted.md"]),
    ("Around malloc", ["real-allocators.md", "pools.md", "zeroed-memory.md", "traces.md", "recording.md", "programs.md"]),
    ("To look up", ["faults.md", "debugging.md", "reading-failures.md", "mutants.md", "glossary.md", "bibliography.md", "answers.md"]),
    ("Further", ["further-projects.md", "teaching.md"]),
]


def on_config(config):
    listed = {page for _, pages in MENU for page in pages}
    others = sorted(page.name for page in DOCS.glob("*.md") if page.name not in listed)
    menu = [(title, [page for page in pages if (DOCS / page).exists()]) for title, pages in MENU]
    config["nav"] = [{title: pages} for title, pages in menu + [("More", others)] if pages]
    return config


def is_source(path):
    """A file of the repository that is no page of the site by itself."""
    return path.is_file() and TOP in path.parents and not (path.parent == DOCS and path.suffix == ".md")


def named_files(text, folder):
    text = FENCE.sub("", text)
    found = [(folder / link).resolve() for link, _ in LINK.findall(text)]
    return {path for path in found + [TOP / name for name in PATH.findall(text)] if is_source(path)}


def source_page(path):
    return f"source/{path.relative_to(TOP)}.md"


def on_files(files, config):
    shown = [f for f in files if "/" not in f.src_path and f.src_path.endswith(".md")]
    shown += [f for f in files if f.src_path.startswith("img/") or f.src_path == "site/extra.css"]
    shown += [f for f in files if not Path(f.abs_src_path).is_relative_to(DOCS)]  # the theme's own
    todo, done = {path for page in DOCS.glob("*.md") for path in named_files(page.read_text(), DOCS)}, set()
    folder = Path(config["site_dir"]).parent / "site-sources"
    while todo:
        path = todo.pop()
        done.add(path)
        if path.suffix in (".png", ".svg") and DOCS in path.parents:
            continue
        text = path.read_text(errors="replace")
        name = path.relative_to(TOP)
        if path.suffix == ".md":
            todo |= named_files(text, path.parent) - done
        else:
            language = {".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".mk": "make"}.get(path.suffix, "text")
            text = f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n````{language}\n{text}````\n"
        target = folder / source_page(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        shown.append(File(source_page(path), str(folder), config["site_dir"], config["use_directory_urls"]))
    return Files(shown)


def on_page_markdown(markdown, page, config, files):
    """Links to source files lead to their pages; a path in backquotes becomes a link."""
    here = page.file.src_path
    original = (TOP / here[len("source/"):-len(".md")]) if here.startswith("source/") else DOCS / here
    start = posixpath.dirname(here) or "."

    def to_page(path):
        if is_source(path):
            page_path = source_page(path)
        elif path.is_file() and path.parent == DOCS:
            page_path = path.name
        else:
            return None
        return posixpath.relpath(page_path, start) if files.get_file_from_path(page_path) else None

    def link(match):
        target = to_page((original.parent / match.group(1)).resolve())
        return f"]({target}{match.group(2) or ''})" if target else match.group(0)

    def path_in_text(match):
        target = to_page(TOP / match.group(1))
        return f"[`{match.group(1)}`]({target})" if target else match.group(0)

    parts, last = [], 0
    for fence in [*FENCE.finditer(markdown), None]:
        text = markdown[last:fence.start() if fence else len(markdown)]
        parts.append(PATH.sub(path_in_text, LINK.sub(link, text)))
        if fence:
            parts.append(fence.group())
            last = fence.end()
    return "".join(parts)


def on_post_build(config):
    """A page from disk may not fetch a file nor start a worker from one: both go into a script that it may load."""
    site = Path(config["site_dir"])
    index = (site / "search/search_index.json").read_text()
    worker = next(site.glob("assets/javascripts/workers/search.*.js")).read_text()
    (site / "search/offline.js").write_text(
        'var __search = location.protocol != "file:" ? undefined : {\n'
        f"  index: Promise.resolve({index}),\n"
        f"  worker: URL.createObjectURL(new Blob([{json.dumps(worker)}], {{type: 'text/javascript'}}))\n"
        "}\n")
