"""llama.cpp itself reads each format's GBNF, and what it writes under it is read as complete and valid calls."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import unspool

from .law import faults_of_ids
from .tools import fragments_of, tools_for

pytest.importorskip("xllamacpp")
pytest.importorskip("gguf")

FORMATS = [file.name for file in unspool.formats() if file.has_tools]
#: Formats whose GBNF llama.cpp does not follow to the end, and why.
EXCEPTIONS = {
    "beam": "llama.cpp ends an answer at <|call|>, without which a call with tags is not complete",
    "minimax_m3": "llama.cpp admits a token in the midst of text that may end in its first letters, and cannot go on",
}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in EXCEPTIONS])
def test_what_llama_cpp_writes_is_read(name: str, tmp_path: Path) -> None:
    from .llama_cpp import LlamaCpp

    file = unspool.get_format(name)
    tools = tools_for(file)
    words = [word.decode() for word in fragments_of(file, tools)]
    model = LlamaCpp(tmp_path / "model.gguf", file.facts.marker_tokens, [*words, "é", "日本", "😀"])
    start_in = "content" if file.has_reasoning else "auto"
    for choice in ("required", "auto"):
        grammar = file.grammar(
            tools, tool_choice=choice, syntax="gbnf", reasoning=False, tokenizer=model.vocabulary
        )
        walks = (model.complete(grammar.text, seed, 300) for seed in range(12))
        ended = list(islice((ids for ids in walks if ids is not None), 2))
        assert ended, "no walk came to an end"
        for ids in ended:
            faults = faults_of_ids(file, ids, tools, choice != "auto", model.vocabulary, start_in=start_in)
            assert faults == []
