// The audit in the order of the output. The end of a turn is left out of what surrounds it, and
// keeps its place while text before it still waits for its fate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/events.h"

namespace unspool {

class AuditTrail {
 public:
  /// How many bytes have their fate.
  std::uint64_t bytes() const { return bytes_; }

  /// How many bytes wait for text before them.
  std::uint64_t ignored_bytes() const {
    std::uint64_t bytes = 0;
    for (const Ignored& ignored : ignored_) bytes += ignored.text.size();
    return bytes;
  }

  void put(Fate fate, std::string_view text, bool of_reasoning, std::int32_t call, Events& out) {
    while (!ignored_.empty() && ignored_.front().at <= bytes_ + text.size()) {
      const Ignored ignored = std::move(ignored_.front());
      ignored_.erase(ignored_.begin());
      const std::size_t before = ignored.at - bytes_;
      out.add_audit(fate, text.substr(0, before), of_reasoning, call);
      out.add_audit(Fate::marker, ignored.text);
      text.remove_prefix(before);
      bytes_ = ignored.at + ignored.text.size();
    }
    out.add_audit(fate, text, of_reasoning, call);
    bytes_ += text.size();
  }

  /// The end of a turn; `at`: how many bytes stand before it.
  void ignore(std::string_view marker, std::uint64_t at, Events& out) {
    if (at == bytes_) return put(Fate::marker, marker, false, -1, out);
    ignored_.push_back({at, std::string(marker)});
  }

  /// What came after the first `bytes` is read again.
  void go_back(std::uint64_t bytes) {
    bytes_ = bytes;
    ignored_.clear();
  }

 private:
  struct Ignored {
    std::uint64_t at;
    std::string text;
  };
  std::vector<Ignored> ignored_;
  std::uint64_t bytes_ = 0;
};

}  // namespace unspool
