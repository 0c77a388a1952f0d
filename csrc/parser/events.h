// The events of one put in one buffer, without an allocation per event once it has grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/event.h"
#include "text/archive.h"
#include "vocabulary/token_id.h"

namespace unspool {

/// The fate of a part of the output; audit mode reports it for every byte.
enum class Fate : std::uint8_t { content, reasoning, tool_call, marker, whitespace, malformed };

std::string_view to_string(Fate fate);

/// The role of a part of the output within its fate, if labels are on.
enum class LabelPart : std::uint8_t {
  none,
  name,       // of a call
  arguments,  // of a call
  end,        // a marker that ends the answer
  left_out,   // not part of the message
};

/// The reason of content that a header announced, if the parser marks it.
inline constexpr const char* kHeaded = "a header announced the text";

/// The reason of malformed text that is a marker, or a header: no part of the content either.
inline constexpr const char* kStray = "the marker belongs to nothing";

/// The label of a byte of the output.
struct ByteLabel {
  Fate fate = Fate::content;
  bool of_reasoning = false;  // markup of the reasoning, or white space that belongs to it
  bool in_content = false;    // of another fate, and part of the content all the same
  bool is_aside = false;      // malformed, and not beside the content: a call's, or a marker
  LabelPart part = LabelPart::none;
  std::int32_t call = -1;  // the call that it belongs to; -1: none, or labels are off
  std::int32_t path = 0;   // of arguments: an index into CallPaths

  bool operator==(const ByteLabel&) const = default;

  void visit(Archive& archive) {
    archive.choice(fate, Fate::malformed);
    archive.choice(part, LabelPart::left_out);
    archive(of_reasoning, in_content, is_aside, call);
    archive.index(path, archive.path_end);
    archive.expect(path >= 0 && call >= -1);
  }
};

struct Event {
  EventKind kind = EventKind::content;
  CallStatus status = CallStatus::complete;         // of tool_call_end
  std::uint16_t repairs = 0;                        // of tool_call_end: bits of Repair
  FinishReason finish_reason = FinishReason::stop;  // of finish
  std::int32_t index = -1;                          // the call's index, or -1
  std::uint32_t text_begin = 0, text_end = 0;       // into Events::text; of a begin: `written_as`
  std::uint32_t name_begin = 0, name_end = 0;
  std::uint32_t id_begin = 0, id_end = 0;
  const char* reason = "";  // of malformed and dropped
  TokenSpan span;

  void visit(Archive& archive);
};

// The texts of all events stand one after the other in one string, and an event has its place
// there. `clear` keeps the memory, so a stream in steady state allocates nothing per token.
class Events {
 public:
  struct Audited : ByteLabel {
    std::string text;

    void visit(Archive& archive) {
      ByteLabel::visit(archive);
      archive(text);
    }
  };

  /// Appends text to the last event if it has the same kind and call; otherwise adds an event.
  void add_text(EventKind kind, std::int32_t index, std::string_view text, std::uint64_t token_end,
                const char* reason = "");
  /// `written_as`: the other family whose call it is.
  void add_begin(std::int32_t index, std::string_view name, std::string_view id,
                 std::uint64_t token_end, std::string_view written_as = {});
  void add_end(std::int32_t index, CallStatus status, std::uint64_t token_end,
               std::uint16_t repairs = 0);
  /// Appends another buffer; each event keeps the token at which it ends.
  void append(const Events& other);
  void add_finish(FinishReason reason, std::uint64_t token_end);
  /// Copies an event of `from`; its text may join the last event, as in `add_text`.
  void add(const Event& event, const Events& from);
  void add_audit(const ByteLabel& label, std::string_view text);

  /// Calls `use(event, text)` for what is new since the last call: new events, and text appended to
  /// an event.
  template <typename Use>
  void for_each_new(Use&& use) {
    // From the last event that was seen: its text may have grown since.
    for (std::size_t i = seen_events_ == 0 ? 0 : seen_events_ - 1; i < list_.size(); ++i) {
      const Event& event = list_[i];
      const bool is_seen = i < seen_events_;
      if (is_seen && event.text_end <= seen_text_) continue;
      use(event, slice(is_seen ? seen_text_ : event.text_begin, event.text_end));
    }
    seen_events_ = list_.size();
    seen_text_ = static_cast<std::uint32_t>(buffer_.size());
  }

  /// The same for the audit: `use(label, size)` for `size` more bytes.
  template <typename Use>
  void for_each_new_fate(Use&& use) {
    for (std::size_t i = seen_fates_ == 0 ? 0 : seen_fates_ - 1; i < audit_.size(); ++i) {
      const std::size_t reported = i < seen_fates_ ? seen_fate_bytes_ : 0;
      const std::size_t size = audit_[i].text.size();
      if (size > reported) use(static_cast<const ByteLabel&>(audit_[i]), size - reported);
    }
    seen_fates_ = audit_.size();
    seen_fate_bytes_ = audit_.empty() ? 0 : audit_.back().text.size();
  }

  /// Removes the events; keeps the position in the tokens, and enough memory for a usual put.
  void clear();

  /// Removes the events and the position, for another stream.
  void restart();

  /// Tokens have events that are not here.
  void pass_over(std::uint64_t token_end) { token_place_ = token_end; }

  const std::vector<Event>& list() const { return list_; }
  const std::vector<Audited>& audit() const { return audit_; }
  bool is_empty() const { return list_.empty(); }
  std::string_view text(const Event& event) const {
    return slice(event.text_begin, event.text_end);
  }
  std::string_view name(const Event& event) const {
    return slice(event.name_begin, event.name_end);
  }
  std::string_view id(const Event& event) const { return slice(event.id_begin, event.id_end); }

  void visit(Archive& archive);
  /// The state of an empty buffer.
  void visit_place(Archive& archive) { archive(token_place_); }

 private:
  std::string_view slice(std::uint32_t begin, std::uint32_t end) const {
    return std::string_view(buffer_).substr(begin, end - begin);
  }
  Event& add(EventKind kind, std::int32_t index, std::uint64_t token_end);
  void extend(Event& event, std::uint64_t token_end);
  std::pair<std::uint32_t, std::uint32_t> store(std::string_view text);

  std::string buffer_;
  std::vector<Event> list_;
  std::vector<Audited> audit_;
  std::size_t seen_events_ = 0;
  std::size_t seen_fates_ = 0;
  std::size_t seen_fate_bytes_ = 0;  // of the last one
  std::uint32_t seen_text_ = 0;
  std::uint64_t token_place_ = 0;  // tokens before this one belong to an earlier event
};

/// Appends an audit in its reported form, without the label details of each fate.
void append_audit(const std::vector<Events::Audited>& audit, std::vector<Events::Audited>& to);

}  // namespace unspool
