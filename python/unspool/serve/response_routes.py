"""GET and DELETE /v1/responses/{id}, and GET /v1/responses/{id}/input_items."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.serve.state import state_of
from unspool.serve.wires.wire import unfit

__all__ = ["key_of", "response_routes"]


def key_of(request: Request) -> str:
    """Return the API key of a request, which decides whose responses it may see."""
    return str(request.scope.get("unspool.key", ""))


async def _get(request: Request) -> Response:
    body = state_of(request).responses.get(key_of(request), request.path_params["id"])
    return Response(body, media_type="application/json")


async def _delete(request: Request) -> Response:
    id = request.path_params["id"]
    state_of(request).responses.delete(key_of(request), id)
    return JSONResponse({"id": id, "object": "response", "deleted": True})


async def _input_items(request: Request) -> Response:
    asked = request.query_params
    items = state_of(request).responses.input_items(key_of(request), request.path_params["id"])
    if asked.get("order") != "asc":
        items.reverse()
    ids = [item["id"] for item in items]
    if (after := asked.get("after")) is not None:
        items = items[ids.index(after) + 1 :] if after in ids else []
    limit = asked.get("limit", "20")
    if not (limit.isdecimal() and 1 <= int(limit[:4]) <= 100):
        raise unfit("limit", f"'limit' is {limit[:40]}; send 1 to 100")
    page = items[: int(limit)]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": "", "last_id": ""}
    return JSONResponse({"object": "list", "data": page, **ends, "has_more": len(items) > len(page)})


def response_routes() -> list[Route]:
    """The routes of stored responses."""
    path = "/v1/responses/{id}"
    return [
        Route(path, _get, methods=["GET"]),
        Route(path, _delete, methods=["DELETE"]),
        Route(f"{path}/input_items", _input_items, methods=["GET"]),
    ]
