"""What runs a model elsewhere: the class to write for an engine of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from unspool.generation.sampling_params import SamplingParams
from unspool.writing.grammar.result import Grammar, Syntax

__all__ = ["Engine", "EngineLogprob", "EngineOutput", "EngineRequest"]

#: The log-probability of an id, and the most likely ids at its place with theirs.
EngineLogprob = tuple[float, Sequence[tuple[int, float]]]


@dataclass(frozen=True, kw_only=True)
class EngineRequest:
    """One answer that an engine is asked for; n answers are n requests with the same prompt.

    Attributes:
        prompt_ids: The prompt. None: the tokenizer is not known here, and the engine reads `prompt_text`.
        prompt_text: The prompt as text, for an engine that reads no ids; None if there are `prompt_ids`.
        adds_special_tokens: Whether the engine adds the special tokens of a beginning to `prompt_text`.
        wants_text: The answer is read as text, since its ids have no meaning here.
        sampling: `n` is 1, `max_tokens` is set. Stop strings are found here, and not sent.
        grammar: What the answer is kept to, in the engine's `grammar_syntax`; None: free.
        preserved_tokens: Markers that must stay in the text of an answer, though they are special tokens.
        session: The same for all turns of a conversation, for a router that keeps their prefix together.
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
    """What an engine gives at a time.

    Attributes:
        token_ids: The new ids; an end token may be among them.
        text: The new text, if the request wants text, or ids are left out.
        left_out_count: How many ids before these the engine has not sent.
        logprobs: Of each new id, if the request asks for them.
        finish_reason: "stop" or "length" in the last output.
        prompt_tokens: The length of the prompt, once it is known.
        cached_tokens: How many of them were in a prefix cache.
        completion_tokens: How many tokens the answer has so far; needed only beside text.
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
    """Runs a model: token ids in, token ids out. An `EngineModel` writes prompts for it and reads its answers.

    Attributes:
        grammar_syntax: The syntax of its grammars; None: it has none, and what needs one is refused.
        gives_ids: Whether it reads and gives token ids. False: it has text alone.
        leaves_out_ids: Whether it leaves out ids, and shows their text (`EngineOutput.left_out_count`).
        context_length: The most ids of a prompt and its answer together; None: not known.
        model_name: The model's name; None: not known.
        label: What it is, for messages and traces.
        tokenizer_name: Where its tokenizer is, as of `ChatTokenizer.from_pretrained`; None: not known.
        chat_template, special_tokens: The model's chat template, if the engine shows it, and the tokens that it writes, such
            as "bos_token".
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
        """Answer, output by output; an asynchronous generator.

        It is closed when the client leaves, at a stop string, or when it fails: free the engine's slot in `finally`.

        Raises:
            EngineError: The engine does not answer, or refuses the request.
        """

    async def check_ready(self) -> None:  # noqa: B027 (an engine in this process is always ready)
        """Raise EngineError while the engine cannot answer; called every few seconds."""

    def tokenize(self, text: str, add_special_tokens: bool) -> list[int] | None:  # noqa: ARG002
        """The ids of a text, if the tokenizer here cannot write them; None: no way. Runs in a thread."""
        return None

    async def aclose(self) -> None:  # noqa: B027 (nor has it connections)
        """Close connections; called once, at the end of a server."""
