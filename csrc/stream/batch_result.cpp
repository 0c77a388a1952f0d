#include "stream/batch_result.h"

#include <algorithm>

#include "text/error.h"
#include "text/scratch.h"

namespace unspool {

void BatchResult::restart(std::span<const Slot> slots, unsigned part_count) {
  slots_.assign(slots.begin(), slots.end());
  entries_.resize(slots.size());  // each is written
  parts_.resize(part_count);
  for (Part& part : parts_) {
    // Only what the last step used, so that a small step after a large one is fast.
    for (std::size_t i = 0; i < part.used_count; ++i) {
      Delta& delta = part.deltas[i];
      delta.text.clear();
      delta.token_ids.clear();
      shrink_scratch(delta.text, delta.token_ids);
    }
    part.bytes.shrink(kKeptBytes);
    part.bytes.clear();
    shrink_scratch(part.written);
    part.delta_count = part.used_count = 0;
    part.failure = nullptr;
  }
  shrink_scratch(joined_);
  joined_.clear();
  ended_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto slot = static_cast<std::size_t>(slots[i]);
    if (slot >= places_.size()) places_.resize(slot + 1);
    // Not cleared between steps. `place_of` compares with the slot, so a stale place is recognised.
    places_[slot] = static_cast<std::uint32_t>(i);
  }
}

// Joins the bytes of several parts in the order of the slots, copying contiguous runs.
void BatchResult::join() {
  offsets_.resize(entries_.size() + 1);
  std::int64_t* offset = offsets_.data();
  *offset = 0;
  for (const Entry& entry : entries_) {
    offset[1] = *offset + static_cast<std::int64_t>(entry.bytes_end - entry.bytes_begin);
    ++offset;
    if (entry.has_ended) [[unlikely]]
      ended_.push_back(slots_[static_cast<std::size_t>(&entry - entries_.data())]);
  }
  if (parts_.size() == 1) return;
  for (std::size_t i = 0; i < entries_.size();) {
    const Entry& first = entries_[i];
    std::size_t end = first.bytes_end;
    for (++i; i < entries_.size(); ++i) {
      // Slots that share a writer are in the first share, wherever they stand, so a run may break
      // anywhere.
      if (entries_[i].part != first.part || entries_[i].bytes_begin != end) break;
      end = entries_[i].bytes_end;
    }
    joined_.append(parts_[first.part].bytes.view(), first.bytes_begin, end - first.bytes_begin);
  }
}

std::ptrdiff_t BatchResult::place_of(Slot slot) const {
  if (slot < 0 || static_cast<std::size_t>(slot) >= places_.size()) return -1;
  const std::size_t place = places_[static_cast<std::size_t>(slot)];
  return place < slots_.size() && slots_[place] == slot ? static_cast<std::ptrdiff_t>(place) : -1;
}

const BatchResult::Entry& BatchResult::entry_of(Slot slot) const {
  const std::ptrdiff_t place = place_of(slot);
  if (place < 0) {
    throw ArgumentError("slot " + std::to_string(slot) + " was not in this step; see `slots`");
  }
  return entries_[static_cast<std::size_t>(place)];
}

std::string_view BatchResult::bytes_of(Slot slot) const {
  const Entry& entry = entry_of(slot);
  return parts_[entry.part].bytes.view().substr(entry.bytes_begin,
                                                entry.bytes_end - entry.bytes_begin);
}

std::span<const Delta> BatchResult::deltas_of(Slot slot) const {
  const Entry& entry = entry_of(slot);
  return std::span(parts_[entry.part].deltas)
      .subspan(entry.deltas_begin, entry.deltas_end - entry.deltas_begin);
}

}  // namespace unspool
