// The whole answer, accumulated from the events of a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parser/events.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
  CallStatus status = CallStatus::incomplete;
  std::uint16_t repairs = 0;               // bits of Repair
  ClonedPtr<std::string> written_as = {};  // the other family whose call it is; null: the own one

  void visit(Archive& archive) {
    archive(id, name, arguments, repairs, written_as);
    archive.choice(status, CallStatus::malformed);
  }
};

/// Raw text that looked like a call but is not one.
struct Malformed {
  std::int32_t index = -1;  // of the broken call; -1: it was never announced
  std::string text;
  std::string reason;

  void visit(Archive& archive) { archive(index, text, reason); }
};

struct Message {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
  std::vector<Malformed> malformed;
  std::vector<Malformed> dropped;  // calls that were not emitted
  FinishReason finish_reason = FinishReason::stop;
  bool is_finished = false;

  void visit(Archive& archive) {
    archive(content, reasoning, tool_calls, malformed, dropped, is_finished);
    archive.choice(finish_reason, FinishReason::cancelled);
  }
};

class MessageBuilder {
 public:
  /// `keeps_text` false: keeps only statuses and the finish reason, so that memory stays flat.
  explicit MessageBuilder(bool keeps_text = true) : keeps_text_(keeps_text) {}

  /// Adds what is new in `events` since the last call.
  void add(Events& events);
  /// Adds a text that continues the last one of this kind.
  void add(EventKind kind, std::string_view text) {
    last_ = kind;
    if (keeps_text_) text_of(kind) += text;
  }
  const Message& message() const { return message_; }
  /// A position in the message, which only grows.
  struct Mark {
    std::size_t content = 0, reasoning = 0;             // sizes
    std::size_t calls = 0, malformed = 0, dropped = 0;  // counts
    std::size_t arguments = 0;                          // size, of the last call
    std::size_t malformed_text = 0, dropped_text = 0;   // sizes, of the last ones
    CallStatus status = CallStatus::incomplete;         // of the last call
    std::uint16_t repairs = 0;
    EventKind last = EventKind::content;

    void visit(Archive& archive) {
      archive(content, reasoning, calls, malformed, dropped, arguments, malformed_text,
              dropped_text);
      archive.choice(status, CallStatus::malformed);
      archive(repairs);
      archive.choice(last, EventKind::call_text);
    }
  };
  Mark mark() const;
  /// Removes everything after the mark, except the finish.
  void go_back(const Mark& mark);

  /// Moves the message out; no events may follow.
  Message take_message() { return std::move(message_); }

  void visit(Archive& archive) {
    archive.given(keeps_text_);
    archive(message_);
    archive.choice(last_, EventKind::call_text);
    archive.expect(last_ != EventKind::malformed || !message_.malformed.empty());
    archive.expect(last_ != EventKind::dropped || !message_.dropped.empty());
  }

 private:
  void add(const Event& event, std::string_view text, const Events& events);
  ToolCall& last_call();
  std::string& text_of(EventKind kind) {
    if (kind == EventKind::content) return message_.content;
    return kind == EventKind::reasoning ? message_.reasoning : last_call().arguments;
  }
  void add_malformed(const Event& event, std::string_view text, bool goes_on);

  Message message_;
  bool keeps_text_;
  EventKind last_ = EventKind::content;  // consecutive fragments of one kind may be one text
};

}  // namespace unspool
