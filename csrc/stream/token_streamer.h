// One answer's whole path for a host in C++: token ids or text in, deltas out, or into a channel.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "channel/delta_channel.h"
#include "delta/whole_calls.h"
#include "stream/chunk_parser.h"

namespace unspool {

struct TokenStreamerOptions {
  ChunkParserOptions stream;              // its vocabulary null: text only
  std::shared_ptr<DeltaChannel> channel;  // null: deltas are returned
  IncompleteCalls incomplete_calls = IncompleteCalls::forward;
  bool closes_channel = true;  // false: several answers share it, and their maker closes it
};

/// One thread at a time. Model output never throws; what a caller gets wrong does.
class TokenStreamer {
 public:
  TokenStreamer(std::shared_ptr<const Format> format, TokenStreamerOptions options);

  /// The prompt, before any output: whether the answer starts inside reasoning. Not emitted.
  void put_prompt(std::span<const TokenId> ids) { parser_.put_prompt(ids); }
  void put_prompt(std::string_view text) { parser_.put_prompt(text); }

  /// Token ids, any number. What became certain: the deltas, good until the next call; with a
  /// channel they are put there, and nothing is returned. Waits while the channel is full.
  /// Throws ArgumentError, before anything changes, for an id that the tokenizer would refuse, and
  /// StreamError after the end.
  std::span<const Delta> put(std::span<const TokenId> ids);
  std::span<const Delta> put(TokenId id) { return put(std::span<const TokenId>(&id, 1)); }

  /// Text, ids or both, as the host has them. Text may be cut inside a character, and lag behind
  /// its ids: an empty text says that it has yet to come, nullopt that there is none.
  /// `finish_reason`: this chunk is the last one.
  std::span<const Delta> parse_chunk(std::optional<std::string_view> text,
                                     std::optional<std::span<const TokenId>> ids = std::nullopt,
                                     std::optional<FinishReason> finish_reason = std::nullopt);

  /// No more output; the last deltas, the very last one together with the channel's end.
  std::span<const Delta> end(FinishReason reason = FinishReason::stop);

  /// The model has failed: the channel's reader gets the error behind what came before it.
  void fail(std::exception_ptr error);

  /// Whether there is a point in another token: no stop string has ended the text, and the reader
  /// has not gone. Ask after each put, and call `end` once it is false.
  bool wants_more() const;

  /// What is known of the stream, and the whole answer so far.
  const ChunkParser& stream() const { return parser_; }
  const Message& message() const { return parser_.message(); }
  const std::shared_ptr<DeltaChannel>& channel() const { return channel_; }

 private:
  std::span<const Delta> deliver();

  ChunkParser parser_;
  std::shared_ptr<DeltaChannel> channel_;
  std::int32_t choice_;
  bool closes_channel_;
  std::optional<WholeCalls> whole_calls_;
  Events events_;
  std::vector<Delta> deltas_;
};

/// An event of the last put as what travels; `choice`: which of the request's answers it is.
Delta make_delta(const Event& event, const Events& events, const ChunkParser& stream,
                 std::int32_t choice);

}  // namespace unspool
