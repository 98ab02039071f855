# SPDX-License-Identifier: Apache-2.0
"""The reference of the Python package, from its docstrings."""

import ast
import inspect
import re

import vjp


def markdown(docstring):
    """A docstring of an operator: its underlined sections become lists."""
    out = []
    for part in docstring.strip().split("\n\n"):
        lines = part.splitlines()
        if len(lines) > 1 and re.fullmatch("-+", lines[1]):
            out += [f"**{lines[0]}**", ""]
            for entry in re.split(r"\n(?=\S)", "\n".join(lines[2:])):
                name, text = " ".join(entry.split()).split(" : ", 1)
                out.append(f"- `{name}`: {text}")
        else:
            out.append(f"`{' '.join(part.split())}`" if part.startswith(lines[0].split(":")[0] + ": ") and "=" in part
                       else part)
        out.append("")
    return "\n".join(out)


def prose(docstring):
    """A docstring of a module: indented lines are code, and elsewhere <name> is no tag."""
    lines = inspect.cleandoc(docstring).splitlines()
    return "\n".join(line if line.startswith("    ") else line.replace("<", "&lt;") for line in lines)


def module_docstring(path):
    return ast.get_docstring(ast.parse(path.read_text()))


def reference(root):
    package = root / "python" / "vjp"
    out = ["# The Python package", "",
           "Generated from the docstrings of the package. [The package](../python.md) explains how calls work.", "",
           prose(vjp.__doc__), "", "## Modules", ""]
    for module in ("torch/__init__", "torch/functional", "torch/nn", "jax/__init__"):
        name = "vjp." + module.replace("/__init__", "").replace("/", ".")
        out += [f"### {name}", "", prose(module_docstring(package / f"{module}.py")), ""]
    out += ["## Operators", ""]
    for name in vjp.operators:
        function = getattr(vjp, name)
        out += [f"### {name}", "", "```python", f"vjp.{name}{inspect.signature(function)}", "```", "",
                markdown(inspect.getdoc(function)), f"[Its page](../operators/{name}.md)", ""]
    out += ["## Other names", "", "Operators with some attributes fixed.", ""]
    for name in sorted(set(vjp.__all__) - set(vjp.operators) - {"operators", "__version__"}):
        out += [f"- `vjp.{name}{inspect.signature(getattr(vjp, name))}`"]
    return "\n".join(out) + "\n"
