// From deltas straight to the bytes of one response, in the protocol that the client speaks.
//
// What every protocol's writer keeps, whatever the model wrote (docs/wire-shapes.md):
// - the order that the protocol demands: openers before deltas, one finish for each answer, usage
//   last, nothing after the end. A delta that would break it is refused before a byte is written.
// - a call's arguments are the model's own. A call that was cut off, or turned out malformed, keeps
//   the prefix that was sent: it is not completed and not withdrawn. Its arguments are then no
//   JSON, and where all calls are such, or the output was cut, the finish reason is not
//   `tool_calls`; responses has a status for it too. Where not a byte of them came, `{` is sent:
//   some clients take empty arguments for `{}` and would run the call. A complete call without any
//   gets `{}`. With `IncompleteCalls::withhold` nothing of such a call is written: its deltas wait
//   until it is complete.
// - finish reasons `error` and `cancelled`, for which no protocol has a word, are sent as a cut off
//   answer (`length`, `max_tokens`, incomplete), so that no one takes it for a whole one. A host
//   that can say what failed calls `fail` instead of `end`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/chat_writer.h"
#include "delta/delta.h"
#include "delta/logprobs.h"
#include "delta/parts.h"
#include "delta/sse.h"
#include "delta/whole_calls.h"
#include "delta/wire_json.h"
#include "text/archive.h"

namespace unspool {

enum class WireProtocol : std::uint8_t {
  chat_completions,
  completions,
  responses,
  messages,
  open_inference
};

std::string_view to_string(WireProtocol protocol);

/// How `responses` sends reasoning: as a summary, which all clients show, or as the model's own
/// text, which LangChain and Vercel's AI SDK lose.
enum class ReasoningEvents : std::uint8_t { summary, text };

struct WireOptions {
  std::string model;
  std::string id = {};       // empty: a random one
  std::int64_t created = 0;  // Unix seconds; 0: now
  std::int32_t n = 1;        // answers; responses and messages have one
  bool stream = true;        // false: nothing is written until `body`
  bool sse = true;           // false: a JSON object a line
  bool include_usage = false;
  ReasoningField reasoning_field = ReasoningField::reasoning_content;
  ReasoningEvents reasoning_events = ReasoningEvents::summary;
  IncompleteCalls incomplete_calls = IncompleteCalls::forward;
  std::uint64_t prompt_token_count = 0;
  std::string extra = {};  // a JSON object: more members of each chunk or response
};

struct WireError {
  std::string message;
  std::string type = {};  // empty: the protocol's word for a server's fault
  std::string code = {};
};

/// One response. Bytes are appended to a caller's buffer; nothing is allocated for a delta, except
/// where the protocol wants whole texts at the end (responses, `body`) and for log-probabilities.
class WireWriter {
 public:
  virtual ~WireWriter() = default;
  WireWriter& operator=(const WireWriter&) = delete;

  /// A copy that writes on by itself: a response of its own with the same id, from where this one
  /// stands.
  virtual std::unique_ptr<WireWriter> clone() const = 0;

  /// What comes before the first delta. `write` and `end` do it where it was not done.
  void begin(std::string& out);

  /// Throws ArgumentError for a delta that is out of order, StreamError after the end; nothing has
  /// changed then.
  void write(const Delta& delta, std::string& out);

  /// Deltas that are ready together: those that follow each other in one region share a chunk.
  void write_many(std::span<const Delta* const> deltas, std::string& out);
  void write_many(std::span<const Delta> deltas, std::string& out);

  /// A fragment of text or arguments that comes alone, as most do. Writes it as `write` does, if it
  /// goes on with what was written last and the protocol has a short way for that; else writes
  /// nothing and returns false.
  bool write_next(const TextFragment& fragment, std::string& out);

  /// The end of a stream; each answer has had its finish. `stop_sequence`: the stop string that
  /// ended the text, if one did; only messages sends it.
  void end(const Usage& usage, std::string_view stop_sequence, std::string& out);

  /// The protocol's error, which ends the stream; nothing follows, no end mark either.
  void fail(const WireError& error, std::string& out);

  /// What may be sent at any time between two writes, so that no one takes silence for death.
  void keep_alive(std::string& out) const;

  /// The response in one piece, where `stream` is false; instead of `end`.
  void body(const Usage& usage, std::string_view stop_sequence, std::string& out);

  /// Of the next positions of an answer's token ids; before the deltas whose spans hold them. Kept
  /// until these are written, ignored where the protocol sends none. Throws ArgumentError for NaN
  /// and above 0; nothing has changed then.
  void add_logprobs(std::int32_t choice, std::vector<TokenLogprob> entries);

  const WireOptions& options() const { return options_; }
  bool has_begun() const { return state_ != State::fresh; }
  bool has_ended() const { return state_ == State::ended; }
  /// Whether a call or the finish of this answer was written.
  bool has_answer(std::int32_t choice) const {
    const Order& order = orders_[static_cast<std::size_t>(choice)];
    return order.call_count > 0 || order.is_finished;
  }

  /// What it has written, as bytes: `restore_wire_writer` goes on from there. Between two writes.
  std::string snapshot() const;

 protected:
  WireWriter(const WireWriter&) = default;
  /// `reserved`: members of the protocol that `extra` may not set.
  WireWriter(WireOptions options, std::string_view id_prefix,
             std::initializer_list<std::string_view> reserved);

  struct Ending {
    Usage usage;  // whole: both counts are there
    std::string_view stop_sequence;
  };

  /// What a protocol's writer keeps from one write to the next.
  virtual void visit_own(Archive& archive) = 0;
  virtual void do_begin(std::string& out) = 0;
  /// Writes a delta, and may leave a frame open for the next one.
  virtual void put(const Delta& delta, std::string& out) = 0;
  /// A fragment of the kind, call and answer of the last delta, which is flushed.
  virtual bool put_next(const TextFragment&, std::string&) { return false; }
  /// Closes the open frame.
  virtual void flush(std::string& out) = 0;
  virtual void do_end(const Ending& ending, std::string& out) = 0;
  /// Called before `do_begin` too.
  virtual void do_fail(const WireError& error, std::string& out) = 0;
  /// The body of an error response, where `stream` is false.
  virtual void do_fail_whole(const WireError& error, std::string& out);
  virtual void do_body(const Ending& ending, std::string& out) = 0;
  /// Whether the protocol sends log-probabilities.
  virtual bool has_logprobs() const { return true; }
  /// Whether a body sends them with each part, and those of text alone.
  virtual bool keeps_logprobs_by_part() const { return false; }
  virtual void do_keep_alive(std::string& out) const { framing_.comment(out); }
  virtual std::string_view default_error_type() const { return "server_error"; }

  /// `,"name":value` of each member of `extra`.
  const std::string& extra() const { return extra_; }
  bool has_extra(std::string_view name) const;
  const Framing& framing() const { return framing_; }
  FinishReason finish_reason(std::int32_t choice) const {
    return answers_[static_cast<std::size_t>(choice)].finish_reason;
  }
  /// The answer's parts; filled by the base only where `stream` is false.
  const std::vector<Part>& parts(std::int32_t choice) const {
    return answers_[static_cast<std::size_t>(choice)].parts.list();
  }
  LogprobQueue& logprobs(std::int32_t choice) {
    return answers_[static_cast<std::size_t>(choice)].logprobs;
  }
  /// All of an answer's that have come, for a body.
  std::vector<TokenLogprob> take_logprobs(std::int32_t choice);

 private:
  friend std::unique_ptr<WireWriter> restore_wire_writer(std::string_view, WireProtocol,
                                                         WireOptions);
  void visit(Archive& archive);

  enum class State : std::uint8_t { fresh, begun, ended };

  /// Where an answer's deltas stand; small, since a batch is checked on a copy.
  struct Order {
    std::int32_t call_count = 0;
    bool call_is_open = false;
    bool is_finished = false;

    void visit(Archive& archive) { archive(call_count, call_is_open, is_finished); }
  };
  struct Answer {
    Parts parts{true};
    LogprobQueue logprobs;
    FinishReason finish_reason = FinishReason::stop;
    std::uint64_t token_count = 0;
    WholeCalls whole_calls;
    std::int32_t bare_call = -1;  // the open call, where no byte of its arguments has come

    void visit(Archive& archive) {
      archive(parts, logprobs, token_count, whole_calls, bare_call);
      archive.choice(finish_reason, FinishReason::cancelled);
    }
  };

  /// The last write, if it was one fragment.
  struct LastFragment {
    bool is_one = false;
    EventKind kind = EventKind::content;
    std::int32_t index = -1;
    std::int32_t choice = 0;
  };

  void read_extra(std::initializer_list<std::string_view> reserved);
  void check_open() const;
  static void check(const Delta& delta, std::vector<Order>& orders);
  void take(const Delta& delta, std::string& out);
  void take_whole(const Delta& delta, std::string& out);
  void take_checked(const Delta& delta, Answer& answer, std::string& out);
  Ending finish(const Usage& usage, std::string_view stop_sequence);
  template <typename Deltas>
  void write_all(const Deltas& deltas, std::string& out);

  WireOptions options_;
  Framing framing_;
  std::string extra_;
  std::vector<std::string> extra_names_;
  State state_ = State::fresh;
  std::vector<Order> orders_;
  std::vector<Order> next_orders_;  // of the batch that is being checked
  std::vector<Answer> answers_;
  std::vector<Delta> whole_;  // what a delta lets through
  LastFragment last_;
};

/// Throws ArgumentError: n below 1, or above it where the protocol has one answer; `extra` is no
/// object or sets what the protocol sets.
std::unique_ptr<WireWriter> make_wire_writer(WireProtocol protocol, WireOptions options);

/// A writer that goes on where the writer of `state` stood, made with the same options; `id` and
/// `created` may be left out. Throws ArgumentError: it holds no state of such a writer.
std::unique_ptr<WireWriter> restore_wire_writer(std::string_view state, WireProtocol protocol,
                                                WireOptions options);

}  // namespace unspool
