// The ways through a stream, from simple to particular:
//
//   put, parse_chunk, end       read, then deliver: into the channel, or as deltas
//   read, take, release         for hosts that build their own objects, such as the bindings
//   read, only_fragment         for a batch with a writer: no Delta is made at all
//
// `makes_deltas_` decides between two shapes of the result. If deltas must outlive the read (a
// channel that may be full, a filter that holds calls), they are made at once. Otherwise the events
// stay, and each Delta is filled when it is taken, in memory that is used again.
#include "stream/token_streamer.h"

#include "text/error.h"
#include "text/scratch.h"

namespace unspool {

TokenStreamer::TokenStreamer(std::shared_ptr<const Format> format, TokenStreamerOptions options)
    : channel_(std::move(options.channel)),
      choice_(options.stream.parser.choice),
      first_put_(options.first_put),
      closes_channel_(options.closes_channel),
      audits_(options.stream.parser.audit),
      keeps_audit_(options.stream.keeps_message),
      // Unsent deltas wait for the channel, and withheld ones for the end of their call.
      makes_deltas_(channel_ || options.incomplete_calls == IncompleteCalls::withhold),
      passes_plain_(!makes_deltas_ && !audits_ && options.rollback_window == 0),
      parser_(std::move(format), std::move(options.stream)) {
  if (options.incomplete_calls == IncompleteCalls::withhold)
    whole_calls_ = std::make_unique<WholeCalls>();
  if (options.rollback_window == 0) return;
  // The consumer may have taken a delta at any time, so it cannot be undone.
  if (channel_) throw ArgumentError(RollbackWindow::kNoChannel);
  window_ = std::make_unique<RollbackWindow>(options.rollback_window);
}

std::span<const Delta> TokenStreamer::put(std::span<const TokenId> ids) {
  if (ids.size() == 1 && is_plain(ids.front())) return deliver_plain(ids.front());
  if (has_unsent()) send();
  read_put(ids, false);
  return deliver();
}

// In the memory of the delta before it, which was one as well in most cases.
std::span<const Delta> TokenStreamer::deliver_plain(TokenId id) {
  const TextFragment fragment = put_plain(id);
  if (fragment.text.empty()) return {};
  if (!is_plain_delta_) {
    deltas_.assign(1, Delta());
    is_plain_delta_ = true;
  }
  unspool::fill(deltas_.front(), fragment, parser_.ids_of(fragment, id));
  return deltas_;
}

std::span<const Delta> TokenStreamer::parse_chunk(std::optional<std::string_view> text,
                                                  std::optional<std::span<const TokenId>> ids,
                                                  std::optional<FinishReason> finish_reason) {
  // The host calls again after a timeout. The parser has ended, so there is nothing to read.
  const bool only_sends = has_unsent_end() && !text && !ids;
  if (has_unsent()) send();
  if (only_sends) return {};
  read(text, ids, finish_reason);
  return deliver();
}

std::span<const Delta> TokenStreamer::end(FinishReason reason) {
  return parse_chunk(std::nullopt, std::nullopt, reason);
}

void TokenStreamer::fail(std::exception_ptr error) {
  if (channel_) channel_->fail(std::move(error));
}

bool TokenStreamer::wants_more() const {
  return !parser_.is_stopped() && !(channel_ && channel_->is_closed());
}

std::span<const Delta> TokenStreamer::deliver() {
  if (channel_) {
    send();  // a reader that has gone is no error: see `wants_more`
    return {};
  }
  // The result is a span of deltas, which the caller reads after `release` has dropped the events.
  if (!makes_deltas_) make_deltas();
  release();
  return deltas_;
}

void TokenStreamer::read(std::optional<std::string_view> text,
                         std::optional<std::span<const TokenId>> ids,
                         std::optional<FinishReason> finish_reason) {
  // First of all, so that a rejected id changes nothing, not even the window.
  if (ids) parser_.check_ids(*ids, text.has_value());
  if (window_) [[unlikely]] {
    keep_in_window(text && (ids || !text->empty()), ids.value_or(std::span<const TokenId>()));
  }
  events_.clear();
  events_.pass_over(parser_.told());
  if (makes_deltas_) drop_unsent();
  // Streams are many and mostly idle: memory of one long chunk must not stay with each of them.
  was_long_ = (text ? text->size() : 0) + (ids ? ids->size_bytes() : 0) > kKeptBytes;
  if (text && ids) {
    parser_.put_text_and_ids(*text, *ids, events_);
  } else if (ids) {
    parser_.put_ids(*ids, events_);
  } else {
    parser_.put_text(text.value_or(""), events_);
  }
  if (finish_reason) parser_.finish(*finish_reason, events_);
  if (audits_) keep_audit();
  if (channel_ && parser_.has_begun()) channel_->begin();
  if (!makes_deltas_) return;
  make_deltas();
  release();
}

void TokenStreamer::read_put(std::span<const TokenId> ids, bool is_row) {
  if (first_put_ == FirstPut::prompt || (first_put_ == FirstPut::row_is_prompt && is_row)) {
    if (!ids.empty()) parser_.put_prompt(ids);
    events_.clear();
    drop_unsent();
  } else {
    read(std::nullopt, ids, std::nullopt);
  }
  first_put_ = FirstPut::output;  // a rejected put does not count
}

void TokenStreamer::fill(Delta& delta, const Event& event, bool with_ids) const {
  delta.kind = event.kind;
  delta.index = event.index;
  delta.choice = choice_;
  delta.status = event.status;
  delta.finish_reason = event.finish_reason;
  if (event.kind == EventKind::tool_call_begin) {
    delta.text.clear();  // the event's text is the family in whose way the call is written
    delta.id = events_.id(event);
    delta.name = events_.name(event);
  } else {
    delta.text = events_.text(event);
    // Cleared and not left: the memory may hold an earlier delta.
    delta.id.clear();
    delta.name.clear();
  }
  // A comparison with an empty text would construct a string at each token.
  if (*event.reason != '\0') {
    delta.reason = event.reason;
  } else {
    delta.reason.clear();
  }
  delta.span = event.span;
  delta.token_ids.clear();
  if (!with_ids) return;
  const auto ids = parser_.ids_of(event.span);
  delta.token_ids.assign(ids.begin(), ids.end());
}

Delta TokenStreamer::make_delta(const Event& event) const {
  Delta delta;
  fill(delta, event, true);
  return delta;
}

void TokenStreamer::make_deltas() {
  is_plain_delta_ = false;
  deltas_.clear();
  for (const Event& event : events_.list()) {
    if (whole_calls_) {
      whole_calls_->put(make_delta(event), deltas_);
    } else {
      fill(deltas_.emplace_back(), event, true);
    }
  }
}

void TokenStreamer::keep_audit() {
  if (!keeps_audit_) audit_.clear();
  append_audit(events_.audit(), audit_);
}

void TokenStreamer::release() {
  if (!was_long_) return;
  events_.clear();
  parser_.forget_told();
}

DeltaChannel::Put TokenStreamer::send(const DeltaChannel::Deadline& deadline) {
  using Put = DeltaChannel::Put;
  for (; sent_count_ < deltas_.size(); ++sent_count_) {
    Delta& delta = deltas_[sent_count_];
    // With its end, in one step, so that the consumer does not wait for an end that is already
    // certain.
    const bool is_last = closes_channel_ && delta.kind == EventKind::finish;
    const Put put = is_last ? channel_->put_final(delta, deadline) : channel_->put(delta, deadline);
    // The position stays: the next `send` continues with this delta.
    if (put == Put::timed_out) return put;
    if (put == Put::accepted) continue;
    drop_unsent();
    return put;
  }
  drop_unsent();
  return Put::accepted;
}

void TokenStreamer::drop_unsent() {
  is_plain_delta_ = false;
  deltas_.clear();
  shrink_scratch<kKeptInStream>(deltas_);
  sent_count_ = 0;
}

}  // namespace unspool
