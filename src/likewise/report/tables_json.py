"""The paper's tables as one JSON object of a versioned form, `likewise.tables/1` (docs/tables.md)."""

from __future__ import annotations

from typing import Any

from likewise.evaluation.paper_tables import PaperTables, Row, Table
from likewise.report.tables_words import remarks, tables_of_paper

__all__ = ["tables_as_json"]


def tables_as_json(tables: PaperTables) -> dict[str, Any]:
    """Plain dictionaries, lists, strings, finite numbers and None."""
    return {
        "schema": "likewise.tables/1",
        "base": tables.base,
        "turn_limit": tables.turn_limit,
        "tables": [_table(number, table) for number, table in tables_of_paper(tables)],
        "left_out": dict(tables.left_out),
        "notes": list(tables.notes),
        "remarks": list(remarks(tables)),
    }


def _table(number: int, table: Table) -> dict[str, Any]:
    return {
        "number": number,
        "title": table.title,
        "figures": [
            {
                "name": column.name,
                "title": column.title,
                "lower_is_better": column.lower_is_better,
                "tasks": table.tasks[column.name],
            }
            for column in table.columns
        ],
        "rows": [_row(row) for row in table.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    cells = {
        name: {"mean": cell.value.as_json(), "change": None if cell.change is None else cell.change.as_json()}
        for name, cell in row.cells.items()
    }
    return {"method": row.method, "lambda": row.mixing, "cells": cells}
