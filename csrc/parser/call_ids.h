// Ids for tool calls, in the shape that a model's template demands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/format_spec.h"

namespace unspool {

class CallIds {
 public:
  /// `seed` 0: different for every stream; otherwise the same ids every time (tests, fixtures),
  /// though others for each `choice` of a request. The style `functions` knows neither.
  CallIds(CallIdStyle style, std::uint64_t seed, std::int32_t choice);

  /// Appends the id of the call `index` to the tool `name`.
  void append(std::string_view name, std::uint32_t index, std::string& out);

 private:
  void append_random(std::size_t count, std::string& out);

  CallIdStyle style_;
  std::uint64_t state_;
};

}  // namespace unspool
