#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepare.py FOLDER: converts the public headers and the pages for Doxygen and writes them into FOLDER.

Headers have ordinary comments. A comment before a declaration, or behind a member on the same line, becomes a
documentation comment; the comment at the top of a file documents the file. The pages' GitHub links and anchors become
Doxygen labels.
"""
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/lint"))
from hygiene import slug  # noqa: E402

LICENCE = re.compile(r"^(//|<!--|/\*) SPDX-License-Identifier.*")


# Headers that users do not include directly.
INTERNAL = {"foreign_types.h", "around.hpp", "common_signatures.hpp", "expected.hpp", "method.hpp", "mutex.hpp",
            "printers.hpp", "signature.hpp", "text.hpp"}


def escaped(comment):
    """Escapes a comment so that Doxygen finds no command and no HTML in it."""
    return re.sub(r"([\\@<>#&%])", r"\\\1", comment)


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def as_doxygen(comment):
    """Converts the lines of a comment to a documentation comment. Indented lines are an example."""
    out, in_example = [], False
    for line in comment:
        is_example = line.startswith("  ") or (in_example and not line)
        if is_example != in_example:
            out.append("@verbatim" if is_example else "@endverbatim")
        in_example = is_example
        out.append(line if is_example else escaped(line))
    return ["/// " + line for line in out + (["@endverbatim"] if in_example else [])]


def with_line_comments(text):
    """Converts C comments to C++ comments."""
    def lines(match):
        body = [re.sub(r"^\s*\*", "", line).rstrip() for line in match[1].split("\n")]
        return ("\n" + indent(match)).join("//" + line for line in body)

    def indent(match):
        start = text.rfind("\n", 0, match.start()) + 1
        return " " * (match.start() - start) if not text[start:match.start()].strip() else ""
    return re.sub(r"/\*(.*?)\*/(?=[ \t]*$)", lines, text, flags=re.DOTALL | re.MULTILINE)


def header(text):
    """Converts comments before declarations and behind members to documentation comments. A comment before
    several functions without a blank line between them documents each of them. The first comment
    documents the file."""
    # Removes macros that only the header or a file that it includes uses, and the includes that expand them.
    for macro in ["CUSHIM_ENTRY", "CUSHIM_ENTRY_UNTYPED", "CUSHIM_RESULT", *re.findall(r"^#undef (\w+)", text, re.MULTILINE)]:
        text = re.sub(rf"^#(define|undef) {macro}\b(.*\\\n)*.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *friend (class |struct )?[\w:<>, ]+;\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^#include <.*\.inc>\n", "", text, flags=re.MULTILINE)
    lines = with_line_comments(text).split("\n")
    out, comment = [], []
    of_block = None  # (comment, indentation) of the current block of declarations
    is_head, has_ended = True, True
    for line in lines:
        stripped = line.strip()
        if LICENCE.match(stripped) or re.match(r"//\s*(----|clang-format|NOLINT)", stripped):
            continue
        if stripped.startswith("//"):
            comment.append(stripped[2:].removeprefix(" "))
            continue
        if comment:
            if is_head:
                out += ["/// @file", *as_doxygen(comment), ""]
            elif stripped:
                out += as_doxygen(comment)
            of_block = (comment, indentation(line)) if stripped and not is_head else None
            comment, is_head = [], False
        elif not stripped:
            of_block = None
        elif of_block and has_ended and indentation(line) == of_block[1] and re.match(r"[\w~\[]", stripped) \
                and ("(" in stripped or stripped.startswith("template")):
            out += as_doxygen(of_block[0])
        if stripped:
            is_head = False
        code, found, behind = line.partition(" // ")
        if stripped:
            has_ended = bool(re.search(r"[;}]$", code.rstrip()))
        is_member = found and code.strip() and not re.match(r"#|}$", code.strip())
        out.append(f"{code.rstrip()}  ///< {escaped(behind)}" if is_member else line)
    return "\n".join(out)


def label(page, anchor=""):
    """Returns the label of a page, or of one of its headings, unique in the site."""
    name = "-".join(page.relative_to(ROOT).with_suffix("").parts)
    if name == "README" and not anchor:
        return "index"
    return f"page-{name}{'-' + anchor if anchor else ''}"


def link(page, match):
    words, path, anchor = match[1], match[2], (match[3] or "")[1:]
    target = (page.parent / path).resolve() if path else page
    if target.suffix == ".md" and (target.parent == ROOT or ROOT / "docs" in target.parents):
        return f"[{words}](@ref {label(target, anchor)})"
    return words  # a repository file outside the site


def page(path, text):
    out = []
    in_block = False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            in_block = not in_block
            out.append(re.sub(r"^```(\w+) .*", r"```\1", line))
        elif in_block or LICENCE.match(line):
            out.append(line if in_block else "")
        elif found := re.fullmatch(r"(#+) (.*)", line):
            anchor = "" if len(found[1]) == 1 else slug(found[2])
            words = line.replace("`", "")
            out.append(words if label(path, anchor) == "index" else f"{words} {{#{label(path, anchor)}}}")
        else:
            line = re.sub(r"(?<!!)\[((?:`[^`]*`|[^\]`])*)\]\(([\w./-]*)(#[\w-]+)?\)", lambda match: link(path, match), line)
            # Doxygen ends code that begins with a single backtick at a single quote.
            line = re.sub(r"`([^`]*'[^`]*)`", r"``\1``", line)
            out.append(re.sub(r"!\[([^\]]*)\]\([\w./-]*?([\w-]+\.(?:svg|png))\)", r"![\1](\2)", line))
    return "\n".join(out)


def sections(path, text):
    """Splits a page at its second-level headings and yields (file name, text): Doxygen needs minutes for a
    single page with tables of thousands of lines."""
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    head = page(path, head)
    yield path.name, re.sub(r"^- \[([^\]]*)\]\(@ref ([\w-]+)\)", r'- @subpage \2 "\1"', head, flags=re.MULTILINE)
    for part in parts:
        heading = part.partition("\n")[0]
        yield f"{path.stem}-{slug(heading)}.md", page(path, "## " + part).replace("## ", "# ", 1)


def inputs():
    """Yields the pages, their pictures, and the headers of all include directories except implementation details."""
    yield from ROOT.glob("*.md")
    yield from (ROOT / "docs").rglob("*.md")
    for picture in ("*.svg", "*.png"):
        yield from (ROOT / "docs").rglob(picture)
    for folder in [ROOT / "include", *(ROOT / "mock").rglob("include")]:
        for pattern in ("*.h", "*.hpp"):
            yield from (path for path in folder.rglob(pattern) if "detail" not in path.parts and path.name not in INTERNAL)


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)  # removes outdated files
    for path in inputs():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            target.write_bytes(path.read_bytes())
            continue
        text = path.read_text()
        if len(text) > 500_000:
            for name, part in sections(path, text):
                target.with_name(name).write_text(part)
        elif path.suffix == ".md":
            target.write_text(page(path, text))
        else:
            target.write_text(text if path.suffix == ".svg" else header(text))


if __name__ == "__main__":
    main()
