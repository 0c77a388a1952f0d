"""`unspool.learn`: a format from a chat template, proved by reading what the template renders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unspool.format_files import FormatFile

__all__ = ["learn"]


def learn(source: Any, *, name: str = "learnt", timeout: float = 10.0) -> FormatFile:
    """Learn how a model writes from its chat template.

    The template renders messages with known values, and holes are put where the values come out. The result
    must then read other renderings, each at every split. A child process renders the template, with limits on
    time, memory and output: a template is a program that someone else wrote. Needs jinja2
    (`pip install 'unspool[learn]'`) and takes about half a second.

    Args:
        source: A tokenizer or a processor; a chat template (a text, a list of named ones, or a dict); or the
            content of a tokenizer_config.json. A template alone does not say what its end-of-sequence token is.
        name: The format's name.
        timeout: Seconds for all of it.

    Returns:
        The format, with an example of what the model writes.

    Raises:
        ArgumentError: The source has no chat template, or `timeout` is not positive.
        LearnError: The template shows no calls and no reasoning, a rendering is not read as it was meant (the
            message names it), or a limit is reached.
        ImportError: jinja2 is missing.
    """
    from unspool.errors import ArgumentError
    from unspool.learning.learner import learn_template
    from unspool.learning.source import read_source

    if not timeout > 0:
        raise ArgumentError(f"timeout is {timeout}; pass a number of seconds above 0")
    return learn_template(read_source(source), name, timeout)
