// What a prompt writes of the answer: the output goes on from there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "format/program.h"

namespace unspool {

/// The end of a prompt that belongs to the answer: what follows the marker of the last turn. A user
/// may have written tags too. Without such a marker only tags at the very end count. If the prompt
/// says nothing, this is what the format's own turn says.
std::string_view turn_of(const Program& program, std::string_view prompt);

/// The same if the prompt is not known.
std::string_view turn_without_prompt(const Program& program);

/// What shows where an answer's turn begins: the turns without the reasoning's opener at their end,
/// which not every prompt writes.
std::vector<std::string> turn_markers(const Program& program);

/// Whether a turn stands in the reasoning where it begins: it closes what nothing has opened.
bool begins_in_reasoning(const Program& program, std::string_view turn);

/// Whether the format's own turn opens the reasoning.
bool opens_reasoning(const Program& program);

/// Where the reasoning of the text's last turn ended, as far as its tags show: after the closing
/// one, or after a call's opener that ends it. npos: nowhere, or it was opened again.
std::size_t reasoning_end(const Program& program, std::string_view text);

}  // namespace unspool
