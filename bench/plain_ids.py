"""Prints the share of a text's tokens that the streamer passes without reading them, for each format.

python bench/plain_ids.py

The texts are real. The vocabulary is Qwen's, with the format's own markers as tokens. A stream starts in the region in
which the format begins: content or reasoning.
"""

from __future__ import annotations

import sys
from pathlib import Path

import unspool
from unspool import TokenStreamer, Vocabulary

sys.path.insert(0, str(Path(__file__).parent / "instructions"))
import real_text


def share(format: str, text: str) -> float:
    encoding = real_text.encoding()
    ranks = encoding._mergeable_ranks
    markers = unspool.get_format(format).facts.marker_tokens
    added = [(len(ranks) + 1000 + i, marker, marker, True) for i, marker in enumerate(markers)]
    stream = TokenStreamer(Vocabulary(ranks, added, is_bytes=True), format, keep_message=False)
    ids = encoding.encode_ordinary(text)
    passed = 0
    for id in ids:
        passed += stream._passes_by(id)
        stream.put(id)
    return passed / len(ids)


def main() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(real_text.TEXTS.iterdir())}
    print(f"{'':24}" + "".join(f"{name:>12}" for name in texts))
    for file in unspool.formats():
        print(
            f"{file.name:24}" + "".join(f"{share(file.name, text):12.1%}" for text in texts.values()),
            flush=True,
        )


if __name__ == "__main__":
    main()
