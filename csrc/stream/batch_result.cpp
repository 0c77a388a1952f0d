#include "stream/batch_result.h"

#include <string>

#include "text/error.h"
#include "text/scratch.h"

namespace unspool {

void BatchResult::restart(std::span<const Slot> slots) {
  slots_.assign(slots.begin(), slots.end());
  // Each is written. The first ones stay 0.
  offsets_.resize(slots.size() + 1);
  delta_offsets_.resize(slots.size() + 1);
  // Only what the last step used, so that a small step after a large one is fast.
  for (std::size_t i = 0; i < used_count_; ++i) {
    Delta& delta = deltas_[i];
    delta.text.clear();
    delta.token_ids.clear();
    shrink_scratch(delta.text, delta.token_ids);
  }
  delta_count_ = used_count_ = 0;
  bytes_.shrink(kKeptBytes);
  bytes_.clear();
  shrink_scratch(written_);
  ended_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto slot = static_cast<std::size_t>(slots[i]);
    if (slot >= places_.size()) places_.resize(slot + 1);
    // Not cleared between steps. `find` compares with the slot, so a stale place is recognised.
    places_[slot] = static_cast<std::uint32_t>(i);
  }
}

std::ptrdiff_t BatchResult::find(Slot slot) const {
  if (slot < 0 || static_cast<std::size_t>(slot) >= places_.size()) return -1;
  const std::size_t place = places_[static_cast<std::size_t>(slot)];
  return place < slots_.size() && slots_[place] == slot ? static_cast<std::ptrdiff_t>(place) : -1;
}

std::size_t BatchResult::place_of(Slot slot) const {
  const std::ptrdiff_t place = find(slot);
  if (place < 0) {
    throw ArgumentError("slot " + std::to_string(slot) + " was not in this step; see `slots`");
  }
  return static_cast<std::size_t>(place);
}

std::string_view BatchResult::bytes_of(Slot slot) const {
  const std::size_t place = place_of(slot);
  const auto begin = static_cast<std::size_t>(offsets_[place]);
  return bytes().substr(begin, static_cast<std::size_t>(offsets_[place + 1]) - begin);
}

std::span<const Delta> BatchResult::deltas_of(Slot slot) const {
  const std::size_t place = place_of(slot);
  const std::size_t begin = delta_offsets_[place];
  return std::span(deltas_).subspan(begin, delta_offsets_[place + 1] - begin);
}

}  // namespace unspool
