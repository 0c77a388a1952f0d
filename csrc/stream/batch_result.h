// The results of a batch's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
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
  std::string_view bytes() const { return parts_.size() == 1 ? parts_[0].bytes.view() : joined_; }
  /// Where each slot's bytes begin, and the end of the last one.
  std::span<const std::int64_t> offsets() const { return offsets_; }
  /// The slots whose answer has ended: a stop string or an end token was read.
  std::span<const Slot> ended() const { return ended_; }

  bool has(Slot slot) const { return place_of(slot) >= 0; }
  /// Throws ArgumentError if the slot was not in the step.
  std::string_view bytes_of(Slot slot) const;
  std::span<const Delta> deltas_of(Slot slot) const;

 private:
  friend class StreamBatch;

  /// The results of one thread, on its own cache lines because they change with each byte.
  struct alignas(128) Part {
    ByteBuffer bytes;
    std::string written;          // by a writer, before it is in `bytes`
    std::vector<Delta> deltas;    // entries from `delta_count` on are reusable memory
    std::size_t delta_count = 0;  // of the requested deltas
    std::size_t used_count = 0;   // of entries that held something in this step
    std::exception_ptr failure;
  };
  /// The position of a slot's bytes and deltas.
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
  std::vector<std::uint32_t> places_;  // by slot; stale if the slot was not in the step
};

}  // namespace unspool
