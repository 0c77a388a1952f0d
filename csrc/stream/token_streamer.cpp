#include "stream/token_streamer.h"

#include <utility>

namespace unspool {

Delta make_delta(const Event& event, const Events& events, const ChunkParser& stream,
                 std::int32_t choice) {
  Delta delta;
  delta.kind = event.kind;
  delta.index = event.index;
  delta.choice = choice;
  delta.status = event.status;
  delta.finish_reason = event.finish_reason;
  delta.text = events.text(event);
  delta.id = events.id(event);
  delta.name = events.name(event);
  delta.reason = event.reason;
  delta.span = event.span;
  const auto ids = stream.ids_of(event.span);
  delta.token_ids.assign(ids.begin(), ids.end());
  return delta;
}

TokenStreamer::TokenStreamer(std::shared_ptr<const Format> format, TokenStreamerOptions options)
    : parser_(std::move(format), options.stream),
      channel_(std::move(options.channel)),
      choice_(options.stream.parser.choice),
      closes_channel_(options.closes_channel) {
  if (options.incomplete_calls == IncompleteCalls::withhold) whole_calls_.emplace();
}

std::span<const Delta> TokenStreamer::put(std::span<const TokenId> ids) {
  return parse_chunk(std::nullopt, ids);
}

std::span<const Delta> TokenStreamer::parse_chunk(std::optional<std::string_view> text,
                                                  std::optional<std::span<const TokenId>> ids,
                                                  std::optional<FinishReason> finish_reason) {
  if (ids) parser_.check_ids(*ids);
  events_.clear();
  if (text && ids) {
    parser_.put_text_and_ids(*text, *ids, events_);
  } else if (ids) {
    parser_.put_ids(*ids, events_);
  } else {
    parser_.put_text(text.value_or(""), events_);
  }
  if (finish_reason) parser_.finish(*finish_reason, events_);
  return deliver();
}

std::span<const Delta> TokenStreamer::end(FinishReason reason) {
  events_.clear();
  parser_.finish(reason, events_);
  return deliver();
}

void TokenStreamer::fail(std::exception_ptr error) {
  if (channel_) channel_->fail(std::move(error));
}

bool TokenStreamer::wants_more() const {
  return !parser_.is_stopped() && !(channel_ && channel_->is_closed());
}

std::span<const Delta> TokenStreamer::deliver() {
  deltas_.clear();
  for (const Event& event : events_.list()) {
    Delta delta = make_delta(event, events_, parser_, choice_);
    if (whole_calls_) {
      whole_calls_->put(std::move(delta), deltas_);
    } else {
      deltas_.push_back(std::move(delta));
    }
  }
  events_.clear();
  parser_.forget_told();
  if (!channel_) return deltas_;
  for (Delta& delta : deltas_) {
    const bool is_last = closes_channel_ && delta.kind == EventKind::finish;
    // A reader that has gone is no error: `wants_more` tells.
    if (is_last) {
      channel_->put_final(delta);
    } else {
      channel_->put(delta);
    }
  }
  return {};
}

}  // namespace unspool
