// The results of a batch's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "text/byte_buffer.h"

namespace unspool {

/// The number of a stream in its batch.
using Slot = std::int32_t;

class BatchResult {
 public:
  /// The slots of the step, in order.
  std::span<const Slot> slots() const { return slots_; }
  /// The bytes of all slots, in this order.
  std::string_view bytes() const { return bytes_.view(); }
  /// Where each slot's bytes begin, and the end of the last one.
  std::span<const std::int64_t> offsets() const { return offsets_; }
  /// The slots whose answer has ended: a stop string or an end token was read.
  std::span<const Slot> ended() const { return ended_; }

  bool has(Slot slot) const { return find(slot) >= 0; }
  /// Throws ArgumentError if the slot was not in the step.
  std::string_view bytes_of(Slot slot) const;
  std::span<const Delta> deltas_of(Slot slot) const;

 private:
  friend class StreamBatch;

  void restart(std::span<const Slot> slots);
  /// Ends the results of the slot at `place`.
  void end_slot(std::size_t place) {
    offsets_[place + 1] = static_cast<std::int64_t>(bytes_.size());
    delta_offsets_[place + 1] = delta_count_;
  }
  std::ptrdiff_t find(Slot slot) const;
  /// The slot's place in the step. Throws ArgumentError if it has none.
  std::size_t place_of(Slot slot) const;

  std::vector<Slot> slots_;
  ByteBuffer bytes_;
  std::vector<std::int64_t> offsets_;
  std::vector<Delta> deltas_;    // entries from `delta_count_` on are reusable memory
  std::size_t delta_count_ = 0;  // of the requested deltas
  std::size_t used_count_ = 0;   // of entries that held something in this step
  std::vector<std::size_t> delta_offsets_;
  std::vector<Slot> ended_;
  std::vector<std::uint32_t> places_;  // by slot; stale if the slot was not in the step
  std::string written_;                // by a writer, before it is in `bytes_`
};

}  // namespace unspool
