"""Engines, which run a model elsewhere: the base class for an engine of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from unspool.generation.sampling_params import SamplingParams
from unspool.writing.grammar_result import Grammar, Syntax

__all__ = ["Engine", "EngineLogprob", "EngineOutput", "EngineRequest"]

#: The log-probability of an id, and the most likely ids at its position with their log-probabilities.
EngineLogprob = tuple[float, Sequence[tuple[int, float]]]


@dataclass(frozen=True, kw_only=True)
class EngineRequest:
    """A request to an engine for one answer; n answers are n requests with the same prompt.

    Attributes:
        prompt_ids: The prompt as ids; None: the tokenizer is unknown here, and the engine reads `prompt_text`.
        prompt_text: The prompt as text, for an engine that reads no ids; None if there are `prompt_ids`.
        adds_special_tokens: Whether the engine adds the special tokens that begin a prompt to `prompt_text`.
        wants_text: Whether the answer is read as text, because its ids cannot be decoded here.
        sampling: The sampling parameters. `n` is 1 and `max_tokens` is set. Stop strings are matched here, not sent.
        grammar: The grammar that constrains the answer, in the engine's `grammar_syntax`; None: unconstrained.
        preserved_tokens: Markers that must stay in the text of an answer, though they are special tokens.
        session: The same for all turns of a conversation, so that a router can send them to the replica that has their
            prefix in its cache.
    """

    prompt_ids: Sequence[int] | None
    prompt_text: str | None
    sampling: SamplingParams
    adds_special_tokens: bool = False
    wants_text: bool = False
    grammar: Grammar | None = None
    preserved_tokens: Sequence[str] = ()
    session: str = ""


@dataclass(slots=True, kw_only=True)
class EngineOutput:
    """One output of an engine: the part of an answer that is new.

    Attributes:
        token_ids: The new ids, possibly with an end token.
        text: The new text, if the request wants text or ids are left out.
        left_out_count: The number of ids before these that the engine did not send.
        logprobs: The log-probabilities of each new id, if the request asks for them.
        finish_reason: "stop" or "length" in the last output; None before.
        prompt_tokens: The length of the prompt, once it is known.
        cached_tokens: How many of the prompt's tokens were in a prefix cache.
        completion_tokens: The number of tokens in the answer so far; needed only with text.
    """

    token_ids: Sequence[int] = ()
    text: str = ""
    left_out_count: int = 0
    logprobs: Sequence[EngineLogprob] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None


class Engine(ABC):
    """Runs a model: token ids in, token ids out. An `EngineModel` writes its prompts and parses its answers.

    Attributes:
        grammar_syntax: The syntax of its grammars; None: it has none, and requests that need a grammar are rejected.
        gives_ids: Whether it accepts and returns token ids. False: it has only text.
        leaves_out_ids: Whether it sends only the text of some ids (`EngineOutput.left_out_count`).
        context_length: The maximum number of ids in a prompt and its answer together; None: unknown.
        model_name: The model's name; None: unknown.
        label: The engine's name in messages and traces.
        tokenizer_name: The location of its tokenizer, as in `ChatTokenizer.from_pretrained`; None: unknown.
        chat_template, special_tokens: The model's chat template, if the engine provides it, and the special tokens
            that the template writes, such as "bos_token".
    """

    grammar_syntax: Syntax | None = None
    gives_ids: bool = True
    leaves_out_ids: bool = False
    context_length: int | None = None
    model_name: str | None = None
    label: str = "engine"
    tokenizer_name: str | None = None
    chat_template: str | None = None
    special_tokens: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def generate(self, request: EngineRequest) -> AsyncGenerator[EngineOutput, None]:
        """Yield the outputs of an answer; an asynchronous generator.

        It is closed when the client disconnects, at a stop string, or if it fails: free the engine's slot in `finally`.

        Raises:
            EngineError: The engine does not answer, or rejects the request.
        """

    async def check_ready(self) -> None:  # noqa: B027 (an engine in this process is always ready)
        """Raise EngineError while the engine cannot answer; called every few seconds."""

    def tokenize(self, text: str, add_special_tokens: bool) -> list[int] | None:  # noqa: ARG002
        """Encode a text for a tokenizer here that cannot; None: the engine cannot either. Runs in a thread."""
        return None

    async def aclose(self) -> None:  # noqa: B027 (an engine in this process has no connections)
        """Close connections; called once, when the server ends."""
