"""Prints the examples of a dialect's generated reference as modules for smet-opt -split-input-file.

A value that an example uses but does not define becomes an argument of the function around it, of the type that stands
behind it. Fails when an op has no example of its own.
"""

import re
import sys


def types_at(text):
    """The comma-separated types at the head of the text."""
    types = []
    while match := re.match(r"\s*(!?[\w.]+(?:<(?:[^<>]|<[^<>]*>)*>)?)(,?)", text):
        types.append(match[1])
        text = text[match.end():]
        if not match[2]:
            break
    return types


def arguments(code):
    """'name: type' of the values that the code uses but does not define."""
    defined, pending, found = set(), [], {}
    code = re.sub(r"\{[^}]*\}", "", code)
    for match in re.finditer(r"^(%[\w:, %]+) = |(%\w+)|: ", code, re.M):
        results, operand = match.groups()
        if results:
            defined.update(re.findall(r"%\w+", results))
        elif operand:
            pending.append(operand)
        else:
            types = types_at(code[match.end():])
            used, pending = pending[-len(types):], pending[:-len(types)]
            found.update((name, kind) for name, kind in zip(used, types) if name not in defined)
    return ", ".join(f"{name}: {kind}" for name, kind in found.items())


def module(code):
    if code.startswith(("module", "func")):
        return code
    if code.startswith("#"):
        return "func.func private @example() attributes {example = " + code.strip() + "}"
    aliases = "".join(re.findall(r"^!\w+ = .*\n", code, re.M))
    body = code.removeprefix(aliases)
    return f"{aliases}func.func @example({arguments(body)}) {{\n{body}return\n}}"


modules = []
for section in re.split(r"^###? ", open(sys.argv[1]).read(), flags=re.M)[1:]:
    examples = re.findall(r"^```mlir\n(.*?)^```", section, re.S | re.M)
    op = re.match(r"`(\w+\.[\w.]+)`", section)
    if op and not any(re.search(rf"\b{re.escape(op[1])}\s", code) for code in examples):
        sys.exit(f"{op[1]} has no example")
    modules += map(module, examples)
print("\n// -----\n".join(modules))
