// Readers of a file's parts: each turns the patterns of some keys into its part of the program.
// All throw PatternError where the patterns do not say enough.
#pragma once

#include <string_view>
#include <vector>

#include "format/pattern_file.h"
#include "format/program.h"

namespace unspool {

ReasoningRegion read_reasoning(const PatternFile& file);

/// What stands around content and within it.
std::vector<MarkupRegion> read_content(const PatternFile& file);

/// The headers of messages, and the closers of messages that may stand without one.
std::vector<MarkupRegion> read_header(const PatternFile& file);

/// What stands around all calls. Calls that are written with such tags are left without them.
void read_section(PatternFile& file, Program& program);

/// The calls, and markup around them.
void read_calls(PatternFile file, Program& program);

/// One alternative of a call. `has_section`: something stands around all calls.
CallRegion read_call(const PatternFile& file, const Pattern& pattern, bool has_section);

void read_parameters(const PatternFile& file, CallRegion& call);

/// <tool: name>value</tool>: the value is the tool's only parameter.
void read_keyless(const Pattern& pattern, CallRegion& call);

}  // namespace unspool
