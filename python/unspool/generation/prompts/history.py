"""Prepares a conversation for a chat template: converts calls, reasoning and contents to the form that it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.core.stream.custom_tools import as_function_call
from unspool.errors import LearnError
from unspool.formats.templates.probe import (
    CALLS,
    CONTENT,
    REASONING,
    USER,
    Answer,
    Shape,
    assistant_message,
    job_of,
    prompt_job,
    tools_of,
)
from unspool.formats.templates.sandbox import Rendering
from unspool.formats.templates.shapes import Renders, find_shape
from unspool.generation.prompts.load_json import load_json

__all__ = ["REASONING_FIELDS", "TEXT_PARTS", "HistoryForm", "find_form", "in_form", "prepare_messages"]

#: The types of text parts in a message's content.
TEXT_PARTS = ("text", "input_text", "output_text")
#: The names of an answer's reasoning in hosts and templates.
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class HistoryForm:
    """The form in which a chat template reads a conversation.

    Attributes:
        shape: The shape of calls, and the place of the reasoning.
        reasoning_fields: The names under which the reasoning is passed.
        has_parts: Whether contents are lists of parts.
        has_short_ids: Whether ids of calls are nine letters and digits, as Mistral's templates require.
        is_exclusive: Whether a message with a call has content or reasoning, never both, as in gpt-oss's template.
    """

    shape: Shape = field(default_factory=Shape)
    reasoning_fields: tuple[str, ...] = REASONING_FIELDS[:1]
    has_parts: bool = False
    has_short_ids: bool = False
    is_exclusive: bool = False


def prepare_messages(
    messages: Iterable[Mapping[str, Any]], tokenizer: Any = None, *, chat_template: str | None = None
) -> Messages:
    """Return a conversation in the form that a chat template reads.

    Messages may come from `Message.to_openai`, from a client, or from another model. The arguments of calls become
    objects, or JSON text if the template joins them to text. Parts that are all text become one text. The reasoning
    gets the name that the template reads. Results get the name of their call. Ids of calls and of their results are
    added if they are missing, and replaced if the template rejects them. Messages in the right form do not change.

    Args:
        messages: Chat messages; they are not modified.
        tokenizer: A tokenizer or processor with `apply_chat_template`. Its template renders short
            conversations once, to find what it reads. None: objects, text, `reasoning_content`, and unchanged ids.
        chat_template: A template to use instead of the tokenizer's own.
    """
    copies = [dict(message) for message in messages]
    if tokenizer is None:
        return in_form(copies, HistoryForm())
    return copies if all(map(_is_plain, copies)) else in_form(copies, _form_of(tokenizer, chat_template))


def _is_plain(message: Mapping[str, Any]) -> bool:
    return message.keys() <= {"role", "content"} and isinstance(message.get("content"), str)


class _Template:
    """A tokenizer's template, rendered by the tokenizer."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def render(self, jobs: Iterable[dict[str, Any]], common: dict[str, Any]) -> list[Rendering]:
        return [self._render(**{**common, **job}) for job in jobs]

    def _render(self, messages: Messages, **options: Any) -> Rendering:
        try:
            text = self._owner.apply_chat_template(messages, tokenize=False, **options)
        except Exception as error:  # a template may raise anything for a message that it does not accept
            return None, str(error)
        return (text, "") if isinstance(text, str) else (None, "it writes no text")


_forms: dict[str, HistoryForm] = {}  # by template
_MAX_FORMS = 64


def _form_of(owner: Any, template: str | None) -> HistoryForm:
    text = template or getattr(owner, "chat_template", None)
    key = f"{type(owner)} {text}" if text else ""
    if key in _forms:
        return _forms[key]
    own = {} if template is None else {"chat_template": template}
    common, shown = {"tools": tools_of(CALLS), **own}, _Template(owner)
    try:
        form = find_form(shown, common)
    except LearnError:  # the template renders no answer whose content is a text
        form = HistoryForm(has_parts=_reads_parts(shown, common))
    if len(_forms) >= _MAX_FORMS:
        _forms.clear()
    if key:
        _forms[key] = form
    return form


def find_form(template: Renders, common: dict[str, Any]) -> HistoryForm:
    """Find the form by rendering short conversations.

    Args:
        common: The variables of all renderings.

    Raises:
        LearnError: The template renders no answer, or exceeds a limit.
    """
    shape, has_calls = find_shape(template, common)
    foreign = assistant_message(shape, calls=[("call_zq-12345", CALLS[0].name, CALLS[0].arguments)])
    jobs = [
        {**prompt_job(shape, add_generation_prompt=False), "messages": [USER, foreign]},
        job_of(Answer(CONTENT, "", CALLS[:1]), shape),
        job_of(Answer(CONTENT, REASONING, CALLS[:1]), shape),
    ]
    of_foreign, of_content, of_all = (text for text, _ in template.render(jobs, common))
    return HistoryForm(
        shape,
        REASONING_FIELDS,
        _reads_parts(template, common),
        has_short_ids=has_calls and shape.ids == "letters" and of_foreign is None,
        is_exclusive=has_calls and of_content is not None and of_all is None,
    )


def _reads_parts(template: Renders, common: dict[str, Any]) -> bool:
    """Whether the template renders contents only if they are lists of parts."""
    text = USER["content"]
    parts = {**USER, "content": [{"type": "text", "text": text}]}
    jobs = [{**prompt_job(Shape()), "messages": [message]} for message in (USER, parts)]
    of_text, of_parts = (made or "" for made, _ in template.render(jobs, common))
    return text not in of_text and text in of_parts


def in_form(messages: Iterable[Mapping[str, Any]], form: HistoryForm) -> Messages:
    """Convert the messages to this form."""
    formed: Messages = []
    ids: dict[str, str] = {}  # new ids by old ids
    unanswered: dict[str, str] = {}  # names of calls without a result, by id
    for message in messages:
        converted = {**message, "content": _content(message.get("content"), form)}
        if converted.get("role") == "assistant":
            calls = [_call(call, form, ids) for call in converted.pop("tool_calls", None) or ()]
            unanswered = {call["id"]: call["function"].get("name") for call in calls if "function" in call}
            converted = _answer(converted, calls, form)
        elif converted.get("role") == "tool":
            answered_id = converted.get("tool_call_id") or next(iter(unanswered), None)
            if answered_id is not None:
                converted["tool_call_id"] = id = ids.get(answered_id, answered_id)
                if id in unanswered:
                    converted.setdefault("name", unanswered.pop(id))
        formed.append(converted)
    return formed


def _content(content: Any, form: HistoryForm) -> Any:
    if content is None:
        return ""
    if form.has_parts or not isinstance(content, (list, tuple)):
        return content
    is_text = all(isinstance(part, Mapping) and part.get("type") in TEXT_PARTS for part in content)
    return "".join(str(part.get("text", "")) for part in content) if is_text else content


def _answer(message: dict[str, Any], calls: Messages, form: HistoryForm) -> dict[str, Any]:
    reasoning = next((text for name in REASONING_FIELDS if (text := message.get(name))), "")
    rest = {name: value for name, value in message.items() if name not in REASONING_FIELDS}
    content = rest["content"]
    if not reasoning or (form.is_exclusive and calls and content):
        pass
    elif form.shape.reasoning == "parts":
        text = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        rest["content"] = [{"type": "thinking", "thinking": reasoning}, *text]
    else:
        rest |= dict.fromkeys(form.reasoning_fields, reasoning)
    rest["content"] = rest["content"] or (None if form.shape.has_no_content else "")
    return {**rest, "tool_calls": calls} if calls else rest


_SHORT_ID = re.compile("[A-Za-z0-9]{9}")


def _call(call: Mapping[str, Any], form: HistoryForm, ids: dict[str, str]) -> dict[str, Any]:
    call = as_function_call(call)
    function = call.get("function")
    if not isinstance(function, Mapping):  # in the template's own form
        return dict(call)
    old_id, number = call.get("id") or "", len(ids)
    id = old_id
    if form.shape.ids == "functions" and not old_id.startswith("functions."):
        id = f"functions.{function.get('name')}:{number}"
    elif not old_id or (form.has_short_ids and not _SHORT_ID.fullmatch(old_id)):
        id = f"call{number:05}"
    ids[old_id or id] = id
    arguments = _arguments(function.get("arguments"), form.shape.has_text_arguments)
    return {**call, "id": id, "type": "function", "function": {**function, "arguments": arguments}}


def _arguments(given: Any, is_text: bool) -> Any:
    if not isinstance(given, str):
        value = {} if given is None else given
        return json.dumps(value, ensure_ascii=False) if is_text else value
    try:
        value = {} if is_text else load_json(given or "{}")
    except ValueError:
        return given
    return value if isinstance(value, dict) and not is_text else given or "{}"
