// One answer's whole path: token ids or text in, deltas out, or into a channel. Python's Parser and
// TokenStreamer wrap it.
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

/// What the first put of token ids is.
enum class FirstPut : std::uint8_t {
  output,
  prompt,         // read and not emitted
  row_is_prompt,  // the prompt if it is a row of a batch, as transformers' `generate` passes it
};

struct TokenStreamerOptions {
  ChunkParserOptions stream;              // its vocabulary null: text only
  std::shared_ptr<DeltaChannel> channel;  // null: deltas are returned
  IncompleteCalls incomplete_calls = IncompleteCalls::forward;
  bool closes_channel = true;  // false: several answers share it, and their maker closes it
  FirstPut first_put = FirstPut::output;
  /// How many of the last token ids `rollback` may take back; 0: it takes none.
  std::size_t rollback_window = 0;
};

/// One thread at a time. Model output never throws; what a caller gets wrong does.
class TokenStreamer {
 public:
  TokenStreamer(std::shared_ptr<const Format> format, TokenStreamerOptions options);

  /// A copy that reads on by itself, from where this one stands. Its deltas go into `channel`, or
  /// are returned if that is null. What this one has read and not delivered stays here. `choice`:
  /// the answer that it is, if that is another one. Throws ArgumentError where this one has
  /// a channel and the copy has none.
  TokenStreamer fork(std::shared_ptr<DeltaChannel> channel = nullptr,
                     std::optional<std::int32_t> choice = std::nullopt) const;

  /// The prompt, before any output: whether the answer starts inside reasoning. Not emitted.
  void put_prompt(std::span<const TokenId> ids) { parser_.put_prompt(ids); }
  void put_prompt(std::string_view text) { parser_.put_prompt(text); }

  /// Token ids, any number. What became certain: the deltas, good until the next call; with a
  /// channel they are put there, and nothing is returned. Waits while the channel is full.
  /// Throws ArgumentError, before anything changes, for an id that the tokenizer would refuse, and
  /// StreamError after the end.
  std::span<const Delta> put(std::span<const TokenId> ids);
  std::span<const Delta> put(TokenId id) { return put(std::span<const TokenId>(&id, 1)); }

  /// Takes back the last `count` ids: what is put next follows the ids before them. Deltas of
  /// a put that had one of these ids do not count any more. If that put had earlier ids too,
  /// returns their deltas; the deltas are good until the next call. Throws ArgumentError if the
  /// window does not hold so many ids, StreamError after the end.
  std::span<const Delta> rollback(std::size_t count);

  /// The same without the deltas, which are then those of the last read.
  void read_rollback(std::size_t count);

  /// Text, ids or both, as the host has them. Text may be cut inside a character, and come later
  /// than its ids: an empty text says that it has yet to come, nullopt that there is none.
  /// `finish_reason`: this chunk is the last one.
  std::span<const Delta> parse_chunk(std::optional<std::string_view> text,
                                     std::optional<std::span<const TokenId>> ids = std::nullopt,
                                     std::optional<FinishReason> finish_reason = std::nullopt);

  /// No more output; the last deltas, the very last one together with the channel's end.
  std::span<const Delta> end(FinishReason reason = FinishReason::stop);

  /// The model has failed: the channel's reader gets the error after what came before it.
  void fail(std::exception_ptr error);

  /// Whether there is a point in another token: no stop string has ended the text, and the reader
  /// has not gone. Ask after each put, and call `end` once it is false.
  bool wants_more() const;

  // The same in steps, for a host that waits in its own way or has its own kind of delta: `send`
  // what is unsent, `read`, then `send` again, or `take` each delta and `release`.

  /// Reads a chunk as `parse_chunk` does; its deltas stay here.
  void read(std::optional<std::string_view> text, std::optional<std::span<const TokenId>> ids,
            std::optional<FinishReason> finish_reason);

  /// Reads token ids as `put` does. `is_row`: they are a row of a batch.
  void read_put(std::span<const TokenId> ids, bool is_row);

  /// The deltas of the last read. Each may be taken once.
  std::size_t delta_count() const { return makes_deltas_ ? deltas_.size() : events_.list().size(); }
  Delta take(std::size_t i) {
    Delta delta;
    take_into(i, delta);
    return delta;
  }
  /// The same into a delta whose memory is used again; `with_ids` false: maybe without its token
  /// ids.
  void take_into(std::size_t i, Delta& delta, bool with_ids = true) {
    if (makes_deltas_) {
      std::swap(delta, deltas_[i]);
    } else {
      fill(delta, events_.list()[i], with_ids);
    }
  }

  /// The last read's one delta as a fragment, if it may be taken as that: nothing else is in it,
  /// but its token ids. Its text is good until the next read.
  std::optional<TextFragment> only_fragment() const {
    if (makes_deltas_ || events_.list().size() != 1) return std::nullopt;
    const Event& event = events_.list().front();
    return TextFragment{event.kind, event.index, choice_, events_.text(event), event.span.end};
  }

  /// Returns the memory of a long chunk; after the last `take`.
  void release();

  /// Puts deltas into the channel. `timed_out`: the rest waits for the next `send`. `closed`,
  /// `cancelled`: no one waits for it, and it is dropped.
  DeltaChannel::Put send(const DeltaChannel::Deadline& deadline = std::nullopt);
  bool has_unsent() const { return channel_ && sent_count_ < deltas_.size(); }
  void drop_unsent();

  /// Whether the end has been read, but not sent: a call without input then only sends it.
  bool has_unsent_end() const { return has_unsent() && parser_.is_finished(); }

  FirstPut first_put() const { return first_put_; }
  /// Which of the request's answers this is.
  std::int32_t choice() const { return choice_; }

  /// What is known of the stream, and the whole answer so far.
  const ChunkParser& stream() const { return parser_; }
  const Message& message() const { return parser_.message(); }
  /// The fate of every byte, if the options ask for it. Without a message: of the last chunk.
  const std::vector<Events::Audited>& audit() const { return audit_; }
  const std::shared_ptr<DeltaChannel>& channel() const { return channel_; }

  /// What it has read, as bytes: `restore` of a stream that was made with the same format and
  /// options goes on from there. Throws StreamError where deltas wait to be sent, and
  /// ArgumentError for a stream with a `rollback_window`.
  std::string snapshot() const;

  /// Takes the place of a stream that has read nothing. Throws ArgumentError if the bytes hold no
  /// state of such a stream; this one is of no use then. The bytes of a stranger may make a stream
  /// whose deltas mean nothing, and whose methods throw.
  void restore(std::string_view state);

 private:
  void visit(Archive& archive);
  void fill(Delta& delta, const Event& event, bool with_ids) const;
  Delta make_delta(const Event& event) const;
  void make_deltas();
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
  bool keeps_audit_;   // false: only the last chunk's
  bool makes_deltas_;  // false: they are made as they are taken
  ChunkParser parser_;
  bool was_long_ = false;
  ClonedPtr<WholeCalls> whole_calls_;  // null: calls are sent as they come
  Events events_;                      // of the last read
  std::vector<Delta> deltas_;          // of the last read
  std::size_t sent_count_ = 0;
  std::vector<Events::Audited> audit_;
  ClonedPtr<RollbackWindow> window_;  // null: nothing is taken back
};

}  // namespace unspool
