// Undoes the last token ids of a stream: keeps the ids, and copies of the stream from before them.
//
// A stream cannot run backwards, but a copy of it can run forwards again: rollback takes the last
// checkpoint before the place, and reads the ids from there to the place once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "delta/message.h"
#include "parser/events.h"
#include "vocabulary/token_id.h"

namespace unspool {

class TokenStreamer;

/// A position in an audit, which only grows.
struct AuditMark {
  std::size_t count = 0;
  std::size_t last_bytes = 0;

  explicit AuditMark(const std::vector<Events::Audited>& audit = {})
      : count(audit.size()), last_bytes(audit.empty() ? 0 : audit.back().text.size()) {}
  void go_back(std::vector<Events::Audited>& audit) const {
    audit.resize(count);
    if (count > 0) audit.back().text.resize(last_bytes);
  }
};

/// A stream's state before a put. Records of the whole answer only grow, so it keeps their
/// positions, not copies.
struct Checkpoint {
  std::shared_ptr<const TokenStreamer> stream;
  MessageBuilder::Mark message;
  AuditMark audit;
  std::uint64_t place = 0;  // how many ids had been put, as counted by the window
};

/// Keeps two checkpoints, at least `size` ids apart, and the ids since the older one. Cost: one
/// copy of the stream per `size` ids.
class RollbackWindow {
 public:
  static constexpr const char* kNoChannel =
      "what has gone into a channel cannot be taken back; pass a rollback_window or a channel";

  explicit RollbackWindow(std::size_t size) : size_(size) {}

  /// Whether the next put needs a checkpoint first.
  bool wants_checkpoint() const { return !newer_ || end_ - newer_->place >= size_; }
  void add(Checkpoint checkpoint);
  /// At least one id.
  void put(std::span<const TokenId> ids);

  /// How many ids can be undone.
  std::size_t available() const;

  /// How to return a stream to an earlier state.
  struct Way {
    const Checkpoint* from = nullptr;
    std::vector<std::span<const TokenId>> puts;  // to be read again, in order
    bool cuts_last = false;                      // the last one is only the beginning of a put
  };
  /// Removes the last `count` ids (1 to `available()`). The result is valid until the next call.
  Way take_back(std::size_t count);

 private:
  std::uint64_t begin() const { return older_ ? older_->place : newer_->place; }
  std::span<const TokenId> slice(std::uint64_t from, std::uint64_t to) const {
    return std::span(ids_).subspan(from - begin(), to - from);
  }

  std::size_t size_;
  std::uint64_t end_ = 0;  // how many ids have been put
  std::optional<Checkpoint> older_, newer_;
  std::vector<TokenId> ids_;           // since the first checkpoint
  std::vector<std::uint64_t> begins_;  // of the puts that contained them
};

}  // namespace unspool
