// The signature of a thought. Clients keep a thought for the model's next turn only if it has one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/archive.h"
#include "text/base64.h"
#include "text/white_space.h"

namespace unspool {

/// Fed with a thought's text, in any pieces. It shows a change, and is no proof of the sender:
/// servers share no key.
class ThoughtSignature {
 public:
  /// Carries the text too: some clients send back nothing of a thought but its signature.
  void carry_text() { carries_text_ = true; }

  void add(std::string_view text) {
    if (carries_text_) carried_ += text;
    for (const char byte : text) {
      // Clients trim.
      if (is_space(byte)) continue;
      hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;  // FNV-1a
    }
  }

  /// 24 characters of both alphabets of Base64, since Google's clients decode it.
  std::string text() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "unspool1";
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[(hash_ >> shift) & 15];
    append_base64(carried_, out);
    return out;
  }

  /// Begins another thought.
  std::string take() {
    std::string taken = text();
    hash_ = kEmpty;
    carried_.clear();
    return taken;
  }

  /// Whether it carries a text.
  bool has_text() const { return !carried_.empty(); }

  static std::string of(std::string_view text) {
    ThoughtSignature signature;
    signature.add(text);
    return signature.text();
  }

  void visit(Archive& archive) { archive(hash_, carries_text_, carried_); }

 private:
  static constexpr std::uint64_t kEmpty = 0xcbf29ce484222325;

  std::uint64_t hash_ = kEmpty;
  bool carries_text_ = false;
  std::string carried_ = {};
};

}  // namespace unspool
