// The part of the answer that the prompt has already written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "format/program.h"

namespace unspool {

/// The end of a prompt that belongs to the answer: the text after the marker of the last turn.
/// Without such a marker only tags at the very end count, because a user may have written tags too.
/// If the prompt has neither, this is the format's own turn.
std::string_view turn_of(const Program& program, std::string_view prompt);

/// The turn if the prompt is unknown.
std::string_view turn_without_prompt(const Program& program);

/// The markers of an answer's turn: the turns without the reasoning opener at their end, which not
/// every prompt contains.
std::vector<std::string> turn_markers(const Program& program);

/// Whether a turn begins inside the reasoning: it closes reasoning that nothing has opened.
bool begins_in_reasoning(const Program& program, std::string_view turn);

/// Whether the format's own turn opens the reasoning.
bool opens_reasoning(const Program& program);

/// Where the reasoning of the text's last turn ended, judged by its tags: after the closing tag, or
/// after the opener of a call that ends it. npos: it has not ended, or was opened again.
std::size_t reasoning_end(const Program& program, std::string_view text);

}  // namespace unspool
