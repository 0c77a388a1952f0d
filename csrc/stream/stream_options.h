// The table of stream options: names, defaults, choices, bounds and meanings. Python reads it, and
// tests compare signatures, docstrings and pages with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stream/token_streamer.h"

namespace unspool {

/// An option's value in a request or a configuration file. A choice is a word.
using OptionValue = std::variant<bool, std::uint64_t, std::string, std::vector<std::string>>;

struct StreamOption {
  std::string_view name;
  std::string_view meaning;
  OptionValue initial;  // the default
  std::function<void(TokenStreamerOptions&, OptionValue)> set;
  std::vector<std::string_view> words = {};  // the choices
  std::uint64_t lowest = 0, highest = 0;     // of a number
};

const std::vector<StreamOption>& stream_options();

/// The option with this name, or null.
const StreamOption* find_stream_option(std::string_view name);

/// Throws ArgumentError if the value has the wrong type, is out of bounds, or is not a valid
/// choice.
void set_option(TokenStreamerOptions& options, const StreamOption& option, OptionValue value);

/// The same by name; throws ArgumentError if there is no such option.
void set_option(TokenStreamerOptions& options, std::string_view name, OptionValue value);

}  // namespace unspool
