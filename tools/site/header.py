# SPDX-License-Identifier: Apache-2.0
"""The reference of the C header, from its comments."""

import re

COMMENT = re.compile(r"/\*(?!\s*----)(.*?)\*/", re.S)
SECTION = re.compile(r"/\* -{4} (.*?) -+ \*/")
NAME = re.compile(r"\b(vjp_[a-z0-9_]+)(?=\()|^#define (VJP_[A-Z_]+)|^\} (vjp_\w+);|^typedef .*?(vjp_\w+);|"
                  r"\(\*(vjp_\w+)\)", re.M)


def text_of(comment):
    """A comment without its stars, as Markdown: `name: what it is` becomes an item of a list."""
    lines = [re.sub(r"^ \* ?|^\s*\*$", "", line).rstrip() for line in comment.strip("\n").splitlines()]
    lines[0] = lines[0].strip()
    out = []
    code = False
    for line in lines:
        starts_code = line.startswith("    ") and (not out or out[-1] == "" or code)
        if line and not starts_code:
            code = False
            if re.match(r"[a-zA-Z_, *]+: \S|vjp_\w+ - ", line):
                line = re.sub(r"^([\w, *]+)(: | - )", r"- `\1`\2", line)
                if out and out[-1] and not re.match(r"- |    ", out[-1]):
                    out.append("")
            elif line.startswith("    "):
                line = "    " + line.strip()
        elif line:
            code = True
        out.append(line)
    return "\n".join(out).replace("*ctx", "`*ctx`").replace("*plan is", "`*plan` is")


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
