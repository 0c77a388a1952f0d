// Converts a parameter's bare text to JSON; the schema decides between text and numbers.
//
// A string is written as it arrives, an object or list as soon as its first bytes identify it. Any
// other scalar waits for its end.
//
// What it reads is the text between two tags, as in `<parameter=days>3</parameter>`. The reader of
// the tags decides where the value ends; this class only converts. Its states (Mode):
//
//   undecided   the bytes are held, and could still be a number, a word or a container
//   string      written as they arrive, escaped; so is any value whose type is only a string
//   container   the value reader writes it: `{"a": 1}`, or `{'a': True}` where Python's are allowed
//
//   types               text      states
//   string              3         string at once
//   integer             3         undecided until the end: 3
//   string, integer     3 apples  undecided, string at the a
//   object              {"a"      undecided, container at the quote
//   string, object      {"a"      undecided: it may be text to its end
//
// Two things come before the conversion: white space at the edges, as the format's `trim` says,
// which is held in `space_` because only the closing tag shows that it is the end; and character
// references such as `&lt;`. If the value cannot be read, `unread_` has its source text, so that
// the call's report shows what the model wrote.
#pragma once

#include <string>
#include <string_view>

#include "body/entities.h"
#include "body/scalar.h"
#include "body/value_reader.h"
#include "format/program.h"
#include "text/archive.h"
#include "text/byte_classes.h"
#include "text/held.h"

namespace unspool {

class TaggedValue {
 public:
  /// `repairs`: accept an object or list in almost-JSON.
  TaggedValue(const ParametersSlot& slot, bool repairs)
      : slot_(slot),
        reader_(slot.python_values ? kPython
                : repairs          ? kNearlyJson
                                   : kJson),
        is_loose_(slot.python_values || repairs) {}

  /// Begins a new value of one of these types.
  void begin(TypeSet types, std::string& out);

  /// Reads the value's text, in pieces. After an error it reads no more.
  void put(std::string_view text, std::string& out) {
    if (mode_ == Mode::undecided) read_ += text.size();
    if (space_left_ > 0) [[unlikely]]
      text.remove_prefix(read_space(text));
    opener_read_ == kNotLookedFor ? put_inside(text, out) : put_with_opener(text, out);
  }

  /// The white space at the value's end that is markup. Without a closing tag, it belongs to the
  /// tag that comes next.
  ValueTrim trim_at_end(bool is_closed) const;

  /// Ends the value: writes what is still open.
  void end(bool is_closed, std::string& out);

  /// The output ended inside the value: writes what is certain, a prefix of JSON. White space that
  /// may be markup is omitted.
  void cut_off(std::string& out);
  /// After `cut_off`, if nothing closes the value: writes the certain part of a bare word.
  void end_word(std::string& out);

  /// After `cut_off`: writes what completes the value; false if no added text can.
  bool close(std::string& out);

  /// Counts markup that was read within it and is no part of it.
  void leave_out(std::string_view markup) {
    if (mode_ == Mode::undecided) read_ += markup.size();
  }

  /// Text without a byte of these classes is written at once, escaped.
  ByteClasses stops() const;

  /// Whether any text may be part of it, such as a marker: it is a string, or inside one.
  bool takes_text() const {
    return types_.has(TypeSet::string) || (mode_ == Mode::container && reader_.in_string());
  }

  /// What was read and not written, if it is known as it was read. Nothing is held after this.
  std::string take_held();

  /// Whether the next byte is at the beginning of a line.
  bool is_at_line_start() const;

  /// The repairs in this value, as bits of Repair.
  std::uint16_t repairs() const { return slot_.python_values ? 0 : reader_.repairs(); }

  void add_held(Held& out) const;
  /// The size of what becomes raw text again if the value fails.
  std::size_t undecided_bytes() const {
    return unwritten().size() + entities_.held().size() + space_.size();
  }

  /// The reason for a failure, or empty; `unread` is the text that was not read.
  const char* problem() const { return problem_; }
  std::string_view unread() const { return unread_; }

  void visit(Archive& archive);

 private:
  /// The bare word of the current container, or of one that could not be parsed.
  std::string_view word() const {
    return mode_ == Mode::container ? reader_.word() : std::string_view{};
  }
  /// What was read of the value, and is not written yet.
  std::string_view unwritten() const {
    return mode_ == Mode::container ? reader_.unwritten() : std::string_view(held_);
  }
  enum class Mode : std::uint8_t { undecided, string, container };
  static constexpr std::size_t kNotLookedFor = std::string::npos;

  bool has_failed() const { return *problem_ != '\0'; }
  void fail(const char* problem, std::string_view unread);
  void put_with_opener(std::string_view text, std::string& out);
  void put_inside(std::string_view text, std::string& out);
  std::size_t read_space(std::string_view text);
  std::size_t read_start(std::string_view text);
  void put_inner_space(std::string& out);
  void put_trimmed(std::string_view text, std::string& out);
  void put_decoded(std::string_view text, std::string& out);
  void put_undecided(std::string_view text, std::string& out);
  void put_container(std::string_view text, std::string& out);
  void give_up_opener(std::string& out);
  void become_string(std::string& out);
  void clear_held();
  void hold(char byte, std::string& out);
  bool opens_container(char byte) const;
  bool may_follow_opener(char byte) const;

  const ParametersSlot& slot_;
  ValueReader reader_;  // of an object or list
  bool is_loose_;       // not exact JSON
  TypeSet types_;
  Mode mode_ = Mode::undecided;
  bool is_at_start_ = false;      // white space may be markup
  bool is_empty_line_ = false;    // only the line break that is markup has been read
  bool has_line_ = false;         // a line break that is markup precedes the value
  std::uint32_t space_left_ = 0;  // how much of space_before may still come
  std::size_t read_ = 0;          // bytes of the value, while it is undecided
  std::size_t opener_read_ = 0;   // how much of value_open was read; npos: it is no longer expected
  EntityDecoder entities_;
  TypedCandidate candidate_;
  std::string held_;                       // an undecided value
  std::size_t first_ = std::string::npos;  // its first byte that is not white space
  std::string space_;                      // white space that may be the value's end
  const char* problem_ = "";
  std::string unread_;
};

}  // namespace unspool
