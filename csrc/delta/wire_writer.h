// Writes deltas as the bytes of one response, in the client's protocol.
//
// Every protocol's writer guarantees (docs/wire-shapes.md):
// - The order that the protocol requires: openers before deltas, one finish for each answer, usage
//   last, nothing after the end. A delta that would break it is rejected before a byte is written.
// - A call's arguments are the model's own. A call that was cut off or is malformed keeps the
//   prefix that was sent: it is neither completed nor withdrawn. Its arguments are then not valid
//   JSON. If all calls are such, or the output was cut off, the finish reason is not `tool_calls`;
//   responses has a status for it too. If none of its arguments arrived, `{` is sent, because some
//   clients treat empty arguments as `{}` and would run the call. A complete call without arguments
//   gets `{}`. `IncompleteCalls::withhold` writes nothing of an incomplete call: a call's deltas
//   wait until it is complete.
// - The finish reasons `error` and `cancelled`, which no protocol has, are sent as those of an
//   answer that was cut off (`length`, `max_tokens`, incomplete), so that clients do not treat it
//   as whole. A host that knows what failed calls `fail` instead of `end`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delta/chat_writer.h"
#include "delta/delta.h"
#include "delta/input_reader.h"
#include "delta/logprobs.h"
#include "delta/parts.h"
#include "delta/sse.h"
#include "delta/thought_signature.h"
#include "delta/whole_calls.h"
#include "delta/wire_json.h"
#include "text/archive.h"
#include "text/byte_buffer.h"

namespace unspool {

enum class WireProtocol : std::uint8_t {
  chat_completions,
  completions,
  responses,
  messages,
  open_inference,
  google
};

std::string_view to_string(WireProtocol protocol);

/// How `responses` sends reasoning: as a summary, which all clients show, or as the model's own
/// text, which LangChain and Vercel's AI SDK drop.
enum class ReasoningEvents : std::uint8_t { summary, text };

struct WireOptions {
  std::string model;
  std::string id = {};       // empty: a random id
  std::int64_t created = 0;  // Unix seconds; 0: now
  std::int32_t n = 1;        // number of answers; must be 1 for responses and messages
  bool stream = true;        // false: nothing is written before `body`
  bool sse = true;           // false: one JSON object per line; of google, an array of them
  bool include_usage = false;
  ReasoningField reasoning_field = ReasoningField::reasoning_content;
  ReasoningEvents reasoning_events = ReasoningEvents::summary;
  IncompleteCalls incomplete_calls = IncompleteCalls::forward;
  std::uint64_t prompt_token_count = 0;
  // Tools whose calls are sent with their text, and not with arguments; chat and responses only.
  std::vector<std::string> custom_tools = {};
  // The namespace of a tool and its name there, by the name that the model sees; responses only.
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> namespaces = {};
  bool stream_arguments = false;  // google only, which sends whole calls otherwise
  std::string extra = {};         // a JSON object: additional members of each chunk or response
};

struct WireError {
  std::string message;
  std::string type = {};  // empty: the protocol's type for a server error
  std::string code = {};
};

/// One response. Bytes are appended to the caller's buffer. There is no allocation per delta,
/// except if the protocol repeats whole texts at the end (responses, `body`), and for
/// log-probabilities.
class WireWriter {
 public:
  virtual ~WireWriter() = default;
  WireWriter& operator=(const WireWriter&) = delete;

  /// An independent copy with the same state and the same response id.
  virtual std::unique_ptr<WireWriter> clone() const = 0;

  /// Writes what precedes the first delta. `write` and `end` call it if necessary.
  void begin(std::string& out);

  /// Throws ArgumentError if a delta is out of order, StreamError after the end. The state is
  /// unchanged then.
  void write(const Delta& delta, std::string& out);

  /// Writes deltas that are ready together: consecutive ones in one region share a chunk.
  void write_many(std::span<const Delta* const> deltas, std::string& out);
  void write_many(std::span<const Delta> deltas, std::string& out);

  /// Writes a single fragment of text or arguments, the most common case. If it continues what was
  /// written last and the protocol has frames, writes the same as `write`; otherwise writes nothing
  /// and returns false.
  bool write_next(const TextFragment& fragment, std::string& out);

  /// The same where the frame has been found, and the fragment has its `line`.
  bool write_next(const TextFragment& fragment, ByteBuffer& out) {
    const std::string_view text = fragment.line;
    if (!last_.is_framed || text.empty() || !is_next(fragment)) return false;
    if (frame_.needs_clean && text.size() != fragment.text.size()) return false;
    Answer& answer = answers_[static_cast<std::size_t>(fragment.choice)];
    if (frame_.is_signed) answer.thought.add(fragment.text);
    const bool is_twice = !frame_.middle.empty();
    char* to = out.extend(frame_.head.size() + frame_.middle.size() + frame_.tail.size() +
                          (is_twice ? 2 : 1) * text.size());
    to = copy(frame_.head, to);
    to = copy_token(text, to);
    if (is_twice) to = copy_token(text, copy(frame_.middle, to));
    copy(frame_.tail, to);
    answer.token_count = fragment.token_end;
    return true;
  }

  /// Ends a stream whose answers have all finished. `stop_sequence`: the stop string that ended the
  /// text, if any; only messages sends it.
  void end(const Usage& usage, std::string_view stop_sequence, std::string& out);

  /// Writes the protocol's error, which ends the stream; no end mark follows.
  void fail(const WireError& error, std::string& out);

  /// Keep-alive bytes; may be sent between any two writes.
  void keep_alive(std::string& out) const;

  /// Writes the response in one piece if `stream` is false; call it instead of `end`.
  void body(const Usage& usage, std::string_view stop_sequence, std::string& out);

  /// Adds log-probabilities of the next positions of an answer's token ids; call it before the
  /// deltas whose spans contain them. Ignored if the protocol has none. Throws ArgumentError for
  /// NaN or values above 0; the state is unchanged then.
  void add_logprobs(std::int32_t choice, std::vector<TokenLogprob> entries);

  const WireOptions& options() const { return options_; }
  bool has_begun() const { return state_ != State::fresh; }
  bool has_ended() const { return state_ == State::ended; }
  /// Whether a call or the finish of this answer was written.
  bool has_answer(std::int32_t choice) const {
    const Order& order = orders_[static_cast<std::size_t>(choice)];
    return order.call_count > 0 || order.is_finished;
  }

  /// The state as bytes, between two writes; `restore_wire_writer` continues from it.
  std::string snapshot() const;

 protected:
  WireWriter(const WireWriter&) = default;
  /// `reserved`: members of the protocol that `extra` must not set.
  WireWriter(WireOptions options, std::string_view id_prefix,
             std::initializer_list<std::string_view> reserved);

  struct Ending {
    Usage usage;  // with both counts present
    std::string_view stop_sequence;
  };

  /// The state of the protocol's own writer.
  virtual void visit_own(Archive& archive) = 0;
  virtual void do_begin(std::string& out) = 0;
  /// Writes a delta; may leave a frame open for the next one.
  virtual void put(const Delta& delta, std::string& out) = 0;
  /// Whether fragments of one region differ in nothing but their text.
  virtual bool has_frames(EventKind) const { return true; }
  /// Closes the open frame.
  virtual void flush(std::string& out) = 0;
  virtual void do_end(const Ending& ending, std::string& out) = 0;
  /// `do_begin` may not have been called.
  virtual void do_fail(const WireError& error, std::string& out) = 0;
  /// The body of an error response, if `stream` is false.
  virtual void do_fail_whole(const WireError& error, std::string& out);
  virtual void do_body(const Ending& ending, std::string& out) = 0;
  /// Whether thoughts end with their signature.
  virtual bool signs_thoughts() const { return false; }
  /// Whether the protocol sends log-probabilities.
  virtual bool has_logprobs() const { return true; }
  /// Whether a body sends them with each part, and only those of text.
  virtual bool keeps_logprobs_by_part() const { return false; }
  virtual void do_keep_alive(std::string& out) const { framing_.comment(out); }
  virtual std::string_view default_error_type() const { return "server_error"; }

  /// `,"name":value` for each member of `extra`.
  const std::string& extra() const { return extra_; }
  bool has_extra(std::string_view name) const;
  const Framing& framing() const { return framing_; }
  FinishReason finish_reason(std::int32_t choice) const {
    return answers_[static_cast<std::size_t>(choice)].finish_reason;
  }
  /// Whether a call has ended otherwise than complete, also if it was withheld.
  bool has_broken_call(std::int32_t choice) const {
    return orders_[static_cast<std::size_t>(choice)].has_broken_call;
  }
  /// The answer's parts; the base fills them only if `stream` is false.
  const std::vector<Part>& parts(std::int32_t choice) const {
    return answers_[static_cast<std::size_t>(choice)].parts.list();
  }
  LogprobQueue& logprobs(std::int32_t choice) {
    return answers_[static_cast<std::size_t>(choice)].logprobs;
  }
  /// The signature of the thought so far, in a stream.
  ThoughtSignature& thought(std::int32_t choice) {
    return answers_[static_cast<std::size_t>(choice)].thought;
  }
  /// All log-probabilities of an answer, for a body.
  std::vector<TokenLogprob> take_logprobs(std::int32_t choice);

 private:
  friend std::unique_ptr<WireWriter> restore_wire_writer(std::string_view, WireProtocol,
                                                         WireOptions);
  void visit(Archive& archive);

  enum class State : std::uint8_t { fresh, begun, ended };

  /// The state of an answer's order check; small, because a batch is checked on a copy.
  struct Order {
    std::int32_t call_count = 0;
    bool call_is_open = false;
    bool is_finished = false;
    bool has_broken_call = false;

    void visit(Archive& archive) {
      archive(call_count, call_is_open, is_finished, has_broken_call);
    }
  };
  struct Answer {
    Parts parts{true};
    LogprobQueue logprobs;
    FinishReason finish_reason = FinishReason::stop;
    std::uint64_t token_count = 0;
    WholeCalls whole_calls;
    std::int32_t bare_call = -1;  // the open call, if none of its arguments have arrived
    bool call_is_custom = false;
    InputReader input;
    ThoughtSignature thought;

    void visit(Archive& archive) {
      archive(parts, logprobs, token_count, whole_calls, bare_call, call_is_custom, input, thought);
      archive.choice(finish_reason, FinishReason::cancelled);
    }
  };

  /// The last write, if it was a single fragment.
  struct LastFragment {
    bool is_one = false;
    EventKind kind = EventKind::content;
    std::int32_t index = -1;
    std::int32_t choice = 0;
    bool is_framed = false;  // `frame_` is of the next one
  };
  /// What is written around a fragment's text; around both, if the protocol has it twice.
  struct Frame {
    std::string head, middle, tail;
    bool needs_clean = false;  // it is not so for text that has to be escaped
    bool is_signed = false;
  };

  bool is_next(const TextFragment& fragment) const {
    return fragment.kind == last_.kind && fragment.index == last_.index &&
           fragment.choice == last_.choice;
  }
  static char* copy(std::string_view from, char* to) {
    std::memcpy(to, from.data(), from.size());
    return to + from.size();
  }
  // Most tokens are short: a copy of a known size has no call.
  static char* copy_token(std::string_view from, char* to) {
    static_assert(ByteBuffer::kRoom >= 16);
    if (from.size() > 16) return copy(from, to);
    std::memcpy(to, from.data(), 16);
    return to + from.size();
  }
  void find_frame();
  void read_extra(std::initializer_list<std::string_view> reserved);
  void check_open() const;
  static void check(const Delta& delta, std::vector<Order>& orders);
  void take(const Delta& delta, std::string& out);
  void take_whole(const Delta& delta, std::string& out);
  void take_checked(const Delta& delta, Answer& answer, std::string& out);
  void take_custom(const Delta& delta, Answer& answer, std::string& out);
  void take_shown(const Delta& delta, Answer& answer, std::string& out);
  Ending finish(const Usage& usage, std::string_view stop_sequence);
  template <typename Deltas>
  void write_all(const Deltas& deltas, std::string& out);

  WireOptions options_;
  Framing framing_;
  std::string extra_;
  std::vector<std::string> extra_names_;
  State state_ = State::fresh;
  std::vector<Order> orders_;
  std::vector<Order> next_orders_;  // of the batch being checked
  std::vector<Answer> answers_;
  std::vector<Delta> whole_;  // the deltas that pass the filter
  LastFragment last_;
  Frame frame_;
};

/// Throws ArgumentError if n is below 1, or above 1 for a protocol with one answer, or if `extra`
/// is not an object or sets a member of the protocol.
std::unique_ptr<WireWriter> make_wire_writer(WireProtocol protocol, WireOptions options);

/// Creates a writer that continues from `state`, with the same options; `id` and `created` may be
/// omitted. Throws ArgumentError if it is not the state of such a writer.
std::unique_ptr<WireWriter> restore_wire_writer(std::string_view state, WireProtocol protocol,
                                                WireOptions options);

}  // namespace unspool
