"""The byte layout of a snapshot: its kind, the state, and an authentication tag over both."""

from __future__ import annotations

from unspool.errors import ArgumentError

__all__ = ["seal", "unseal"]

_MAGIC = b"unspoolS"
#: Version of the state's layout; other versions are rejected.
_VERSION = 3
_TAG_BYTES = 16

_KINDS = {
    "TokenStreamer": 1,
    "Detokenizer": 2,
    "chat_completions": 3,
    "completions": 4,
    "responses": 5,
    "messages": 6,
    "open_inference": 7,
    "google": 8,
}


def seal(kind: str, state: bytes, key: bytes) -> bytes:
    """Build the snapshot of a state.

    Args:
        kind: The class, or the protocol of a `WireWriter`.
        key: A secret that authenticates the snapshot: only holders of the key can make it. Empty: anyone can.

    Raises:
        ArgumentError: The key is not 16 to 64 bytes long.
    """
    body = _MAGIC + bytes([_VERSION, _KINDS[kind]]) + state
    return body + _tag(body, key)


def unseal(kind: str, snapshot: bytes, key: bytes) -> bytes:
    """Return the state in a snapshot.

    Raises:
        ArgumentError: The bytes are not a snapshot, are damaged, or were made by another version, for another class
            or with another key.
        TypeError: `snapshot` is not bytes.
    """
    if not isinstance(snapshot, bytes):
        raise TypeError(f"snapshot is of type {type(snapshot).__name__}; pass the bytes of snapshot()")
    import hmac

    begin = len(_MAGIC)
    if len(snapshot) < begin + 2 + _TAG_BYTES or not snapshot.startswith(_MAGIC):
        raise ArgumentError("this is not a snapshot; pass the bytes that snapshot() returned")
    body, tag = snapshot[:-_TAG_BYTES], snapshot[-_TAG_BYTES:]
    if body[begin] != _VERSION:
        raise ArgumentError(
            f"the snapshot has the layout {body[begin]}, and this version of unspool reads {_VERSION};"
            " restore it where it was made"
        )
    if not hmac.compare_digest(tag, _tag(body, key)):
        raise ArgumentError("the snapshot is damaged, or was sealed with another key; pass that key")
    if body[begin + 1] != _KINDS[kind]:
        known = {number: name for name, number in _KINDS.items()}
        raise ArgumentError(f"the snapshot is of {known.get(body[begin + 1], 'another class')}, not {kind}")
    return body[begin + 2 :]


def _tag(body: bytes, key: bytes) -> bytes:
    import hashlib  # loads OpenSSL, which takes too long for streams without snapshots

    if not isinstance(key, bytes) or (key and not 16 <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE):
        raise ArgumentError("key must be a secret of 16 to 64 bytes, or empty")
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=key, person=b"unspool snapshot").digest()
