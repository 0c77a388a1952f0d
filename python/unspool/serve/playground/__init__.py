"""The playground: a page that shows step by step how an output is parsed."""

from unspool.serve.playground.routes import create_playground_app, playground_routes

__all__ = ["create_playground_app", "playground_routes"]
