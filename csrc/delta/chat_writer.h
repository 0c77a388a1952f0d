// Writes a delta in the form of OpenAI chat completions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "delta/parts.h"

namespace unspool {

/// The field that holds reasoning.
enum class ReasoningField : std::uint8_t { reasoning_content, reasoning };

std::string_view to_string(ReasoningField field);

/// Appends the `delta` object of a chat chunk as JSON. A call's first delta has index, id, type,
/// name and empty arguments; later ones have only index and a fragment. Deltas that the API cannot
/// express are {}.
void append_chat_delta(const Delta& delta, ReasoningField field, std::string& out);

/// Appends the whole `message` object; content is null if there are only calls.
void append_chat_message(const std::vector<Part>& parts, ReasoningField field, std::string& out);

/// Whether the API sends the delta's text as content; includes text of a call that was never
/// announced.
bool is_wire_content(const Delta& delta);

}  // namespace unspool
