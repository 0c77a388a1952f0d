// A filter on deltas that emits only complete calls, for clients that must never see a partial one.
//
//   content "Hi"    begin 0, arguments, end (cut off)    begin 1, arguments, end    finish
//   content "Hi"                                         begin 0, arguments, end    finish
//
// The second line is what passes: the broken call is gone, and the next one has its number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "text/archive.h"

namespace unspool {

/// Handling of a call that was cut off or is malformed.
enum class IncompleteCalls : std::uint8_t { forward, withhold };

/// Throws ArgumentError unless `name` is "forward" or "withhold".
IncompleteCalls parse_incomplete_calls(std::string_view name);

/// Holds the deltas of one answer's call until it ends, and joins its argument fragments. They are
/// emitted if the call is complete, and dropped if not; later calls are renumbered. The tokens of
/// dropped deltas belong to the next delta.
class WholeCalls {
 public:
  /// Appends the deltas that can be emitted.
  void put(Delta delta, std::vector<Delta>& out);

  /// Whether `put` would pass this delta on unchanged.
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
  std::int32_t sent_ = 0;      // number of calls emitted
  bool has_left_out_ = false;  // there are tokens that no delta covers
  std::uint64_t left_out_begin_ = 0;
  std::vector<TokenId> left_out_;
};

}  // namespace unspool
