"""The playground: a page that shows step by step how an output is parsed."""

from unspool.serve.playground.routes import OPEN_PATHS, create_playground_app, playground_routes

__all__ = ["OPEN_PATHS", "create_playground_app", "playground_routes"]
