// The signature of a thought. Clients keep a thought for the model's next turn only if it has one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/archive.h"
#include "text/white_space.h"

namespace unspool {

/// Fed with a thought's text, in any pieces. It shows a change, and is no proof of the sender:
/// servers share no key.
class ThoughtSignature {
 public:
  void add(std::string_view text) {
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
    return out;
  }

  static std::string of(std::string_view text) {
    ThoughtSignature signature;
    signature.add(text);
    return signature.text();
  }

  void visit(Archive& archive) { archive(hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace unspool
