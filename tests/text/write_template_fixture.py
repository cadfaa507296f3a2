#!/usr/bin/env python3
"""Writes fixtures/chat_templates.json: what jinja2, driven as by transformers, says of the rows and of the families of templates, with its versions."""

import json
import pathlib

import jinja_reference
import template_cases
import template_parity
import template_rows

KEPT = {(conversation, variant) for conversation in ("system_turns", "calls", "call_chain", "parts") for variant in (0, 3, 4)}


def told(template, variables):
    result = jinja_reference.rendered(template, variables)
    return result["output"] if "output" in result else None


def main():
    here = pathlib.Path(__file__).parent
    rows = [[template, told(template, template_rows.VARIABLES)] for template in template_rows.templates()]
    rows = [row for row in rows if row[1] is None or not template_parity.UNTOLD.search(row[1])]
    families, variables = {}, {}
    for name, template, given in template_cases.family_cases():
        family, conversation, variant = name.split(", ")
        if (here / "families" / f"{family}.jinja").exists() and (conversation, int(variant.split()[1])) in KEPT:
            key = f"{conversation}, {variant}"
            variables[key] = given
            families.setdefault(family, {})[key] = told(template, given)
    fixture = {"versions": jinja_reference.versions(), "epoch": jinja_reference.EPOCH, "row_variables": template_rows.VARIABLES, "rows": rows, "variables": variables, "families": families}
    lines = [f"{json.dumps(key)}: " + ("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in value) + "\n]" if key == "rows" else json.dumps(value, ensure_ascii=False)) for key, value in fixture.items()]
    (here / "fixtures").mkdir(exist_ok=True)
    (here / "fixtures/chat_templates.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
