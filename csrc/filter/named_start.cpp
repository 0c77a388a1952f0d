#include "filter/named_start.h"

#include <algorithm>

#include "text/white_space.h"

namespace unspool {

namespace {

using State = NamedStart::State;

constexpr std::size_t kMostSpace = 64;

// What a text after a tool's name may be.
State after_name(std::string_view text, const UnmarkedWay& way) {
  const std::size_t space = std::min(text.find_first_not_of(kSpace), text.size());
  if (space > kMostSpace) return State::failed;
  if (space == text.size()) return State::open;
  return way.after_name.find(text[space]) == std::string::npos ? State::failed : State::passed;
}

State after_prefix(std::string_view text, const UnmarkedWay& way, const ToolSchemas& tools) {
  State best = State::failed;
  for (const auto& [name, schema] : tools.tools) {
    if (name.starts_with(text)) best = State::open;
    if (!text.starts_with(name)) continue;
    const State state = after_name(text.substr(name.size()), way);
    if (state == State::passed) return state;
    if (state == State::open) best = state;
  }
  return best;
}

}  // namespace

void NamedStart::put(std::string_view text, const UnmarkedWay& way, const ToolSchemas& tools) {
  if (state_ != State::open) return;
  text_ += text;
  // The family's prefix of names may be missing too.
  State state = after_prefix(text_, way, tools);
  if (state != State::passed && !way.prefix.empty()) {
    const std::string_view written = text_;
    const State prefixed = written.starts_with(way.prefix)
                               ? after_prefix(written.substr(way.prefix.size()), way, tools)
                           : way.prefix.starts_with(written) ? State::open
                                                             : State::failed;
    if (prefixed != State::failed) state = prefixed;
  }
  state_ = state;
  if (state_ != State::open) text_ = {};
}

}  // namespace unspool
