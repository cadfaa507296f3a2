#!/usr/bin/env python3
"""Draws io/tables.svg, the picture of docs/reference/archive.md: the tables of an archive file and which row owns which. Usage: io/tables.py > io/tables.svg"""
TABLES = {  # name: (x, y, columns; ">" marks the count of the rows of the table below, "#" the length of a text)
    "groups": (20, 20, ["step", "prompt_id", "draw", "> rollout_count", "# prompt_bytes", "# reference_bytes", "level", "temperature", "planned  bin", "stream_prompt", "# shown_bytes", "# extra_bytes", "kind  tier  placement", "parent_step", "parent_prompt", "parent_draw", "parent_sample", "# start_bytes"]),
    "rollouts": (240, 20, ["group (row of groups)", "sample", "> turn_count", "# completion_bytes", "# extracted_bytes", "# reason_bytes", "finish", "reward  correct", "undecided  clock_ended", "trained  weight", "advantage", "components [ , component]", "opening", "parent  fork_token", "> fact_count"]),
    "turns": (480, 20, ["role", "> token_count", "> kept_count"]),
    "tokens": (660, 20, ["id", "logprob", "entropy", "policy_version"]),
    "kept": (660, 130, ["mass", "> id_count"]),
    "kept_ids": (660, 205, ["id"]),
    "turn_facts": (480, 140, ["reward", "state  action", "flags  kind  seat", "> component_count", "# fact_reason_bytes"]),
    "fact_components": (660, 285, ["name  value"]),
    "text": (480, 380, ["prompt [prompt_byte]", "reference [reference_byte]", "completion [completion_byte]", "extracted [extracted_byte]", "reason [reason_byte]", "shown [shown_byte]", "extra [extra_byte]", "start [start_byte]", "fact_reason [fact_reason_byte]"]),
}
WIDTH = {"groups": 170, "rollouts": 190, "turns": 130, "tokens": 120, "kept": 120, "kept_ids": 120, "turn_facts": 145, "fact_components": 120, "text": 300}
ROW = 17
OWNS = [("groups", 3, "rollouts"), ("rollouts", 2, "turns"), ("turns", 1, "tokens"), ("turns", 2, "kept"), ("kept", 1, "kept_ids"), ("rollouts", 14, "turn_facts"), ("turn_facts", 3, "fact_components")]
LENGTHS = [("groups", 4), ("groups", 5), ("rollouts", 3), ("rollouts", 4), ("rollouts", 5), ("groups", 10), ("groups", 11), ("groups", 17), ("turn_facts", 4)]


def place(table, row=None):
    x, y, columns = TABLES[table]
    return (x, y) if row is None else (x + WIDTH[table], y + 26 + ROW * row + 8)


def draw():
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 810 580" font-family="monospace" font-size="12">',
           '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0 8 4 0 8z" fill="#456"/></marker></defs>',
           '<rect width="810" height="580" fill="#fff"/>']
    for table, (x, y, columns) in TABLES.items():
        height = 30 + ROW * len(columns)
        out.append(f'<rect x="{x}" y="{y}" width="{WIDTH[table]}" height="{height}" rx="4" fill="#f4f7fa" stroke="#456"/>')
        out.append(f'<rect x="{x}" y="{y}" width="{WIDTH[table]}" height="20" rx="4" fill="#456"/><text x="{x + 8}" y="{y + 14}" fill="#fff">{table}</text>')
        for i, column in enumerate(columns):
            colour = "#a33" if column[0] == ">" else "#275" if column[0] == "#" else "#123"
            out.append(f'<text x="{x + 8}" y="{y + 38 + ROW * i}" fill="{colour}">{column.replace("> ", "").replace("# ", "")}</text>')
    for table, row, below in OWNS:
        (x0, y0), (x1, y1) = place(table, row), place(below)
        out.append(f'<path d="M{x0} {y0} C{x0 + 30} {y0} {x1 - 30} {y1 + 10} {x1 - 1} {y1 + 10}" fill="none" stroke="#a33" marker-end="url(#a)"/>')
    for table, row in LENGTHS:
        (x0, y0), (x1, y1) = place(table, row), place("text")
        out.append(f'<path d="M{x0} {y0} C{x0 + 40} {y0} {x1 - 60} {y1 + 20} {x1 - 1} {y1 + 20}" fill="none" stroke="#275" stroke-dasharray="4 3" marker-end="url(#a)"/>')
    out.append('<text x="480" y="358" fill="#a33">counts: row i owns the next count[i] rows</text>')
    out.append('<text x="480" y="372" fill="#275">lengths: row i owns the next bytes of text</text></svg>')
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(draw(), end="")
