"""The OpenAPI document as one HTML page: no script, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem 1rem 4rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; font-size: 1.1rem; font-family: ui-monospace, monospace; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
border-top: 1px solid #8884; } th { font-weight: 600; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; } pre { overflow: auto; padding: .8rem;
border: 1px solid #8884; border-radius: .4rem; } summary { cursor: pointer; margin: .5rem 0; }
"""
_digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(document: Mapping[str, Any]) -> str:
    info = document["info"]
    parts = [
        f"<h1>{escape(info['title'])}</h1>",
        f"<p>{_text(info['description'])} Version {escape(info['version'])}.</p>",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(path, method, operation))
    parts.append("<h2>Objects</h2>")
    for name, schema in document["components"]["schemas"].items():
        parts.append(_folded(name, schema, anchor=name))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Drydock API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    heading = (
        f'<h2 id="{escape(operation["operationId"])}"><span class="method">{method.upper()}</span> {escape(path)}</h2>'
    )
    parts = [heading, f"<p>{_text(operation.get('summary', ''))} {_text(operation.get('description', ''))}</p>"]
    if rows := [_row(each["name"], each["in"], each["description"]) for each in operation.get("parameters", ())]:
        parts.append(f"<table><tr><th>parameter<th>in<th>what</tr>{''.join(rows)}</table>")
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(_folded(f"Body: {kind}", content.get("schema", {}), is_open="example" not in content))
        if "example" in content:
            parts.append(f"<pre>{escape(json.dumps(content['example'], indent=2))}</pre>")
    rows = [_row(status, _kinds(told), told["description"]) for status, told in operation["responses"].items()]
    parts.append(f"<table><tr><th>answer<th>body<th>when</tr>{''.join(rows)}</table>")
    return "".join(parts)


def _kinds(told: Mapping[str, Any]) -> str:
    names = []
    for kind, content in told.get("content", {}).items():
        reference = content.get("schema", {}).get("$ref", "")
        names.append(f"{kind} {reference.rsplit('/', 1)[-1]}".strip())
    return ", ".join(names)


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{_text(cell)}" for cell in cells) + "</tr>"


def _folded(title: str, schema: Any, *, anchor: str = "", is_open: bool = False) -> str:
    name = f' id="{escape(anchor)}"' if anchor else ""
    shown = escape(json.dumps(schema, indent=2))
    return f"<details{name}{' open' if is_open else ''}><summary>{escape(title)}</summary><pre>{shown}</pre></details>"


def _text(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
