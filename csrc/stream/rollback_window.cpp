// To undo ids, an earlier copy of the stream reads the remaining ones again:
//
//   ids          ──────────────o──────────────o────────|
//   checkpoint               older          newer     end
//   back to here                  ^ copy the older one, read the ids from it to here
//
// A checkpoint is made every `size` ids, and two are kept. So the older one is at least `size` ids
// back once there are enough, and no more than `size` ids and one put are read again.
#include "stream/rollback_window.h"

#include <algorithm>
#include <utility>

namespace unspool {

void RollbackWindow::add(Checkpoint checkpoint) {
  checkpoint.place = end_;
  if (newer_) {
    // The newer checkpoint becomes the older one; ids before it are out of reach.
    const auto passed = static_cast<std::ptrdiff_t>(newer_->place - begin());
    ids_.erase(ids_.begin(), ids_.begin() + passed);
    std::erase_if(begins_, [&](std::uint64_t begin) { return begin < newer_->place; });
  }
  older_ = std::exchange(newer_, std::move(checkpoint));
}

void RollbackWindow::put(std::span<const TokenId> ids) {
  begins_.push_back(end_);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  end_ += ids.size();
}

std::size_t RollbackWindow::available() const { return std::min(size_, ids_.size()); }

RollbackWindow::Way RollbackWindow::take_back(std::size_t count) {
  std::uint64_t put_end = end_;  // of the last put that stays, at least in part
  end_ -= count;
  ids_.resize(ids_.size() - count);
  // Puts that are gone whole. The borders of the others matter: a put's events come together, so
  // ids are read again in the same portions.
  while (!begins_.empty() && begins_.back() >= end_) {
    put_end = begins_.back();
    begins_.pop_back();
  }
  // The newer checkpoint has seen ids that are gone.
  if (newer_->place > end_) newer_ = std::exchange(older_, std::nullopt);
  Way way{&*newer_, {}, put_end > end_};
  auto from = std::lower_bound(begins_.begin(), begins_.end(), newer_->place);
  for (; from != begins_.end(); ++from) {
    way.puts.push_back(slice(*from, std::next(from) == begins_.end() ? end_ : *std::next(from)));
  }
  return way;
}

}  // namespace unspool
