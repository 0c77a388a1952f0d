// Arguments as tagged text: <parameter=city>Paris</parameter>; the schema tells text from numbers.
//
// A value may itself hold the closing tag. A close counts only where the grammar goes on behind it:
// another parameter, or the end of the call. Until that is known the tag is held back. A closing
// tag that was forgotten: the opener of a parameter that the schema has, and that was not given
// yet, ends the value before it.
#pragma once

#include <set>
#include <string>

#include "body/body.h"
#include "body/json_scanner.h"
#include "body/tagged_value.h"

namespace unspool {

class XmlParameters final : public Body {
 public:
  /// `in_parameter`: the first parameter's opening marker has been read.
  XmlParameters(const XmlParametersSpec& spec, const CallMarkers& markers, const ToolSchema* schema,
                bool in_parameter);

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink&) override { return state_ == State::maybe_end && closed_section_; }
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override { return repairs_; }
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override;
  void add_held(Held& out) const override;

 private:
  enum class State : std::uint8_t {
    parameter,  // between parameters
    key,        // inside a parameter's name
    value,      // inside a value
    maybe_end,  // behind a closing tag that may be part of the value
    next_key,   // behind the opener of a parameter that may be part of the value
    json,       // inside a JSON object in place of the parameters
    done,
  };

  std::size_t read_some(std::string_view text);
  void act_on(const MarkerCursor::Found& found);
  bool read_key(std::string_view closer);
  void begin_value(std::string_view closer);
  void value_text(std::string_view text);
  void cut_off();
  void end_value();
  void end_value_before(std::string_view marker);
  void check_value();
  void on_opener_in_value(const MarkerCursor::Found& found);
  void read_next_key(const MarkerCursor::Found& found, std::string_view released);
  void take_tag_as_text(std::string_view behind);
  void end_maybe(const MarkerCursor::Found& found, const std::string& released);
  void key_text(std::string_view text);
  void enter(State state);
  void fail(const char* problem, std::string_view unread);
  bool has_failed() const { return *problem_ != '\0'; }
  BodyResult finish_put(std::size_t consumed, CallSink& sink);
  TypeSet types_of_key(std::string_view attributes) const;
  /// What stands before a value: the name, the attributes behind it, what follows its quote.
  struct Key {
    std::string_view name, attributes, behind;
  };
  Key split_key(std::string_view text) const;

  const XmlParametersSpec& spec_;
  const CallMarkers& markers_;
  const ToolSchema* schema_;
  State state_ = State::parameter;
  MarkerCursor cursor_;
  bool has_parameters_ = false;
  bool has_json_ = false;  // all arguments were one JSON object
  std::uint16_t repairs_ = 0;
  bool closed_section_ = false;  // the last marker was the section's closer
  TypeSet types_;
  TaggedValue value_;
  JsonScanner scanner_;  // of all arguments
  std::string key_;
  std::set<std::string, std::less<>> given_;  // parameters, where the schema knows them
  std::string tail_;          // a tag and what follows, while in maybe_end and next_key
  std::size_t tail_tag_ = 0;  // length of the tag in it
  std::string out_;           // what this call of put has written
  std::string_view closer_;
  std::string unread_;
  const char* problem_ = "";
};

}  // namespace unspool
