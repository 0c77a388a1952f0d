"""An OpenAI-compatible server over `StreamGenerator`; needs `pip install 'unspool[serve]'`."""

try:
    from unspool.serve.api_server import ApiServer
    from unspool.serve.app import create_app
    from unspool.serve.options import ServeOptions
except ImportError as error:
    raise ImportError(f"{error}; pip install 'unspool[serve]'") from None

__all__ = ["ApiServer", "ServeOptions", "create_app"]
