// Readers of a file's parts: each turns the patterns of some keys into a part of the program. All
// throw PatternError if the patterns are incomplete.
#pragma once

#include <string_view>
#include <vector>

#include "format/pattern_file.h"
#include "format/program.h"

namespace unspool {

ReasoningRegion read_reasoning(const PatternFile& file);

/// The markup around and within content.
std::vector<MarkupRegion> read_content(const PatternFile& file);

/// The headers of messages, and the closers of messages that may occur without a header.
std::vector<MarkupRegion> read_header(const PatternFile& file);

/// The markup around all calls; it is removed from calls that are written with these tags.
void read_section(PatternFile& file, Program& program);

/// The calls, and the markup around them.
void read_calls(PatternFile file, Program& program);

/// One alternative of a call. `has_section`: there is markup around all calls.
CallRegion read_call(const PatternFile& file, const Pattern& pattern, bool has_section);

void read_parameters(const PatternFile& file, CallRegion& call);

/// <tool: name>value</tool>: the value is the tool's only parameter.
void read_keyless(const Pattern& pattern, CallRegion& call);

}  // namespace unspool
