// What two texts begin with alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace unspool {

/// The length in bytes of the common prefix.
inline std::size_t common_prefix(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace unspool
