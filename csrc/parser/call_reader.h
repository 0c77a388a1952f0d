// Reads a call from its opener to its end: the name, the body, and the handling of calls that
// cannot be parsed.
//
// The path of a call, and what is kept of it on the way:
//
//   opening    after `<tool_call>`: which kind of call do the first letters show?
//   header     the name, if it stands before the body: `get_weather<arg_key>`
//   body       a Body reads the arguments; it may contain the name: `{"name": …}`
//   malformed  the rest of a call that cannot be read
//
//   core_.raw      opener, name and body until the call is announced; it is the text to emit if no
//                  call comes of it
//   name_          the name so far, if it is outside the body
//   pending_text_  text of an announced call that may not be the call's, such as half a closer
//
// A call is announced once its name is certain and known; a tag within a line or in reasoning also
// waits for what follows the name, for it may be quoted. From then on nothing can take it back,
// and its arguments stream. A fault before that makes the text content or malformed; a fault after
// it ends the call as malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "body/body.h"
#include "parser/call_body.h"
#include "parser/region_reader.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/letters.h"
#include "text/marker_set.h"

namespace unspool {

/// The state of a call's reader between letters; a copy of the parser copies all of it.
class CallReaderState {
 protected:
  /// How far the body's calls have come.
  enum class Begun : std::uint8_t {
    none,
    after_fault,  // none, but the list goes on after a faulty call
    name,         // a call is announced that may be a mention until its body comes
    call,
  };
  /// Text after the reasoning's closer.
  struct Answer {
    Letters text;
    CallBody copy;  // has read the text

    void visit(Archive& archive) {
      archive(text);
      archive.given(copy);  // made again from the body
    }
  };

  std::size_t opener_ = 0;        // index into Format::openers()
  std::size_t opener_bytes_ = 0;  // length of the opener in the raw text
  CallBody body_;
  std::uint8_t body_call_ = 0;  // the kind of call that the body reads
  Begun begun_ = Begun::none;
  std::uint16_t repairs_ = 0;  // of the markup around the body
  bool has_closer_ = false;    // calls of the kind that was read last have one
  bool malformed_is_empty_ = true;
  bool section_is_malformed_ = false;
  std::size_t closer_read_ = 0;  // how much of it the body ends with; all: the body has held it
  const char* problem_ = "";
  std::string name_;
  std::string pending_text_;  // read by the body, but possibly not the call's
  // A call that has cut the reasoning may be a rehearsal. Its closer is looked for in the call. If
  // it comes, what follows is held until a copy of the body has read whether the call ends; null:
  // the call did not end there, and nothing is held.
  std::variant<MarkerCursor, ClonedPtr<Answer>> reasoning_closer_;
};

class CallReader : RegionReader, CallSink, CallReaderState {
 public:
  CallReader(ParserCore& core, Dispatcher& parser) : RegionReader(core, parser) {
    seek_reasoning_closer();
  }
  /// A copy for a copy of the parser.
  CallReader(const CallReader& other, ParserCore& core, Dispatcher& parser)
      : RegionReader(core, parser), CallReaderState(other) {
    body_->link(core.marks());
    if (Answer* const held = answer()) held->copy.reset();  // made again from the body
  }

  // The beginnings of a call:
  void begin_at_opener(const MarkerCursor::Found& match);
  /// At the body's first letter.
  void begin_bare(std::uint8_t kind, bool has_closer);
  /// At the first letter of another object in the last call: another call of its tool.
  void begin_again();
  /// After a header that calls `tool`; if that is empty, the body has the name.
  void begin_headed(int kind, std::string_view tool);

  // Each reads some of the text and returns how many bytes.
  std::size_t read_opening(char byte);
  std::size_t read_name(std::string_view text);
  std::size_t read_body(std::string_view text);

  /// Whether a token after the opener is consumed: another opener, or a sign that it is a mention.
  bool read_token_after_opener(Symbol symbol, std::string_view literal);
  /// Whether a token in the body is consumed.
  bool read_token_in_body(Symbol symbol, std::string_view literal);
  void put_name(std::string_view text) { name_ += text; }
  void put_malformed(std::string_view text);
  /// How much of a text in a malformed call precedes what may be the list's next call.
  std::size_t before_next(std::string_view text) const;
  std::size_t read_next(char byte);
  /// What was held is no call.
  void give_up_next() {
    if (at_.state == State::malformed && !core_.raw.empty())
      put_malformed(std::exchange(core_.raw, {}));
  }
  /// Continues after the opener of a section without a call: up to its closer, or to a call, all is
  /// malformed.
  void begin_malformed_section(std::string_view opener);
  void on_name_end(const MarkerCursor::Found& match);
  void on_malformed_end(const MarkerCursor::Found& match);

  /// The output ends: decides how the last text of the body is read; false if that is certain.
  bool decide(FinishReason reason);
  /// What follows the reasoning's closer is the call's.
  void read_answer_in_call();
  /// Text has passed by the body.
  void pass_over() {
    if (MarkerCursor* const cursor = sought_closer()) cursor->restart();
  }
  /// Ends a call that waits for its closer. Text before the closer makes it malformed; without a
  /// closer, the call is complete, and the text is content.
  void settle_end(bool is_closed);
  /// Whether the call would be whole if the output ended here.
  bool is_whole() const;
  /// Ends the call at the end of the output.
  void finish(FinishReason reason);
  /// Discards the call when the parser goes back.
  void reset();
  /// Whether the body read so far may turn out to be content.
  bool may_be_content() const {
    return at_.state == State::body && !core_.calls.is_open() && core_.call().is_tentative();
  }
  /// Whether the text after an opener, where a name is expected, continues the text before it.
  bool reads_as_prose(bool stopped) const;
  /// Whether the kind of call that was read last has a closer.
  bool has_closer() const { return has_closer_; }
  /// Whether nothing but the name has come of the call.
  bool awaits_body() const { return begun_ == Begun::name; }
  /// The text after the opener.
  std::string_view after_opener() const {
    return std::string_view(core_.raw).substr(opener_bytes_);
  }
  std::size_t pending_bytes() const {
    return (may_pend() ? pending_text_.size() : core_.raw.size()) +
           (answer() != nullptr ? answer()->text.size() : 0);
  }
  Rest rest() const;
  void add_held(Held& out, bool as_text) const;

  void visit(Archive& archive);

 private:
  // CallSink
  bool begin_call(std::string_view name, std::string_view id) override;
  void put_arguments(std::string_view fragment) override {
    settle_body();
    core_.calls.put(fragment, core_.token_end, core_.events());
  }
  void end_call() override {
    settle_body();
    awaits_closer() ? core_.calls.end_later(repairs(), core_.token_end, core_.events())
                    : end_whole();
  }
  const ToolSchemas* tools() const override { return core_.tools(); }

  void end_whole() { core_.calls.end(repairs(), core_.token_end, core_.events()); }
  /// Whether text between the arguments and the call's closer is a fault of the call.
  bool awaits_closer() const {
    return has_closer_ && !core_.call().is_tentative() && !core_.options().ends_whole_calls;
  }
  void end_call(CallStatus status) {
    core_.calls.end(status, repairs(), core_.token_end, core_.events());
  }
  std::uint16_t repairs() const { return repairs_ | body_->repairs(); }
  bool may_pend() const { return at_.state == State::body && core_.calls.is_open(); }

  /// What follows the name is a call's body, so the opener was no mention.
  void settle_body() {
    if (!awaits_body()) [[likely]]
      return;
    begun_ = Begun::call;
    if (!core_.waits_for_more()) core_.settle_trial();
  }

  bool on_opener_again(const MarkerCursor::Found& match);
  void begin_chosen(int kind, std::size_t first_at);
  std::size_t name_stop(std::string_view text) const;
  bool may_end_at_brace(std::string_view text) const;
  void make_call_body(std::string_view name, bool in_parameter) {
    body_call_ = at_.call;
    begun_ = Begun::none;
    seek_reasoning_closer();
    closer_read_ = 0;
    build_body(name, in_parameter);
  }
  void build_body(std::string_view name, bool in_parameter);
  bool name_call(bool is_again = false, bool in_parameter = false);
  void on_name_cut(const MarkerCursor::Found& match);
  void on_body(const BodyResult& result, std::string_view text, std::int32_t ended_calls);
  void put_text(std::string_view text);
  void label_name(std::string_view name);
  std::size_t body_bytes() const;
  void look_for_closer(std::string_view text);
  bool holds_closer() const {
    const std::vector<std::string>& closers = core_.call().close.texts;
    return !closers.empty() && closer_read_ == closers.front().size();
  }
  bool has_called() const { return begun_ >= Begun::name; }
  /// The last call that has ended; a call with a higher index is open or begins from now on.
  std::int32_t last_ended_call() const {
    return core_.calls.index() - (core_.calls.is_open() ? 1 : 0);
  }
  void seek_reasoning_closer() {
    reasoning_closer_.emplace<MarkerCursor>().reset(&core_.markers().reasoning);
  }
  /// Null if the closer has come in this call.
  MarkerCursor* sought_closer() { return std::get_if<MarkerCursor>(&reasoning_closer_); }
  const MarkerCursor* sought_closer() const {
    return std::get_if<MarkerCursor>(&reasoning_closer_);
  }
  /// Null if nothing is held.
  Answer* answer() {
    auto* const held = std::get_if<ClonedPtr<Answer>>(&reasoning_closer_);
    return held != nullptr ? held->get() : nullptr;
  }
  const Answer* answer() const { return const_cast<CallReader*>(this)->answer(); }
  ClonedPtr<Answer> take_answer();
  bool may_hold_answer() const {
    return at_.reasoning_is_cut && sought_closer() != nullptr && !core_.trial.is_on() &&
           core_.calls.is_open();
  }
  MarkerCursor::Found find_reasoning_closer(const Letter& run);
  void hold_answer();
  bool hold(const Letter& run);
  BodyResult put_in_copy(const Letter& run);
  void read_answer();
  void end_at_reasoning_closer();
  void decide_body();
  void put_body_text(const BodyResult& result, std::string_view read, std::size_t unread);
  void end_body(const BodyResult& result);
  void on_failure(const char* problem, const Letters& unread);
  int next_bare() const;
  bool was_mention() const;
  void begin_next(std::size_t at);
  bool ends_name_at_tag(FinishReason reason);
  void finish_name();
  void finish_body(FinishReason reason);
  void finish_unannounced();
  void finish_malformed(FinishReason reason);
};

}  // namespace unspool
