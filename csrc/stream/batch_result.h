// What a step of a batch made ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"

namespace unspool {

/// A stream's number in its batch.
using Slot = std::int32_t;

class BatchResult {
 public:
  /// The slots of the step, in its order.
  std::span<const Slot> slots() const { return slots_; }
  /// The bytes of all slots, in this order.
  std::string_view bytes() const { return parts_.size() == 1 ? parts_[0].bytes : joined_; }
  /// Where each slot's bytes begin; one more: where the last one's end.
  std::span<const std::int64_t> offsets() const { return offsets_; }
  /// Those whose answer has ended: a stop string or an end token came.
  std::span<const Slot> ended() const { return ended_; }

  bool has(Slot slot) const { return place_of(slot) >= 0; }
  /// Throw ArgumentError for a slot that was not in the step.
  std::string_view bytes_of(Slot slot) const;
  std::span<const Delta> deltas_of(Slot slot) const;

 private:
  friend class StreamBatch;

  /// What one thread made; on cache lines of its own, since it changes with each byte.
  struct alignas(128) Part {
    std::string bytes;
    std::vector<Delta> deltas;    // those beyond `delta_count` are memory to use again
    std::size_t delta_count = 0;  // of those that were asked for
    std::size_t used_count = 0;   // of those that held something in this step
    std::exception_ptr failure;
  };
  /// Where a slot's bytes and deltas are.
  struct Entry {
    unsigned part = 0;
    bool has_ended = false;
    std::size_t bytes_begin = 0, bytes_end = 0;
    std::size_t deltas_begin = 0, deltas_end = 0;
  };

  void restart(std::span<const Slot> slots, unsigned part_count);
  void join();
  std::ptrdiff_t place_of(Slot slot) const;
  const Entry& entry_of(Slot slot) const;

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<Part> parts_;
  std::string joined_;  // the bytes of several parts
  std::vector<std::int64_t> offsets_;
  std::vector<Slot> ended_;
  std::vector<std::uint32_t> places_;  // by slot; stale where the slot was not in the step
};

}  // namespace unspool
