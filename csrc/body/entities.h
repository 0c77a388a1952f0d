// Character references of XML and HTML, decoded as they arrive: &lt; &#65; &#x41;
#pragma once

#include <string>
#include <string_view>

#include "text/archive.h"

namespace unspool {

/// The five names that XML has, and numbers; anything else stays as it is.
class EntityDecoder {
 public:
  void put(std::string_view text, std::string& out);

  /// What may be the beginning of a reference.
  std::string_view held() const { return held_; }

  /// Text is taken as it is from now on.
  void turn_off() {
    is_off_ = true;
    held_.clear();
  }

  void visit(Archive& archive) { archive(held_, is_off_); }

 private:
  std::string held_;
  bool is_off_ = false;
};

/// A whole text without its references.
std::string without_entities(std::string_view text);

}  // namespace unspool
