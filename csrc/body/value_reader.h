// Reads one value as it arrives, in any dialect, and writes it as JSON.
//
// The dialect's table gives the action for each state and byte. JSON is copied as it is; the rest
// is replaced. A listener learns of each value, key, colon and comma before the reader goes on.
//
//   input        dialect        output          steps
//   {"a": [1]}   JSON           {"a": [1]}      object, key, colon, list, number
//   {'a': True}  nearly JSON    {"a": true}     the key's quotes are written anew, the word is held
//   [1, 2,]      nearly JSON    [1, 2]          a comma is held until something follows
//   {1, 2}       Python         [1, 2]          the brace is held: it may begin a set
//   <|"|>3<|"|>  marker quotes  "3"             without escapes; or 3, if the schema has an integer
//
// States (dialect.h): before a value, key, colon or comma (`value`, `element`, `first_key`, `key`,
// `colon`, `after_value`); inside a number, string or escape; inside a bare word (`word`,
// `key_word`); inside a string between quotes of the format (`marked`, `opening`, `delimited`);
// `done`. What is not certain is held: a word, a comma, the text after a brace, a typed text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/dialect.h"
#include "body/quoted_calls.h"
#include "body/repairs.h"
#include "body/schema_typing.h"
#include "format/schema.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/find_byte.h"
#include "text/held.h"
#include "text/json_escape.h"
#include "text/local_ptr.h"
#include "text/marker_set.h"

namespace unspool {

enum class ScanStatus : std::uint8_t { more, done, failed };

struct ScanResult {
  std::size_t consumed = 0;  // on failure: the bytes before the invalid byte
  ScanStatus status = ScanStatus::more;
};

/// Receives the structure of a value. `depth`: the number of open containers around it. `at`: the
/// byte's position in the text of this `put`. Everything before it has been written.
class ValueListener {
 public:
  /// `stop`: `put` returns after this step. `refuse`: reading fails at this byte.
  enum class Answer : std::uint8_t { proceed, stop, refuse };

  /// `first`: the value's first byte as JSON; `"` for any string.
  virtual Answer on_value(std::size_t /*depth*/, char /*first*/, std::size_t /*at*/) {
    return Answer::proceed;
  }
  /// `end`: the position after the value.
  virtual Answer on_value_end(std::size_t /*depth*/, std::size_t /*end*/) {
    return Answer::proceed;
  }
  virtual Answer on_key(std::size_t /*depth*/, std::size_t /*at*/) { return Answer::proceed; }
  /// Called at the quote that ends a key.
  virtual Answer on_key_end(std::size_t /*depth*/, std::size_t /*at*/) { return Answer::proceed; }
  virtual Answer on_colon(std::size_t /*depth*/) { return Answer::proceed; }
  virtual Answer on_comma(std::size_t /*depth*/, std::size_t /*at*/) { return Answer::proceed; }

 protected:
  ~ValueListener() = default;
};

/// Pairs of a string's opening and closing delimiter.
using StringDelimiters = std::vector<std::pair<std::string, std::string>>;

/// Reads one value, resumable at any byte. Leading white space is accepted.
class ValueReader {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  explicit ValueReader(const Dialect& dialect = kJson) : dialect_(&dialect) {}

  /// Strings between delimiters, without escapes.
  ValueReader(const Dialect& dialect, const StringDelimiters& delimiters)
      : dialect_(&dialect), delimiters_(&delimiters) {}

  /// Strings between markers, without escapes. `schema`: that of the tool whose arguments the value
  /// is; a parameter that is not a string in it is not a string in quotes either.
  ValueReader(const Dialect& dialect, const MarkerSet& quotes, const ToolSchema* schema)
      : dialect_(&dialect), quotes_(&quotes), typing_(schema) {
    cursor_.reset(&quotes);
  }

  /// Stops after a quote that may end the string or be a part of a call that the string quotes.
  /// `markers`: see QuotedCalls.
  void follow_calls(const MarkerSet& markers, bool follows) {
    calls_ = std::make_unique<QuotedCalls>(markers);
    follows_calls_ = follows;
  }
  QuotedCalls& calls() { return *calls_; }
  /// The quote after which the last `put` stopped, or empty.
  std::string_view unsure_quote() const { return unsure_quote_; }
  /// It was a part of the string's text; so was all of `text`, which begins with it.
  void put_quoted(std::string_view text, std::string& out);
  /// It ends the string. `is_damaged`: no other quote of the value is unsure.
  void end_at_quote(std::size_t size, bool is_damaged, std::string& out);

  /// A copy of the reader has no listener.
  void set_listener(ValueListener* listener) { listener_ = listener; }
  /// Maximum nesting depth, if it is not `kMaxDepth`.
  void set_max_depth(std::uint32_t depth) { max_depth_ = depth; }
  /// The value is an argument, `name=value`, in Python. `guards`: it fails where a lost quote or
  /// comma would make one string of two arguments.
  void expect_arguments(bool guards) {
    is_argument_ = true;
    guards_ = guards;
  }
  /// Whether the argument's call stands in a list.
  void set_in_list(bool is_in_list) { is_in_list_ = is_in_list; }
  /// After an argument: what follows it and was read to make its end certain.
  std::string take_rest() { return std::exchange(word_, {}); }

  /// Reads up to the end of the value; appends JSON to `out`. A number or word ends before the
  /// first byte that cannot be part of it.
  ScanResult put(std::string_view text, std::string& out) { return read(text, &out); }

  /// Also reads the white space after the value; fails at anything else.
  ScanResult put_whole(std::string_view text, std::string& out);

  /// Reads without writing, and reports to `listener`; for JSON only.
  ScanResult check(std::string_view text, ValueListener* listener = nullptr) {
    listener_ = listener;
    const ScanResult result = read(text, nullptr);
    listener_ = nullptr;
    return result;
  }

  /// Reads a token that the format matches by id.
  ScanResult put_token(Symbol symbol, std::string_view literal, std::string& out);

  /// The input has ended: writes the certain part of a word; the output stays a prefix of JSON.
  void end(std::string& out);

  /// Writes what completes the value; false if no added text can.
  bool close(std::string& out);

  void reset();

  bool has_begun() const { return state_ != State::value || !stack_.empty(); }
  /// Whether the value is complete if the input ends here.
  bool is_complete() const;
  bool in_string() const;
  /// Whether it is inside a bare key, or between a key and its colon.
  bool is_in_key() const { return state_ == State::key_word || state_ == State::colon; }
  /// Whether it is inside a JSON string, but not in an escape.
  bool in_text() const { return state_ == State::string; }
  bool wants_value() const {
    return state_ == State::value || state_ == State::first_element || state_ == State::element;
  }
  /// Whether a comma or the end of the container must follow, or the last comma is not certain yet.
  bool is_after_value() const {
    return state_ == State::after_value || state_ == State::done || !pending_.empty();
  }
  /// The number of open containers.
  std::size_t depth() const { return stack_.size(); }
  bool reads_single_quotes() const { return dialect_->rules.single_quotes; }
  /// The prefix of `text` that a string emits unchanged; or one byte that it may not.
  std::string_view text_run(std::string_view text) const {
    const std::size_t size = is_loose() ? 1 : find_json_special(text, 0);
    return text.substr(0, size == 0 ? 1 : size);
  }

  /// The current bare word, or one that could not be parsed.
  std::string_view word() const { return in_word() ? std::string_view(word_) : std::string_view{}; }
  /// The end of the input that has not been written, unchanged: a word, or a comma that counts only
  /// if something follows. After a failure, the text that could not be parsed.
  std::string_view unwritten() const {
    return in_word() || (is_argument_ && is_at_quote()) ? word_ : pending_;
  }
  /// Text that may be the beginning of a string's delimiter.
  std::string_view delimiter() const;
  /// Appends what was read but not yet written.
  void add_held(Held& out) const;
  std::uint16_t repairs() const { return repairs_; }

  /// The state; the reader must have been created in the same way.
  void visit(Archive& archive);

 private:
  void check(Archive& archive);

  using State = ValueState;
  using Answer = ValueListener::Answer;
  /// The effect of a byte: it is consumed, read again in another state, or ends this `put`.
  enum class Step : std::uint8_t { next, again, stop, stop_before, failed };
  /// A container's kind, which decides its closer and its output. A Python `{` may turn out to be a
  /// set.
  enum Frame : char { object = 'o', list = 'a', tuple = 't', set = 's', undecided = 'u' };
  /// How much of an argument's beginning, `, name=`, stands at the end of a text.
  enum class Beginning : std::uint8_t { none, comma, name, equals };

  ScanResult read(std::string_view text, std::string* out);
  Step read_some(std::size_t& i);
  ValueAction read_plain(std::size_t& i);
  Step act(ValueAction action);
  Step run_step();
  Step step(char byte);

  Step open();
  Step close_container();
  Step begin_key();
  Step begin_string();
  Step begin_scalar();
  Step end_number();
  Step colon();
  Step comma();
  Step hold_comma();
  Step hold_space();
  Step write_comma();
  Step write_raw_control();
  Step end_value(std::size_t end);
  Step begin_element(char first);
  Step report_value(char first) { return report(at_, &ValueListener::on_value, first, at_); }
  Step report_key() { return report(at_, &ValueListener::on_key, at_); }
  Step end_key();

  // Python's braces
  Step open_in_set();
  Step colon_of_key();
  void decide(Frame frame);
  void decide_cut();
  void quote_key();

  // Strings
  void open_string(char quote);
  void open_loose_string(char quote);
  Step end_string();
  Step close_string(Step after);
  bool has_unsure_end() const;
  Step read_string(char byte);
  Step read_quote_open(char byte);
  Step read_after_quote(char byte);
  bool may_follow_string(char byte) const;
  Step read_after_closer(char byte);
  Step end_argument();
  Step keep_quote();
  static Beginning continue_beginning(Beginning beginning, char byte);
  Beginning beginning_after(std::string_view text) const;
  Step read_triple_close(char byte);
  Step read_escape(char byte);
  bool begin_code_point(char byte);
  Step read_code_point(char byte);
  bool keep_escape();
  Step end_code_point();

  // Words
  Step begin_word(State state);
  Step read_word(char byte);
  bool ends_this_word(char byte) const;
  bool may_continue_word(char byte) const;
  bool makes_text(char byte) const;
  bool is_string_prefix(char byte) const;
  Step open_prefixed_string(char quote);
  Step end_word();
  Step write_key_word(const std::string& word);
  Step write_word(const std::string& word);
  Step write_scalar(std::string_view json);
  void write_word_beginning();
  void become_bare_string();
  void bare_text(std::string_view text);
  Step read_bare_string(char byte);

  // Strings between marker quotes
  bool may_be_quote(char byte) const;
  Step read_quote(std::size_t& i);
  std::size_t put_marked(std::string_view text);
  Step put_bare(std::size_t& i);
  bool end_bare();
  void on_quote(std::size_t begin, std::size_t end);
  void write_marked(std::string_view text);
  bool is_unsure(const Letter& read, const MarkerCursor::Found& match);
  ScanResult put_quote_token(Symbol symbol, std::string_view literal);

  // Strings between delimiters
  bool may_be_delimiter(char byte) const;
  Step read_delimiter(std::size_t i);
  Step read_opening(char byte);
  Step give_up_delimiter();
  Step read_delimited(char byte);

  // The end of a value
  bool close_token();
  bool close_word();
  bool close_value();

  bool in_word() const { return state_ == State::word || state_ == State::key_word; }
  /// Whether a quote and the text after it are held, for it may end the string.
  bool is_at_quote() const { return state_ == State::maybe_close || state_ == State::after_closer; }
  bool wants_key() const { return state_ == State::first_key || state_ == State::key; }
  bool in_bare_text() const { return state_ == State::word || state_ == State::bare_string; }
  bool is_undecided() const { return !stack_.empty() && stack_.back() == undecided; }
  bool is_loose() const { return dialect_->rules.loose; }
  bool has_own_quotes() const { return quotes_ != nullptr || delimiters_ != nullptr; }
  /// The output: `held_` while a brace is undecided.
  std::string& to() { return is_undecided() ? held_ : *out_; }
  /// Copies the input since the last copy.
  void flush(std::size_t end) {
    if (end > copied_ && out_ != nullptr) to().append(in_, copied_, end - copied_);
    if (end > copied_) copied_ = end;
  }
  /// Writes `instead` in place of the current byte.
  void write(std::string_view instead) {
    flush(at_);
    to() += instead;
    copied_ = at_ + 1;
  }
  static Step to_step(Answer answer) {
    if (answer == Answer::proceed) return Step::next;
    return answer == Answer::stop ? Step::stop : Step::failed;
  }
  /// Reports an item, after writing everything before `end`.
  template <typename... Args>
  Step report(std::size_t end, Answer (ValueListener::*what)(std::size_t, Args...), Args... args) {
    ValueListener* const listener = listener_;
    if (listener == nullptr) return Step::next;
    flush(end);
    return to_step((listener->*what)(stack_.size(), args...));
  }
  /// Reports a value of which nothing has been written.
  void tell_value(char first, std::size_t at) {
    if (ValueListener* const listener = listener_) listener->on_value(stack_.size(), first, at);
  }
  /// Combines the results of two reports in one step.
  static Step both(Step first, Step second) {
    return first == Step::next || second == Step::failed ? second : first;
  }
  /// The same if the current byte is read again.
  static Step before(Step step) {
    if (step == Step::next) return Step::again;
    return step == Step::stop ? Step::stop_before : step;
  }

  const Dialect* dialect_;
  LocalPtr<ValueListener> listener_;
  State state_ = State::value;
  char quote_ = '"';
  bool is_key_ = false;        // the string being read
  bool is_raw_ = false;        // the string's backslashes are text
  bool is_unescaped_ = false;  // the string does not escape its quotes or backslashes
  bool is_triple_ = false;
  bool is_argument_ = false;
  bool guards_ = false;
  bool is_in_list_ = false;
  bool is_value_quote_ = false;            // `name=` precedes the last quote inside the string
  Beginning beginning_ = Beginning::none;  // at the end of the last put, if it is an argument
  Beginning next_ = Beginning::none;       // at the end of `word_`, after a closer
  std::uint8_t count_ = 0;                 // quotes seen, or digits of an escape
  std::uint8_t digits_ = 0;                // the number of digits in the escape
  char escape_ = 0;
  std::uint32_t code_point_ = 0;
  std::uint32_t max_depth_ = kMaxDepth;
  std::uint16_t repairs_ = 0;
  std::string stack_;
  // Of the current put:
  std::string_view in_;
  std::string* out_ = nullptr;
  std::size_t at_ = 0;  // the current byte
  std::size_t copied_ = 0;

  std::string word_;     // a word, white space at the end of a bare string, or part of a delimiter
  std::string pending_;  // a comma and the white space after it
  std::string held_;     // the text after a brace that may be a set
  const StringDelimiters* delimiters_ = nullptr;
  std::size_t delimiter_ = 0;   // of the open string
  State place_ = State::value;  // where the string began
  bool skips_delimiter_ = false;
  const MarkerSet* quotes_ = nullptr;
  MarkerCursor cursor_;
  bool follows_calls_ = false;
  ClonedPtr<QuotedCalls> calls_;   // in the string between marker quotes, if they may be followed
  std::string_view unsure_quote_;  // of the current put
  SchemaTyping typing_;            // of texts between marker quotes
};

}  // namespace unspool
