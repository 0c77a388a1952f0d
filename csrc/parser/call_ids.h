// Ids for tool calls, in the style that a model's template requires.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/program.h"
#include "text/archive.h"

namespace unspool {

class CallIds {
 public:
  /// `seed` 0: random ids. Otherwise the same ids every time (tests, fixtures), but different ones
  /// for each `choice` of a request. The style `functions` uses neither.
  CallIds(CallIdStyle style, std::uint64_t seed, std::int32_t choice);

  /// The id of the call `index` to the tool `name`: its own, if it has one.
  std::string id_of(std::string_view own, std::string_view name, std::int32_t index);

  void visit(Archive& archive) {
    archive.given(style_);
    archive(state_);
  }

 private:
  std::string random(std::string_view prefix, std::size_t count);

  CallIdStyle style_;
  std::uint64_t state_;
};

}  // namespace unspool
