// Creates the parser of a stream: the format decides which of the two machines, the request which
// filters follow it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "format/format.h"
#include "parser/event_parser.h"

namespace unspool {

/// Creates the parser for a format: with markers, or a response template.
std::unique_ptr<EventParser> make_event_parser(std::shared_ptr<const Format> format,
                                               ParserOptions options);

/// Whether output after a prompt starts inside reasoning; nullopt: unknown.
bool starts_in_reasoning(std::shared_ptr<const Format> format,
                         const std::optional<std::string_view>& prompt);

}  // namespace unspool
