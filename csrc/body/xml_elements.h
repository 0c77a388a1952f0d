// Arguments as elements: <city>Paris</city>, where a value may be elements again.
//
// A value that the schema calls a string is written as it arrives. Any other value waits for its
// end: only then is it known whether it is text, an object or a list.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "body/body.h"

namespace unspool {

class XmlElements final : public Body {
 public:
  XmlElements(const CallSpec& call, const CallMarkers& markers, const BodyOptions& options);

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink&) override { return false; }
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override { return repairs_; }
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override {
    return raw_.size() + cursor_.held().size() + (state_ == State::tag ? tag().size() : 0);
  }
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
  void act_on(const MarkerCursor::Found& found);
  void read_text(std::string_view text);
  void open_element(std::string name);
  void close_element(std::string_view name);
  void begin_parameter(const std::string& name);
  void write_open(std::size_t depth, const ValueSchema* schema);
  std::string tag() const { return opener_ + name_; }
  void fail(const char* problem, std::string_view unread);
  bool has_failed() const { return *problem_ != '\0'; }
  BodyResult finish_put(std::size_t consumed, CallSink& sink);

  const CallSpec& call_;
  const CallMarkers& markers_;
  const ToolSchema* schema_;
  const MarkerSpec* section_close_;
  MarkerCursor cursor_;
  State state_ = State::text;
  std::string name_;            // of a tag
  std::string raw_;             // a value that waits for its end, as it was written
  std::vector<Node> open_;      // the elements that are open, outermost first
  std::set<std::string> seen_;  // parameters
  bool is_string_ = false;      // the open parameter is written as it arrives
  std::string out_;
  std::string opener_;  // of the last tag
  std::string closer_;  // the last closing tag
  bool closed_section_ = false;
  std::string unread_;
  std::uint16_t repairs_ = 0;
  const char* problem_ = "";
};

}  // namespace unspool
