// Writes a delta as OpenAI's chat completions send it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "delta/parts.h"

namespace unspool {

/// The name under which reasoning goes over the wire.
enum class ReasoningField : std::uint8_t { reasoning_content, reasoning };

std::string_view to_string(ReasoningField field);

/// Appends the `delta` object of a chat chunk as JSON. A call's first delta has index, id, type,
/// name and empty arguments, later ones only index and a fragment; what the API has no words for is
/// {}.
void append_chat_delta(const Delta& delta, ReasoningField field, std::string& out);

/// Appends the whole `message` object: content is null where calls stand alone.
void append_chat_message(const std::vector<Part>& parts, ReasoningField field, std::string& out);

/// Whether the delta's text goes over the wire as content: also that of a call never announced.
bool is_wire_content(const Delta& delta);

}  // namespace unspool
