// Decodes XML and HTML character references as they arrive: &lt; &#65; &#x41;
#pragma once

#include <string>
#include <string_view>

#include "text/archive.h"

namespace unspool {

/// Decodes XML's five names, and numbers; other references are unchanged.
class EntityDecoder {
 public:
  void put(std::string_view text, std::string& out);

  /// Text that may be the beginning of a reference.
  std::string_view held() const { return held_; }

  /// Stops decoding: text is unchanged from now on.
  void turn_off() {
    is_off_ = true;
    held_.clear();
  }

  void visit(Archive& archive) { archive(held_, is_off_); }

 private:
  std::string held_;
  bool is_off_ = false;
};

/// Decodes all references in a whole text.
std::string without_entities(std::string_view text);

}  // namespace unspool
