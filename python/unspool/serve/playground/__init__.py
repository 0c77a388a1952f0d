"""The playground: a page that shows, piece by piece, what the parser makes of an output."""

from unspool.serve.playground.routes import create_playground_app, playground_routes

__all__ = ["create_playground_app", "playground_routes"]
