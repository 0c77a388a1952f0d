// Arguments as tagged text: <parameter=city>Paris</parameter>; the schema decides between text and
// numbers.
//
// A value may contain the tags itself. A tag counts only if the grammar continues after it: another
// parameter, the end of the call, or text that may follow a call. Until then the tag is held back.
// A closing tag may be missing: the value then ends before another parameter's opener and name, or
// before the call's closer if another call or the end follows.
#pragma once

#include <string>

#include "body/json_in_string.h"
#include "body/quoted_text.h"
#include "body/slips.h"
#include "body/tag_body.h"
#include "body/tagged_value.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

class XmlParameters final : public TagBody {
 public:
  XmlParameters(const ParametersSlot& slot, const CallMarkers& markers, const BodyOptions& options);

  std::unique_ptr<Body> clone() const override { return std::make_unique<XmlParameters>(*this); }
  void link(CallMarks* marks) override;
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  bool is_undecided() const override { return state_ == State::quoted; }
  BodyResult decide(bool is_restart, CallSink& sink) override;
  std::uint8_t tries() const override { return tries_; }
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  BodyRest rest() const override;
  std::size_t undecided_bytes() const override;
  void add_held(Held& out) const override;

  void visit(Archive& archive) override;

 private:
  enum class State : std::uint8_t {
    parameter,  // between parameters
    key,        // inside a parameter's name
    json,       // inside a JSON object that replaces the parameters
    done,
    // From here on, in a value:
    value,      // inside its text
    after_tag,  // after a closing tag that may be part of it
    next_key,   // after the opener of a parameter that may be part of it
    key_end,    // after a tag that ends a name
    next_call,  // after the opener of a call
    call_name,  // after that and the call's name
    quoted,     // inside markup that the value may quote
  };
  /// The arguments in the output so far.
  enum class Written : std::uint8_t {
    nothing,
    json,     // one JSON object
    wrapper,  // nothing: the first value, in `aside_`, may be an object with all arguments
    members,  // parameters, without the last brace
    all,
  };
  /// What the held tag closes.
  enum class Closes : std::uint8_t { nothing, value, call };
  /// Whether the text read as a key so far can be a key.
  enum class KeyFit : std::uint8_t { fits, text_after, broken };
  /// The parts before a value: the name, the attributes after it, the text after its quote.
  struct Key {
    std::string_view name, attributes, after;
  };

  std::size_t read_some(const Letter& run) override;
  bool is_done() const override { return state_ == State::done; }
  std::size_t read_plain(std::string_view text);
  std::size_t read_plain_name(std::string_view text);
  void read_between(const MarkerCursor::Found& match);
  void read_key(const MarkerCursor::Found& match);
  void read_after_tag(const MarkerCursor::Found& match);
  void read_next_key(const MarkerCursor::Found& match);
  void read_next_line();
  void read_key_end(const MarkerCursor::Found& match);
  void read_next_call(const MarkerCursor::Found& match);
  void read_call_name(const MarkerCursor::Found& match);
  std::size_t read_value(const Letter& run);
  std::size_t read_quoted(const Letter& run);
  std::size_t read_json(std::string_view text);
  ScanResult read_encoded(std::string_view text);
  MarkerCursor::Found look(const Letter& run);

  void on_tag(const MarkerCursor::Found& match);
  void on_token(const MarkerCursor::Found& match);
  void on_quoted(const MarkerCursor::Found& match);
  void on_quoted_in_only_value(Role role, std::size_t at);
  void note(Role role, std::size_t at);
  /// The same, if it is certain that the markup is text.
  void note_text(Role role) {
    note(role, 0);
    quoted_.put_text();
  }
  bool may_be_quoted();
  /// Whether the value's text has opened what a closer of a value or of a call closes.
  bool closes_quoted() const {
    return quoted_.has_opened(QuotedText::Part::value) ||
           quoted_.has_opened(QuotedText::Part::call);
  }
  void end_quoted(std::size_t at);
  void give_up_quoted();
  void give_up(const char* problem);
  void hold_tag(const MarkerCursor::Found& match, State state);
  void fail_at(const char* problem);
  /// Whether the schema wants the value to be of another type than text.
  bool refuses_text() const { return forbids_text_ && !value_.takes_text(); }
  void take_as_text(const MarkerCursor::Found& match);
  std::size_t hold_space(std::string_view space);
  void on_opener_in_value(const MarkerCursor::Found& match);
  void on_call_in_value(const MarkerCursor::Found& match);
  void on_closer_in_value(const MarkerCursor::Found& match, Role role);
  void on_closer_of_only_value(const MarkerCursor::Found& match);
  void on_marker_between(const MarkerCursor::Found& match);
  void on_marker_after_tag(const MarkerCursor::Found& match);
  void on_wrapper_close();
  void on_call_closer_after_value(std::string_view closer);
  void on_section_closer_after_tag(std::string_view closer);
  void note_closer(std::string_view closer);
  void continue_after_value(Role role);
  void open_parameter();
  void read_only_value(const MarkerCursor::Found& match);
  void open_only_parameter(std::size_t behind);
  /// Whether the held tag may end the value: of one that contains a tag, only its own closer can.
  bool may_end_value() const {
    return state_ == State::after_tag && (closes_ == Closes::value || !holds_tag_);
  }
  bool ends_call() const {
    return may_end_value() && !has_failed() && (closes_ == Closes::call || closed_section_);
  }
  /// Whether it is inside a value that nothing can have ended.
  bool is_in_value() const { return state_ >= State::value && !may_end_value(); }
  void end_call_after_tag();
  void end_call(std::string_view closer);
  void end_without_closer();
  void take_tag_as_text();
  void take_opener_as_text();
  void miss_opener();

  KeyFit add_to_key(std::string_view text);
  std::string_view after_key_end(std::string_view text) const;
  bool is_broken_key() const;
  Key split_key(std::string_view text) const;
  void cut_attributes(Key& key) const;
  bool is_next_name() const;
  bool names_parameter() const;
  bool take_key();
  void begin_value(std::size_t behind = 0);
  void begin_parameter();
  void begin_value_without_opener();
  TypeSet types_of_key(std::string_view attributes) const;
  void value_text(std::string_view text);
  void put_mendable(std::string_view text);
  void put_value(std::string_view text);
  void release_slip();
  bool is_slip() const;
  bool may_be_slip() const;
  bool ends_with_slip() const;
  bool is_cut_in_closer() const;
  std::string& value_out();
  void end_value();
  bool finish_value();
  void check_value();
  void write_wrapper();
  void cut_off();

  void mark_value_end();
  void enter(State state);
  void fail(const char* problem);

  const ParametersSlot& slot_;
  State state_ = State::parameter;
  Written written_ = Written::nothing;
  ValueReader reader_;  // of all arguments
  ClonedPtr<ValueMarks> members_;

  std::string key_;
  std::size_t key_end_ = 0;  // where the end of the name begins in it; npos: not yet
  TypeSet types_;
  TaggedValue value_;
  bool holds_tag_ = false;     // a tag in the value was text
  bool holds_closer_ = false;  // and one of them a closing tag
  bool is_unopened_ = false;   // the value's opener was missing
  bool has_text_ = false;      // besides white space
  bool forbids_text_ = false;  // the schema wants another type
  bool is_wrapped_ = false;    // an element is open around the parameters
  TextEnd end_;                // of the value
  std::string slip_;  // if repairs are on: its closing tag without a letter, or the beginning
  ClonedPtr<JsonInString> inner_;  // of JSON in a string; null: it is in none

  // Text that may have to be read again: everything since the last tag that counted. In `after_tag`
  // and `next_key` it begins with a tag that may belong to the value.
  Letters tail_;
  std::size_t tail_tag_ = 0;    // length of its first tag
  std::size_t tail_end_ = 0;    // where the call ends in it
  std::size_t tail_count_ = 0;  // white space and further markers in it
  Closes closes_ = Closes::nothing;
  Role tag_role_ = Role::ignore;  // of the first tag
  bool tag_is_token_ = false;     // the same
  bool is_amid_line_ = false;     // the same
  bool is_mention_ = false;       // the same
  bool is_closed_twice_ = false;  // the value's closer is repeated
  QuotedText quoted_;             // in the value's text; in `quoted`, in `tail_` too
  bool is_damaged_ = false;       // the value is not read as one that quotes
  std::size_t max_held_;          // bytes of a quote
  std::uint8_t tries_;            // how often the same text may still be read again
  std::string released_;
  Letters held_;           // in a value, what the cursor holds or has found
  bool is_token_ = false;  // the marker that was found is a token
};

}  // namespace unspool
