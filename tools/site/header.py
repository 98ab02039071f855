# SPDX-License-Identifier: Apache-2.0
"""The reference of the C header, from its comments."""

import re

COMMENT = re.compile(r"/\*(?!\s*----)(.*?)\*/", re.S)
SECTION = re.compile(r"/\* -{4} (.*?) -+ \*/")
ITEM = re.compile(r"(\w+(?:, \w+)*)(?:: | - )(?=\S)")
NAME = re.compile(r"\b(vjp_[a-z0-9_]+)(?=\()|^#define (VJP_[A-Z_]+)|^\} (vjp_\w+);|^typedef .*?(vjp_\w+);|"
                  r"\(\*(vjp_\w+)\)", re.M)


def lines_of(comment):
    """Its lines without their stars."""
    lines = [re.sub(r"^ \* ?|^\s*\*$", "", line).rstrip() for line in comment.strip("\n").splitlines()]
    return [lines[0].strip(), *lines[1:]]


def text_of(comment):
    """A comment as Markdown: `name: what it is` becomes an item of a list, an indented paragraph becomes code."""
    out = []
    for paragraph in "\n".join(lines_of(comment)).split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and all(line.startswith("    ") for line in lines):
            out += ["```c", *(line[4:] for line in lines), "```"]
        else:
            out += items(lines)
        out.append("")
    return "\n".join(out)


def items(lines):
    lines = [re.sub(r"(?<![\w*`])\*(\w+)", r"`*\1`", line).replace("<", "&lt;") for line in lines]
    for index, line in enumerate(lines):
        match = ITEM.match(line)
        if match:
            if index and not ITEM.match(lines[index - 1]) and not lines[index - 1].startswith("    "):
                yield ""
            names = ", ".join(f"`{name}`" for name in match.group(1).split(", "))
            yield f"- {names}: {line[match.end():]}"
        else:
            yield "    " + line.strip() if line.startswith("    ") else line


def blocks(source):
    """(comment or None, declarations) of each group: a comment and what follows it up to a blank line."""
    for group in re.split(r"\n\n(?=\S)", source.strip()):
        match = COMMENT.match(group)
        yield (match.group(1) if match else None), (group[match.end():] if match else group).strip()


def names_of(declarations):
    if declarations.startswith("static inline"):
        return NAME.findall(declarations.split("{")[0])[:1]
    return NAME.findall(declarations)


def reference(path):
    source = path.read_text()
    title, rest = source.split("#ifndef VJP_VJP_H", 1)
    out = ["# vjp.h", "", "Generated from [include/vjp/vjp.h](../../include/vjp/vjp.h), which is the manual.", "",
           text_of(re.findall(COMMENT, title)[-1].split("\n *\n", 1)[1]), ""]
    parts = SECTION.split(rest.split("#ifdef __cplusplus\n}")[0])[1:]
    for section, body in zip(parts[::2], parts[1::2]):
        out += [f"## {section.strip().capitalize()}", ""]
        for comment, declarations in blocks(body):
            names = ["".join(groups) for groups in names_of(declarations)]
            if names:
                out += ["### " + ", ".join(f"`{name}`" for name in dict.fromkeys(names)), ""]
            if declarations:
                out += ["```c", declarations, "```", ""]
            if comment:
                out += [text_of(comment), ""]
    return "\n".join(out)
