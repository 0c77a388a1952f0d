// The readers of a shape's parts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "format/pattern_file.h"
#include "format/shape.h"

namespace unspool {

/// An alternative of a file, and what was taken from it before it is read.
struct Alternative {
  Pattern pattern;
  std::optional<Edge> author;           // the text before ${_}
  std::string outer_open, outer_close;  // the tags around all calls
  bool is_begun = false;                // the turn was taken
};
using Alternatives = std::vector<Alternative>;

/// All items of a pattern, without empty texts.
std::vector<Item> items_of(const Pattern& pattern);

TextShape read_reasoning(const PatternFile& file, const Alternative& alternative);

TextShape read_content(const PatternFile& file, const Alternative& alternative);

/// The markup around all calls: from `calls`, or from the outer tags of each call, which are then
/// taken from the alternatives.
std::vector<TextShape> read_sections(const Alternatives& sections, Alternatives& calls);

/// `is_element`: <city>Paris</city>, as the first alternative says.
ParameterShape read_parameter(const Pattern& pattern, bool is_element);

/// <tool: name>value</tool>: the value is the tool's only parameter.
ParametersSlot read_keyless(const Pattern& pattern);

ObjectShape read_object(const Pattern& pattern);

IdShape read_id(const Pattern& pattern);

HeaderShape read_header(const PatternFile& file);

/// Reads the calls of a shape that has all its other parts but the header.
void read_calls(const PatternFile& file, const Alternatives& calls, Shape& shape);

/// One alternative of a call, without its role.
CallShape read_call(const PatternFile& file, const Alternative& alternative, const Shape& shape);

/// The ways to write calls; `file` is as it was read.
std::vector<FormShape> read_forms(const PatternFile& file, const Shape& shape);

}  // namespace unspool
