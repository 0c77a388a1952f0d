// The integer that a model samples.
#pragma once

#include <cstdint>

#include "text/archive.h"

namespace unspool {

using TokenId = std::uint32_t;

/// A half-open range of positions in the stream of token ids: [begin, end).
struct TokenSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const TokenSpan&) const = default;

  void visit(Archive& archive) { archive(begin, end); }
};

}  // namespace unspool
