// Copies of a live stream: forks, and checkpoints for rollback.
#include <string>
#include <utility>

#include "stream/token_streamer.h"
#include "text/error.h"

namespace unspool {

TokenStreamer TokenStreamer::fork(std::shared_ptr<DeltaChannel> channel,
                                  std::optional<std::int32_t> choice) const {
  // Otherwise the fork's deltas would be returned to nobody, or mix with this stream's.
  if (channel_ && !channel) {
    throw ArgumentError(
        "the deltas of this stream go into a channel; pass channel= for the fork's");
  }
  if (window_ && channel) throw ArgumentError(RollbackWindow::kNoChannel);
  TokenStreamer copy(*this);
  copy.channel_ = std::move(channel);
  copy.choice_ = choice.value_or(choice_);
  copy.makes_deltas_ = copy.channel_ || copy.whole_calls_;
  copy.passes_plain_ = passes_plain_ && !copy.makes_deltas_;
  copy.events_.clear();
  copy.drop_unsent();
  return copy;
}

void TokenStreamer::keep_in_window(bool has_text, std::span<const TokenId> ids) {
  if (has_text)
    throw ArgumentError("a stream with a rollback_window reads token ids alone; pass no text");
  if (ids.empty() || parser_.is_finished()) return;
  // Before the put that is to be undone, so the checkpoint is from before its ids.
  if (window_->wants_checkpoint()) window_->add(checkpoint());
  window_->put(ids);
}

// The answer so far is set aside while the stream is copied.
Checkpoint TokenStreamer::checkpoint() {
  Checkpoint saved{nullptr, parser_.message_builder().mark(), AuditMark(audit_)};
  // The message and the audit only grow. Copying them at each checkpoint would cost time that grows
  // with the answer; a position in them is enough.
  MessageBuilder message = std::exchange(parser_.message_builder(), MessageBuilder());
  std::vector<Events::Audited> audit;
  if (keeps_audit_) audit.swap(audit_);
  ClonedPtr<RollbackWindow> window = std::move(window_);
  saved.stream = std::make_shared<TokenStreamer>(*this);
  window_ = std::move(window);
  if (keeps_audit_) audit.swap(audit_);
  parser_.message_builder() = std::move(message);
  return saved;
}

void TokenStreamer::return_to(const Checkpoint& checkpoint) {
  TokenStreamer earlier(*checkpoint.stream);
  MessageBuilder& message = earlier.parser_.message_builder();
  message = std::move(parser_.message_builder());
  message.go_back(checkpoint.message);
  if (keeps_audit_) {
    earlier.audit_ = std::move(audit_);
    checkpoint.audit.go_back(earlier.audit_);
  }
  // A rollback undoes ids, not the fact that the prompt has been read.
  earlier.first_put_ = first_put_;
  earlier.events_.clear();
  earlier.drop_unsent();
  *this = std::move(earlier);
}

void TokenStreamer::read_rollback(std::size_t count) {
  if (!window_) throw ArgumentError("this stream takes nothing back; pass rollback_window=");
  if (parser_.is_finished())
    throw StreamError("this stream has ended; take ids back before its end");
  if (count > window_->available()) {
    throw ArgumentError("rollback of " + std::to_string(count) + " ids; the last " +
                        std::to_string(window_->available()) + " can be taken back");
  }
  events_.clear();
  drop_unsent();
  if (count == 0) return;
  const RollbackWindow::Way way = window_->take_back(count);
  ClonedPtr<RollbackWindow> window = std::move(window_);  // it owns the ids that are read again
  return_to(*way.from);
  for (const std::span<const TokenId> ids : way.puts) read(std::nullopt, ids, std::nullopt);
  window_ = std::move(window);
  // The last put is only partly undone: the deltas of its remaining ids are the result. Otherwise
  // the deltas of the ids read again were delivered before.
  if (way.cuts_last) return;
  events_.clear();
  drop_unsent();
}

std::span<const Delta> TokenStreamer::rollback(std::size_t count) {
  read_rollback(count);
  return deliver();
}

}  // namespace unspool
