// A call as one JSON object with name and arguments: one object, or an array of them.
//
// The value reader reads the JSON and reports keys and values; this class decides what each is for.
//
//   {"name": "f", "arguments": {"x": 1}}     The name is announced at its closing quote. After
//                                            that, the arguments are written as they arrive.
//   {"arguments": {"x": 1}, "name": "f"}     Held arguments: they wait for the name. They also
//                                            wait until the end if they must fit the tool's schema.
//   {"name": "f", "arguments": "{\"x\": 1}"}  Encoded arguments: a string that contains them.
//   {"type": "f", "arguments": {}}           The name under `type`, if the request has that tool.
//   {"function": {"name": "f", …}}           A wrapper: an object around the members of the call.
//   {"name": "f", "x": 1}                    Flat arguments: they stand next to the name. Only
//                                            those of the tool's schema count.
//   {"f": {"x": 1}, "g": {}}                 The key is the name (`name_is_key`): each member is
//                                            a call.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "body/body.h"
#include "body/json_in_string.h"
#include "body/json_string.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

class JsonCall final : public Body, private ValueListener {
 public:
  /// `is_tentative`: no marker identifies a call, so it is not announced before it has arguments.
  /// Python syntax is not counted as a repair if the slot allows it.
  JsonCall(const ObjectSlot& slot, bool is_tentative, const BodyOptions& options);

  std::unique_ptr<Body> clone() const override { return std::make_unique<JsonCall>(*this); }
  void link(CallMarks* marks) override;
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink&) override {}
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override {
    constexpr unsigned kOfPython = kSingleQuotes | kPythonLiteral | kTrailingComma;
    const unsigned found = reader_.repairs() | repairs_;
    return static_cast<std::uint16_t>(slot_.python ? found & ~kOfPython : found);
  }
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override {
    return std::max(unread().size(), inner_.escape_bytes());
  }
  BodyRest rest() const override { return {is_in_text() ? kCutsJson : kAllClasses}; }
  void add_held(Held& out) const override { reader_.add_held(out); }
  std::size_t find_next(std::string_view text, const ToolSchemas* tools) const override;

  void visit(Archive& archive) override;

 private:
  /// What is being read.
  enum class Part : std::uint8_t {
    structure,     // between the members' keys and values
    key,           // a key
    name,          // the name
    id,            // the id
    type,          // the text at `type`, which may be the name
    arguments,     // the arguments
    encoded,       // a string that contains the arguments
    no_arguments,  // null instead of arguments
    flat,          // an argument next to the name
    skipped,       // a value without meaning here
  };
  enum class Key : std::uint8_t { other, name, arguments, id, wrapper, flat };
  /// The array around the calls.
  enum class List : std::uint8_t { none, empty, has_calls };
  /// How far the call is known. Only an announced call can be written.
  enum class Stage : std::uint8_t { unnamed, named, announced };
  /// The arguments read so far; `flat` ones end only with the call.
  enum class Arguments : std::uint8_t { none, open, whole, flat };

  // ValueListener
  Answer on_value(std::size_t depth, char first, std::size_t at) override;
  Answer on_value_end(std::size_t depth, std::size_t end) override;
  Answer on_key(std::size_t depth, std::size_t at) override;
  Answer on_key_end(std::size_t depth, std::size_t at) override;
  Answer on_colon(std::size_t depth) override;
  Answer on_comma(std::size_t depth, std::size_t at) override;

  // Inside a string of the arguments, outside of its escapes.
  bool is_in_text() const {
    return part_ == Part::arguments && is_announced() && !mends_ && reader_.in_text();
  }
  BodyResult read(std::string_view text);
  std::string_view next_piece(std::string_view text);
  std::size_t take(std::string_view piece);
  void take_text(std::string& into);
  std::size_t take_encoded();
  bool is_text() const {
    return part_ == Part::key || part_ == Part::name || part_ == Part::id || part_ == Part::type;
  }
  std::string& text_of_part() {
    if (part_ == Part::type) return type_;
    return part_ == Part::key ? key_ : part_ == Part::id ? id_ : name_;
  }
  void begin_part(Part part, std::size_t depth);
  Answer begin_text(Part part, std::size_t depth);

  void mark(CallMark::Kind kind, std::size_t at) {
    if (marks_ != nullptr) marks_->add(kind, static_cast<std::int64_t>(place_ + at));
  }
  /// Whether the reader is inside the arguments, and marks are needed.
  bool marks_members() const { return marks_ != nullptr && part_ == Part::arguments; }
  Answer refuse(const char* problem);
  const char* fault();
  Answer begin_outside(char first, std::size_t depth);
  void begin_object();
  Answer begin_value(char first, std::size_t depth);
  Answer begin_arguments(char first, std::size_t depth);
  Answer end_part(std::size_t end);
  void mark_end(Part part, std::size_t end);
  Answer end_name(std::size_t end);
  Answer end_object();
  bool names_by_type();
  void end_call();
  Answer begin_flat();
  Key classify_key();
  Key kind_of(std::string_view key) const;
  bool announce();
  bool has_name() const { return stage_ != Stage::unnamed; }
  bool is_announced() const { return stage_ == Stage::announced; }
  bool has_arguments() const { return arguments_ != Arguments::none; }
  const ToolSchema* tool() const;
  bool has_stray() const;
  void put_arguments(std::string_view text);
  /// Text that was read from an announced call and may be lost.
  std::string_view unread() const;

  const ObjectSlot& slot_;
  bool is_tentative_;
  bool mends_;
  ValueReader reader_;
  LocalPtr<CallMarks> marks_;
  ClonedPtr<ValueMarks> members_;  // of the arguments
  std::size_t at_ = 0;             // where the current value begins in the piece
  LocalPtr<CallSink> sink_;        // of the current call
  Part part_ = Part::structure;
  std::size_t part_depth_ = 0;
  std::size_t from_ = 0;   // where the rest of the part begins in out_
  std::size_t place_ = 0;  // of the current piece in the text
  std::string out_;        // the reader's output for the piece
  Key key_kind_ = Key::other;
  List list_ = List::none;
  bool has_ended_ = false;  // a call has ended in the current piece
  std::uint8_t depth_ = 0;  // 1 in the call, 2 in a wrapper object inside it
  // Of the call being read:
  Stage stage_ = Stage::unnamed;
  Arguments arguments_ = Arguments::none;
  std::uint8_t name_depth_ = 0;
  std::uint8_t other_depths_ = 0;  // depths of keys without meaning, as bits
  std::string name_, id_, type_, key_;
  std::string others_;          // keys without meaning before the name, each with a null byte
  std::string held_arguments_;  // written before the name was known
  JsonStringDecoder decoder_;
  std::size_t unread_from_ = 0;        // where `unread_` begins in the text of this put
  std::optional<std::string> unread_;  // the text since the name, which may turn out to be lost
  JsonInString inner_;
  std::uint16_t repairs_ = 0;
  const char* problem_ = "";
};

}  // namespace unspool
