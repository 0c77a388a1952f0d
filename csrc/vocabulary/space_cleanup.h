// transformers' clean_up_tokenization_spaces: ten replacements, applied one after the other as text
// arrives.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "text/archive.h"

namespace unspool {

/// Produces the same text as the ten replacements on the whole text; holds back only a possible
/// match.
class SpaceCleanup {
 public:
  void put(std::string_view text, std::string& out) { put_from(0, text, out); }
  void flush(std::string& out);
  std::size_t held_bytes() const;

  void visit(Archive& archive) {
    archive(held_);
    for (const std::string& held : held_) archive.expect(held.size() <= kCount);
  }

 private:
  static constexpr std::size_t kCount = 10;
  void put_from(std::size_t stage, std::string_view text, std::string& out);

  std::array<std::string, kCount> held_;  // of each stage: a proper prefix of its pattern
};

}  // namespace unspool
