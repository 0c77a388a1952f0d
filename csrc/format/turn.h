// The part of the answer that the prompt has already written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "format/program.h"

namespace unspool {

/// What the prompt has written of the answer.
struct PromptTurn {
  std::string_view header;   // that the marker of the turn opens: `<|start|>assistant`
  std::string_view written;  // after the marker
};

/// The end of a prompt that belongs to the answer: the text after the marker of the last turn.
/// Without such a marker it is one of several, and the first that opens calls and does not close
/// them counts: from the last opener of a section or a call on, or from the last line that may
/// begin a call without one, else the tags at the very end, of which the last may be cut. A user
/// may have written tags too. If the prompt has neither, this is the format's own turn.
std::vector<PromptTurn> turns_of(const Program& program, std::string_view prompt);

/// The shortest end of a prompt that has the marker of its last turn; without one, the tags at its
/// very end. It holds no text of a user before that.
std::string_view end_of_prompt(const Program& program, std::string_view prompt);

/// The turn if the prompt is unknown.
PromptTurn turn_without_prompt(const Program& program);

/// Whether a turn begins inside the reasoning: it closes reasoning that nothing has opened.
bool begins_in_reasoning(const Program& program, std::string_view turn);

/// Whether the format's own turn opens the reasoning.
bool opens_reasoning(const Program& program);

/// Where the reasoning of the text's last turn ended, judged by its tags: after the closing tag, or
/// after the opener of a call that ends it. npos: it has not ended, or was opened again.
std::size_t reasoning_end(const Program& program, std::string_view text);

}  // namespace unspool
