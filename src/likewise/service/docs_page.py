"""/docs: the OpenAPI document as one plain page, without scripts and without anything from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
_CSP = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGES = Environment(
    loader=PackageLoader("likewise.service", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Every path, what it takes and what it gives, with examples."""
    document = request.app.openapi()
    page = _PAGES.get_template("docs.html.j2").render(
        info=document["info"], operations=list(_operations(document)), schemas=_schemas(document)
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": _CSP})


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield {
                "name": f"{method.upper()} {path}",
                "summary": operation.get("summary", ""),
                "description": operation.get("description", ""),
                "parameters": operation.get("parameters", []),
                "body": _body(document, operation),
                "responses": operation.get("responses", {}),
            }


def _body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, str] | None:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return None
    kind, media = next(iter(content.items()))
    schema = _resolved(document, media.get("schema", {}))
    example = schema.get("example") or next(iter(schema.get("examples", [])), None)
    return {
        "kind": kind,
        "schema": schema.get("title", ""),
        "example": "" if example is None else json.dumps(example, indent=2),
    }


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = document["components"]["schemas"][name] if name else schema
    return found


def _schemas(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        if name.endswith(("In", "Out")):
            fields = [
                {"name": field, "type": _type(value), "description": value.get("description", "")}
                for field, value in schema.get("properties", {}).items()
            ]
            found.append({"name": name, "description": schema.get("description", ""), "fields": fields})
    return found


def _type(schema: Mapping[str, Any]) -> str:
    """A schema's type in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
