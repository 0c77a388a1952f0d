// The beginning of a call whose opener is missing: the name of an offered tool, at the start of a
// line, and then what the family writes after a name.
//
//   get_weather{"city": …      passed at the brace: a call may follow
//   get_weather is a tool      failed at the `i`: prose
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/other_families.h"
#include "format/tool_schemas.h"
#include "text/archive.h"

namespace unspool {

class NamedStart {
 public:
  enum class State : std::uint8_t { open, passed, failed };

  State state() const { return state_; }
  void put(std::string_view text, const UnmarkedWay& way, const ToolSchemas& tools);

  void visit(Archive& archive) {
    archive.choice(state_, State::failed);
    archive(text_);
  }

 private:
  State state_ = State::open;
  std::string text_;  // while it is open
};

}  // namespace unspool
