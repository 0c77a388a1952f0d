"""`unspool.learn`: learns a format from a chat template, and proves it on the template's renderings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unspool.formats.format_file import FormatFile

__all__ = ["learn"]


def learn(source: Any, *, name: str = "learnt", timeout: float = 10.0) -> FormatFile:
    """Learn how a model writes from its chat template.

    The template renders messages with known values, which become the holes of the patterns. The result must then
    parse other renderings, each at every split. Because a template is someone else's program, a child process
    renders it, with limits on time, memory and output. Needs jinja2 (`pip install 'unspool[learn]'`) and takes
    about half a second.

    Args:
        source: A tokenizer or a processor; a chat template (a text, a list of named templates, or a dict); or
            the content of a tokenizer_config.json. A template alone does not define its end-of-sequence token.
        name: The format's name.
        timeout: Seconds of processor time for the whole process, that of the child included. A busy machine may take
            longer.

    Returns:
        The format, with an example of the model's output.

    Raises:
        ArgumentError: The source has no chat template, or `timeout` is not positive.
        LearnError: The template renders neither calls nor reasoning, a rendering is not parsed to its message (the
            error names it), or a limit is exceeded.
        ImportError: jinja2 is missing.
    """
    from unspool.errors import ArgumentError
    from unspool.formats.learning.learner import learn_template
    from unspool.formats.templates.source import read_source

    if not timeout > 0:
        raise ArgumentError(f"timeout is {timeout}; pass a number of seconds above 0")
    return learn_template(read_source(source), name, timeout)
