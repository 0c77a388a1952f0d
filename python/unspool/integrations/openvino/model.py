"""An OpenVINO GenAI model: its tokenizer, its format, and the conversion of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from openvino_genai import ChatHistory, GenerationConfig, GenerationFinishReason, TokenizedInputs, Tokenizer

from unspool._core import DeltaChannel, Format, ToolSchemas
from unspool.core.stream.stream_options import PARSER_OPTIONS
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, ContextLengthError
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["Model", "choose_model_format", "finish_reason_of", "tools_of"]

Tools = Iterable[Any] | ToolSchemas | None

_REASONS = {
    GenerationFinishReason.STOP: "stop",
    GenerationFinishReason.TOOL_CALL: "stop",
    GenerationFinishReason.LENGTH: "length",
    GenerationFinishReason.NONE: "cancelled",
}

# The tokenizer that GenAI creates from a GGUF file truncates longer prompts to these last ids, whatever its
# options.
_GGUF_IDS = 8192
_HEAD = 256  # characters


def finish_reason_of(result: Any) -> str:
    """Return the finish reason for a GenAI result, a GenAI finish reason, or a word of unspool."""
    if isinstance(result, str):
        return result
    reasons = getattr(result, "finish_reasons", result)
    reason = reasons[0] if isinstance(reasons, (list, tuple)) and reasons else reasons
    return _REASONS.get(reason, "stop")


def tools_of(prompt: Any, tools: Tools) -> list[Any] | ToolSchemas | None:
    """Return the request's tools; if there are none, those of a `ChatHistory`."""
    if tools is None and isinstance(prompt, ChatHistory):
        return prompt.get_tools() or None
    return tools if tools is None or isinstance(tools, ToolSchemas) else list(tools)


def choose_model_format(
    format: str | FormatFile | Format, tokenizer: Any, reasoning: str | bool | None, name: str | None = None
) -> tuple[str | FormatFile | Format, str | bool | None]:
    """`choose_format`, also for GenAI tokenizers, which have a chat template but no list of added tokens."""
    source = tokenizer
    if isinstance(format, str) and format.lower() == "auto" and isinstance(tokenizer, Tokenizer):
        source = SimpleNamespace(
            chat_template=tokenizer.get_original_chat_template() or tokenizer.chat_template,
            added_tokens=tuple(from_tokenizer(tokenizer).added_tokens.values()),
            name_or_path=name,
        )
    return choose_format(format, source, reasoning)


class Model:
    """The parts that all requests to a pipeline share.

    Args:
        tokenizer: The GenAI tokenizer that renders and encodes prompts.
        vocabulary: A `Vocabulary` or another tokenizer for the ids; None: GenAI's tokenizer.
        format, reasoning: See `Parser`.
        name: The model's name or path, for detection by name.
        options: Further options of `TokenStreamer` for all requests.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        vocabulary: Any,
        format: str | FormatFile | Format,
        reasoning: str | bool | None,
        name: str | None,
        options: Mapping[str, Any],
    ) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = from_tokenizer(tokenizer if vocabulary is None else vocabulary)
        self.format, self.reasoning = choose_model_format(format, tokenizer, reasoning, name)
        self._options = dict(options)
        TokenStreamer(
            self.vocabulary, self.format, reasoning=self.reasoning, **self._options
        )  # validates the options

    def encode(
        self, prompt: Any, tools: Tools, template_options: Mapping[str, Any] | None, applies_template: bool
    ) -> list[int]:
        """Encode a prompt: messages, a `ChatHistory`, a text, or ids.

        Raises:
            ArgumentError: The prompt is empty, has more than one row, or has another type.
            ContextLengthError: The tokenizer has truncated the prompt.
        """
        if isinstance(prompt, TokenizedInputs):
            prompt = prompt.input_ids
        if not isinstance(prompt, (str, list, tuple, Mapping, ChatHistory)):
            return _row(getattr(prompt, "data", prompt))
        if isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], (int, list, tuple)):
            return _row(prompt)
        if not prompt:
            raise ArgumentError("the prompt is empty; pass messages, a text or token ids")
        if isinstance(prompt, str):
            if not applies_template or not self.tokenizer.chat_template:
                return self._encode_text(prompt, adds_special_tokens=True)
            prompt = [{"role": "user", "content": prompt}]
        text = self._render(prompt, tools, template_options)
        return self._encode_text(text, adds_special_tokens=False)

    def _render(self, prompt: Any, tools: Tools, template_options: Mapping[str, Any] | None) -> str:
        extra = dict(template_options or {})
        if isinstance(prompt, ChatHistory):
            messages, extra = prompt.get_messages(), {**prompt.get_extra_context(), **extra}
        else:
            messages = [prompt] if isinstance(prompt, Mapping) else list(prompt)
        if not all(isinstance(message, Mapping) for message in messages):
            raise ArgumentError("the prompt is a list of several prompts; call once for each")
        if isinstance(tools, ToolSchemas):
            raise ArgumentError(
                "tools are compiled, and the chat template must write them; pass a list of dicts"
            )
        listed = [tool.model_dump() if hasattr(tool, "model_dump") else tool for tool in tools or ()]
        text: str = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tools=listed or None, extra_context=extra or None
        )
        return text

    def _encode_text(self, text: str, *, adds_special_tokens: bool) -> list[int]:
        ids = self._ids(text, adds_special_tokens)
        if len(ids) == _GGUF_IDS and ids[:4] != self._ids(text[:_HEAD], adds_special_tokens)[:4]:
            raise ContextLengthError(
                f"prompt is too long: the tokenizer of a GGUF file drops all but the last {_GGUF_IDS} tokens; shorten "
                "the prompt, or use a model whose tokenizer was converted to OpenVINO"
            )
        return ids

    def _ids(self, text: str, adds_special_tokens: bool) -> list[int]:
        encoded = self.tokenizer.encode(text, add_special_tokens=adds_special_tokens)
        return [int(id) for id in encoded.input_ids.data[0]]

    def open(
        self,
        ids: list[int],
        tools: Tools,
        config: GenerationConfig,
        channel: DeltaChannel,
        options: Mapping[str, Any],
    ) -> TokenStreamer:
        """Create the stream of one answer."""
        stream_options: dict[str, Any] = {}
        if config.structured_output_config is not None:  # a grammar may spell markers in ordinary tokens
            stream_options["trust"] = "either"
        stream_options |= self._options | dict(options)
        return TokenStreamer(
            self.vocabulary,
            self.format,
            tools,
            reasoning=self.reasoning,
            prompt=ids,
            channel=channel,
            **stream_options,
        )

    def configure(
        self, own: GenerationConfig, config: GenerationConfig | None, options: Mapping[str, Any]
    ) -> tuple[GenerationConfig, dict[str, Any]]:
        """Build the config of one request, and its options for `TokenStreamer`.

        Args:
            own: A copy of the pipeline's config; it is modified.
            config: The request's config, which replaces `own`.
            options: Fields of a config, and options of `TokenStreamer`.

        Raises:
            ArgumentError: An option is unknown, or cannot be combined with streaming.
        """
        parsing = {name: value for name, value in options.items() if name in PARSER_OPTIONS}
        fields = {name: value for name, value in options.items() if name not in parsing}
        if config is not None and fields:
            raise ArgumentError(f"set {', '.join(fields)} in the config that you pass")
        unknown = [name for name in fields if not hasattr(own, name)]
        if unknown:
            raise ArgumentError(
                f"there is no option {', '.join(map(repr, unknown))}; see openvino_genai.GenerationConfig"
            )
        if config is None:
            own.update_generation_config(**fields)
            config = own
        if config.num_return_sequences > 1 or config.num_beams > 1:
            raise ArgumentError("a stream is one answer: num_return_sequences and num_beams must be 1")
        if config.echo:
            raise ArgumentError("echo is set; a message is the answer alone: put the prompt before it")
        return config, parsing


def _row(ids: Any) -> list[int]:
    rows = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], (list, tuple)):
        if len(rows) > 1:
            raise ArgumentError(f"the prompt has {len(rows)} rows; a stream has exactly one")
        rows = rows[0]
    if not isinstance(rows, (list, tuple)) or not rows:
        raise ArgumentError("the prompt is empty, or none; pass messages, a text or token ids")
    if not all(isinstance(id, int) and not isinstance(id, bool) and id >= 0 for id in rows):
        raise ArgumentError("the prompt's token ids must be integers from 0")
    return list(rows)
