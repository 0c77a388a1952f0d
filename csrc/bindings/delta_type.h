// The Python type Delta. One is created per token, so it is a plain CPython type around a native
// delta.
#pragma once

#include <span>

#include "bindings/python_types.h"
#include "delta/chat_writer.h"
#include "delta/delta.h"
#include "stream/token_streamer.h"

namespace unspool::bindings {

/// A new reference to a Delta object; null with an error set.
PyObject* wrap_delta(Delta&& delta, ReasoningField field);

/// The same for a delta of the streamer's last read.
PyObject* take_delta(TokenStreamer& streamer, std::size_t i, ReasoningField field);

/// The same for a fragment and the ids that it is of.
PyObject* wrap_fragment(const TextFragment& fragment, std::span<const TokenId> ids,
                        ReasoningField field);

/// The native delta in `object`, or null if it is not a Delta.
const Delta* as_delta(PyObject* object);

ReasoningField reasoning_field_of(PyObject* delta);

ReasoningField parse_reasoning_field(const std::string& name);

/// Parses a finish reason; throws ArgumentError.
FinishReason parse_finish_reason(std::string_view name);

}  // namespace unspool::bindings
