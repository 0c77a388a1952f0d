// Arguments as elements: <city>Paris</city>, where a value may be elements again.
//
// A value that the schema calls a string is written as it arrives. Any other value waits for its
// end: only then is it known whether it is text, an object or a list. A parameter's closing tag may
// be missing: the call's own ends the value where another call or the end follows.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "body/body.h"
#include "text/letters.h"

namespace unspool {

class XmlElements final : public Body {
 public:
  XmlElements(const CallSpec& call, const CallMarkers& markers, const BodyOptions& options);

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink&) override { return !behind_.is_empty() && !holds_tag_; }
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override { return repairs_; }
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override;
  void add_held(Held& out) const override;

 private:
  /// An element of a value that waits for its end.
  struct Node {
    std::string name;
    std::string text;
    std::vector<Node> children;
  };
  enum class State : std::uint8_t { text, tag, done };

  static constexpr std::size_t kMaxDepth = 128;

  std::size_t read_some(std::string_view text);
  void after_text(const Letter& letter, const MarkerCursor::Found& found);
  void on_tag();
  void on_tag_behind();
  void read_text(std::string_view text);
  void tag_text();
  void take_closer_as_text();
  void open_element(const std::string& name);
  void close_element(std::string_view name);
  void end_value();
  void end_call();
  bool opens_call() const;
  bool is_closer_of(const MarkerSpec& spec) const;
  void begin_parameter(const std::string& name);
  void write_open(std::size_t depth, const ValueSchema* schema);
  std::string& value_out() { return is_doubled_ ? aside_ : out_; }
  void fail(const char* problem, const Letters& unread);
  bool has_failed() const { return *problem_ != '\0'; }
  BodyResult finish_put(std::size_t consumed, CallSink& sink);

  const CallSpec& call_;
  const CallMarkers& markers_;
  const ToolSchema* schema_;
  const MarkerSpec* section_close_;
  bool mends_;
  MarkerCursor cursor_;
  State state_ = State::text;
  Letters held_;                // what the cursor holds
  Letters tag_;                 // the last tag
  std::size_t opener_ = 0;      // length of its opener
  std::string raw_;             // a value that waits for its end, as it was written
  std::vector<Node> open_;      // the elements that are open, outermost first
  std::set<std::string> seen_;  // parameters
  bool is_string_ = false;      // the open parameter is written as it arrives
  bool is_doubled_ = false;     // it was given before, and is dropped
  std::string aside_;
  Letters behind_;              // the call's closer inside a value, and white space behind it
  std::size_t behind_end_ = 0;  // length of the closer
  bool holds_tag_ = false;      // the value holds a tag that is text
  std::string out_;
  std::string closer_;  // the closing tag that ended the call
  bool closed_section_ = false;
  Letters unread_;
  std::uint16_t repairs_ = 0;
  const char* problem_ = "";
};

}  // namespace unspool
