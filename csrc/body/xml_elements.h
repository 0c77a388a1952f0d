// Arguments as elements: <city>Paris</city>. A value may consist of elements again.
//
// A value that is a string in the schema is written as it arrives. Any other value waits for its
// end, because only then is it known whether it is text, an object or a list. A parameter's closing
// tag may be missing: the call's closer ends the value if another call or the end follows.
//
// A string may quote elements, such as a whole call: a closing tag whose opening tag is in the
// string is text.
//
// Where a tag opens with one letter, `<`, text has that letter too (xml_elements_text.cpp): `a <
// b`.
#pragma once

#include <string>
#include <vector>

#include "body/tag_body.h"
#include "text/archive.h"

namespace unspool {

/// An element of a value that waits for its end.
struct XmlElement {
  std::string name;
  std::string text;
  std::vector<XmlElement> children;
  std::size_t begin = 0;     // where the text after its tag begins in the value's source
  bool may_be_text = false;  // its tag is text if nothing closes it

  void visit(Archive& archive) { archive(name, text, children, begin, may_be_text); }
};

class XmlElements final : public TagBody {
 public:
  XmlElements(const CallRegion& call, const CallMarkers& markers, const BodyOptions& options);

  std::unique_ptr<Body> clone() const override { return std::make_unique<XmlElements>(*this); }
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::size_t undecided_bytes() const override;
  void add_held(Held& out) const override;

  void visit(Archive& archive) override;

 private:
  enum class State : std::uint8_t { text, tag, done };
  /// The part of a tag in a value that was read last.
  enum class TagPart : std::uint8_t { opener, name, after_name };

  static constexpr std::size_t kMaxDepth = 128;

  std::size_t read_some(const Letter& run) override;
  bool is_done() const override { return state_ == State::done; }
  std::size_t read_run(const Letter& run);
  std::size_t read_tag_in_value(std::string_view text);
  bool goes_on_as_tag(char byte);
  bool begins_own_markup(const std::string& text) const;
  bool is_own_markup() const;
  void take_opener_as_text();
  bool take_closer_of_outer(std::string_view name);
  bool may_be_text() const;
  void on_tag();
  void read_tag();
  void on_tag_after_closer();
  void read_text(std::string_view text);
  void put_value(std::string_view text);
  void take_tag_as_text();
  void take_closer_as_text();
  void quote_opener(const std::string& name);
  bool closes_quoted() const;
  std::string tag_name() const;
  void open_element(const std::string& name);
  void close_element(std::string_view name);
  void close_innermost();
  void end_value();
  void end_call();
  bool opens_call() const;
  bool is_closer_of(const MarkerTexts& marker) const;
  void begin_parameter(const std::string& name);
  void write_open(std::size_t depth, const ValueSchema* schema);
  std::string& value_out() { return is_doubled_ ? aside_ : out_; }
  void fail(const char* problem, const Letters& unread);
  const ValueSchema* schema_of(const std::string& parameter) const {
    return schema_ == nullptr ? nullptr : schema_->find(parameter);
  }

  const CallRegion& call_;
  const MarkerTexts* section_close_;
  bool is_weak_;  // one letter opens a tag, so that letter may be text
  State state_ = State::text;
  Letters held_;            // what the cursor holds
  Letters tag_;             // the last tag
  std::size_t opener_ = 0;  // length of its opener
  TagPart tag_part_ = TagPart::opener;
  std::string raw_;                  // the source of a value that waits for its end
  std::vector<XmlElement> open_;     // the open elements, outermost first
  bool is_string_ = false;           // the open parameter is written as it arrives
  Letters maybe_closer_;             // the call's closer inside a value, and white space after it
  std::size_t closer_size_ = 0;      // of the closer in maybe_closer_
  bool holds_tag_ = false;           // the value contains a tag that is text
  std::vector<std::string> quoted_;  // the names of the tags that a string has opened
  std::string closed_;               // the last parameter that was closed
};

}  // namespace unspool
