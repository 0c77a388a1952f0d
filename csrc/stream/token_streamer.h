// The whole path of one answer: token ids or text in, deltas out, or into a channel. Python's
// Parser and TokenStreamer wrap it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "channel/delta_channel.h"
#include "delta/whole_calls.h"
#include "stream/chunk_parser.h"
#include "stream/rollback_window.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// The meaning of the first put of token ids.
enum class FirstPut : std::uint8_t {
  output,
  prompt,         // read and not emitted
  row_is_prompt,  // the prompt if it is a row of a batch, as passed by transformers' `generate`
};

struct TokenStreamerOptions {
  ChunkParserOptions stream;              // without a vocabulary the input is text only
  std::shared_ptr<DeltaChannel> channel;  // null: deltas are returned
  IncompleteCalls incomplete_calls = IncompleteCalls::forward;
  bool closes_channel = true;  // false: several answers share it, and its owner closes it
  FirstPut first_put = FirstPut::output;
  /// How many of the last token ids `rollback` can undo; 0 disables it.
  std::size_t rollback_window = 0;
};

/// Not thread-safe. Model output never throws; caller errors do.
class TokenStreamer {
 public:
  TokenStreamer(std::shared_ptr<const Format> format, TokenStreamerOptions options);

  /// Returns an independent copy. Its deltas go to `channel` or, if that is null, are returned.
  /// Deltas that this stream has not delivered stay here. `choice`: the index of the copy's answer,
  /// if it differs. Throws ArgumentError if this stream has a channel and the copy has none.
  TokenStreamer fork(std::shared_ptr<DeltaChannel> channel = nullptr,
                     std::optional<std::int32_t> choice = std::nullopt) const;

  /// The prompt, before any output: decides whether the answer starts inside reasoning. Not
  /// emitted.
  void put_prompt(std::span<const TokenId> ids) { parser_.put_prompt(ids); }
  void put_prompt(std::string_view text) { parser_.put_prompt(text); }

  /// Reads any number of token ids and returns the deltas that became certain, valid until the next
  /// call. With a channel it puts them there, returns nothing, and waits while the channel is full.
  /// Throws ArgumentError, before any change, for an id that the tokenizer rejects, and StreamError
  /// after the end.
  std::span<const Delta> put(std::span<const TokenId> ids);
  std::span<const Delta> put(TokenId id) { return put(std::span<const TokenId>(&id, 1)); }

  /// Undoes the last `count` ids: the next put continues after the ids before them. Deltas of a put
  /// that contained one of these ids no longer count. If that put also contained earlier ids,
  /// returns their deltas, valid until the next call. Throws ArgumentError if the window holds
  /// fewer ids, StreamError after the end.
  std::span<const Delta> rollback(std::size_t count);

  /// The same without returning deltas; they are those of the last read.
  void read_rollback(std::size_t count);

  /// Reads text, ids or both, as the host has them. Text may be split inside a character, and may
  /// arrive later than its ids: an empty text means that it has yet to arrive, nullopt that there
  /// is none. `finish_reason`: this chunk is the last one.
  std::span<const Delta> parse_chunk(std::optional<std::string_view> text,
                                     std::optional<std::span<const TokenId>> ids = std::nullopt,
                                     std::optional<FinishReason> finish_reason = std::nullopt);

  /// Ends the output; returns the last deltas. The very last one goes into the channel with its
  /// end.
  std::span<const Delta> end(FinishReason reason = FinishReason::stop);

  /// The model has failed: the channel's reader gets the error after the deltas before it.
  void fail(std::exception_ptr error);

  /// Whether more tokens are useful: no stop string has ended the text, and the reader is still
  /// there. Ask after each put, and call `end` once it is false.
  bool wants_more() const;

  // The same in steps, for hosts with their own way of waiting or their own deltas: `send` unsent
  // deltas, `read`, then `send` again, or `take` each delta and `release`.

  /// Reads a chunk like `parse_chunk`; its deltas stay here.
  void read(std::optional<std::string_view> text, std::optional<std::span<const TokenId>> ids,
            std::optional<FinishReason> finish_reason);

  /// Reads token ids like `put`. `is_row`: they are a row of a batch.
  void read_put(std::span<const TokenId> ids, bool is_row);

  /// The number of deltas of the last read. Each can be taken once.
  std::size_t delta_count() const { return makes_deltas_ ? deltas_.size() : events_.list().size(); }
  Delta take(std::size_t i) {
    Delta delta;
    take_into(i, delta);
    return delta;
  }
  /// Moves a delta into reused memory; `with_ids` false: its token ids are optional.
  void take_into(std::size_t i, Delta& delta, bool with_ids = true) {
    if (makes_deltas_) {
      std::swap(delta, deltas_[i]);
    } else {
      fill(delta, events_.list()[i], with_ids);
    }
  }

  /// The last read's only delta as a fragment, if nothing else is in it except token ids. Its text
  /// is valid until the next read.
  std::optional<TextFragment> only_fragment() const {
    if (makes_deltas_ || events_.list().size() != 1) return std::nullopt;
    const Event& event = events_.list().front();
    return TextFragment{event.kind,          event.index,      choice_,
                        events_.text(event), event.span.begin, event.span.end};
  }

  /// Whether plain ids (parser/rest.h) may be read by `put_plain`.
  bool passes_plain() const { return passes_plain_; }
  /// Whether `put_plain` reads this id, as `put` does. The events of the last read do not change.
  bool is_plain(TokenId id) const { return passes_plain_ && parser_.is_plain(id); }

  /// Reads a plain id; this fragment is its only delta. Its text is valid until the next put.
  UNSPOOL_INLINED TextFragment put_plain(TokenId id) {
    TextFragment fragment = parser_.put_plain(id);
    fragment.choice = choice_;
    return fragment;
  }

  /// Frees the memory of a long chunk; call after the last `take`.
  void release();

  /// Puts deltas into the channel. `timed_out`: the rest waits for the next `send`. `closed`,
  /// `cancelled`: the rest is dropped.
  DeltaChannel::Put send(const DeltaChannel::Deadline& deadline = std::nullopt);
  bool has_unsent() const { return channel_ && sent_count_ < deltas_.size(); }
  void drop_unsent();

  /// Whether the end was read but not sent: a call without input then only sends it.
  bool has_unsent_end() const { return has_unsent() && parser_.is_finished(); }

  FirstPut first_put() const { return first_put_; }
  /// Which of the request's answers this is.
  std::int32_t choice() const { return choice_; }

  /// The underlying parser, with the whole answer so far.
  const ChunkParser& stream() const { return parser_; }
  const Message& message() const { return parser_.message(); }
  /// The fate of every byte, if requested. Without a message: of the last chunk.
  const std::vector<Events::Audited>& audit() const { return audit_; }
  const std::shared_ptr<DeltaChannel>& channel() const { return channel_; }

  /// The state as bytes; `restore` on a stream with the same format and options continues from it.
  /// Throws StreamError if deltas wait to be sent, and ArgumentError for a stream with a
  /// `rollback_window`.
  std::string snapshot() const;

  /// Loads a state into a stream that has read nothing. Throws ArgumentError if the bytes are not a
  /// state of such a stream; this stream is unusable then. Bytes from an untrusted source may
  /// produce a stream whose deltas are meaningless and whose methods throw.
  void restore(std::string_view state);

 private:
  void visit(Archive& archive);
  void fill(Delta& delta, const Event& event, bool with_ids) const;
  Delta make_delta(const Event& event) const;
  void make_deltas();
  std::span<const Delta> deliver_plain(TokenId id);
  void keep_audit();
  std::span<const Delta> deliver();
  void keep_in_window(bool has_text, std::span<const TokenId> ids);
  Checkpoint checkpoint();
  void return_to(const Checkpoint& checkpoint);

  std::shared_ptr<DeltaChannel> channel_;
  std::int32_t choice_;
  FirstPut first_put_;
  bool closes_channel_;
  bool audits_;
  bool keeps_audit_;   // false: only of the last chunk
  bool makes_deltas_;  // false: they are created when taken
  bool passes_plain_;  // nothing wants more of a plain id than its fragment
  bool was_long_ = false;
  bool is_plain_delta_ = false;   // `deltas_` has the delta of a plain id
  std::uint32_t sent_count_ = 0;  // of `deltas_`
  ChunkParser parser_;
  ClonedPtr<WholeCalls> whole_calls_;  // null: calls are emitted as they arrive
  Events events_;                      // of the last read
  std::vector<Delta> deltas_;          // of the last read
  std::vector<Events::Audited> audit_;
  ClonedPtr<RollbackWindow> window_;  // null: no rollback
};

}  // namespace unspool
