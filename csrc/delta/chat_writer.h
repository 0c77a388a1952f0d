// Writes a delta as OpenAI's chat completions send it.
#pragma once

#include <string>

#include "delta/delta.h"

namespace unspool {

/// The name under which reasoning goes over the wire.
enum class ReasoningField : std::uint8_t { reasoning_content, reasoning };

/// Appends the `delta` object of a chat chunk as JSON. A call's first delta has index, id, type,
/// name and empty arguments, later ones only index and a fragment; what the API has no words for is
/// {}.
void append_chat_delta(const Delta& delta, ReasoningField field, std::string& out);

/// Whether the delta's text goes over the wire as content: also that of a call never announced.
bool is_wire_content(const Delta& delta);

}  // namespace unspool
