// Sends whole calls alone: a filter on deltas for hosts whose clients must never see half a call.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "text/archive.h"

namespace unspool {

/// What is sent of a call that was cut off or turned out malformed.
enum class IncompleteCalls : std::uint8_t { forward, withhold };

/// Throws ArgumentError for a word that is neither "forward" nor "withhold".
IncompleteCalls parse_incomplete_calls(std::string_view name);

/// Holds the deltas of one answer's call until it ends, its argument fragments joined. They follow
/// if the call is complete, and are left out if not; the calls that follow move up. The tokens of
/// what is left out go with the next delta.
class WholeCalls {
 public:
  /// Appends what may be sent.
  void put(Delta delta, std::vector<Delta>& out);

  /// Whether `put` would pass this delta on as it is.
  bool passes(const Delta& delta) const;

  void visit(Archive& archive) {
    archive(held_, sent_, has_left_out_, left_out_begin_, left_out_);
    archive.expect(sent_ >= 0 && sent_ < (1 << 30));
  }

 private:
  void hold(Delta delta);
  void leave_out();
  void send(Delta delta, std::vector<Delta>& out);

  std::vector<Delta> held_;
  std::int32_t sent_ = 0;      // calls
  bool has_left_out_ = false;  // tokens that no delta has
  std::uint64_t left_out_begin_ = 0;
  std::vector<TokenId> left_out_;
};

}  // namespace unspool
