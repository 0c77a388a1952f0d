"""An OpenAI-compatible server over `StreamGenerator`; needs `pip install 'unspool[serve]'`."""

from unspool.core.needs import needs

with needs("serve"):
    from unspool.serve.api_server import ApiServer
    from unspool.serve.app import create_app
    from unspool.serve.settings import ServeOptions

__all__ = ["ApiServer", "ServeOptions", "create_app"]
