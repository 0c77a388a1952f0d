// A call, from its opener to its end: the name, the body, and what becomes of one that cannot be
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "body/body.h"
#include "parser/region_reader.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// What a call's reader keeps from one letter to the next; a copy of the parser copies all of it.
class CallReaderState {
 protected:
  std::size_t opener_ = 0;        // index into Format::openers()
  std::size_t opener_bytes_ = 0;  // length of the opener in the raw text
  ClonedPtr<Body> body_;
  std::uint8_t body_call_ = 0;  // the kind of call that it reads
  std::uint16_t repairs_ = 0;   // of what stands around the body
  bool in_parameter_ = false;   // the marker that ended the name opened a parameter
  bool has_called_ = false;     // the body has begun a call
  bool is_announced_ = false;   // a call is open, or began while the body last read
  bool has_closer_ = false;
  bool malformed_is_empty_ = true;
  const char* problem_ = "";
  std::string name_;
  std::string pending_text_;  // read by the body, and not certain to be the call's
};

class CallReader : RegionReader, CallSink, CallReaderState {
 public:
  CallReader(ParserCore& core, Dispatcher& parser) : RegionReader(core, parser) {}
  /// A copy for a copy of the parser.
  CallReader(const CallReader& other, ParserCore& core, Dispatcher& parser)
      : RegionReader(core, parser), CallReaderState(other) {
    if (body_) body_->link(core.marks());
  }

  // How a call begins:
  void begin_at_opener(const MarkerCursor::Found& found);
  /// At the body's first letter.
  void begin_bare(std::uint8_t kind, bool has_closer);
  /// After a header that calls `tool`; without a name the body has it.
  void begin_headed(int kind, std::string_view tool);

  // Each reads some of the text: how many bytes.
  std::size_t read_opening(char byte);
  std::size_t read_name(std::string_view text);
  std::size_t read_body(std::string_view text);

  /// Whether a token after the opener is read: an opener again, or what shows that it is a mention.
  bool read_token_after_opener(Symbol symbol, std::string_view literal);
  /// Whether a token in the body is read.
  bool read_token_in_body(Symbol symbol, std::string_view literal);
  void put_name(std::string_view text) { name_ += text; }
  void put_malformed(std::string_view text);
  void on_name_end(const MarkerCursor::Found& found);
  void on_malformed_end(const MarkerCursor::Found& found);

  /// Ends the call, with the output.
  void finish(FinishReason reason);
  /// Forgets the call, for a parser that goes back. `keeps_body`: but for the body that it opened.
  void reset(bool keeps_body = false);
  void expect_ids() {
    if (at_.state == State::body) make_call_body({}, false);  // the turn has opened it
  }

  /// Whether the body read so far may turn out to be content.
  bool may_be_content() const {
    return at_.state == State::body && !core_.calls.is_open() && core_.call().is_tentative();
  }
  /// Whether what follows an opener where a name should stand is more of the text before it.
  bool reads_as_prose(bool stopped) const;
  /// What was read after the opener.
  std::string_view after_opener() const {
    return std::string_view(core_.raw).substr(opener_bytes_);
  }
  std::size_t pending_bytes() const { return may_pend() ? pending_text_.size() : core_.raw.size(); }
  void add_held(Held& out, bool as_text) const;

  void visit(Archive& archive);

 private:
  // CallSink
  bool begin_call(std::string_view name, std::string_view id) override;
  void put_arguments(std::string_view fragment) override {
    core_.calls.put(fragment, core_.token_end, core_.events());
  }
  void end_call() override { core_.calls.end(repairs(), core_.token_end, core_.events()); }
  const ToolSchemas* tools() const override { return core_.tools(); }

  void end_call(CallStatus status) {
    core_.calls.end(status, repairs(), core_.token_end, core_.events());
  }
  std::uint16_t repairs() const { return repairs_ | (body_ ? body_->repairs() : 0U); }
  bool may_pend() const { return at_.state == State::body && core_.calls.is_open(); }

  bool on_opener_again(const MarkerCursor::Found& found);
  void begin_chosen(int kind, std::size_t first_at);
  std::size_t name_stop(std::string_view text) const;
  void make_call_body(std::string_view name, bool in_parameter) {
    body_call_ = at_.call;
    has_called_ = false;
    build_body(name, in_parameter);
  }
  void build_body(std::string_view name, bool in_parameter);
  bool name_call();
  void on_name_cut(const MarkerCursor::Found& found);
  void on_body(const BodyResult& result, std::string_view text);
  void put_text(std::string_view text);
  void label_name(std::string_view name);
  std::size_t body_bytes() const;
  void put_body_text(const BodyResult& result, std::string_view read, std::size_t unread);
  void end_body(const BodyResult& result);
  void on_failure(const char* problem, const Letters& unread);
  bool was_mention() const;
  void finish_name();
  void finish_body(FinishReason reason);
  void finish_unannounced();
  void finish_malformed(FinishReason reason);
};

}  // namespace unspool
