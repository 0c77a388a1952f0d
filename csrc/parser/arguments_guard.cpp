// The last look at a call's arguments before they are emitted. Whatever wrote them (a JSON body,
// tags, a Python call, a repair, a response template), they pass here, so a complete call has valid
// JSON.
//
//   checked                              otherwise
//   one object, nothing after it         clients raise, or run a part of it
//   no name twice in the outermost one   clients run one of the two, and differ in which
//   numbers that a double can hold       JavaScript reads infinity
//   depth and size                       a client's parser fails at some depth
//
// Fragments that pass are emitted as they are. Only with `repairs` does the output differ (`out_`):
// a second member of one name is dropped, `"5"` becomes `5` if the schema asks for a number, and
// `""` for a number is left out. For all of them, a member is held until it is certain.
#include "parser/arguments_guard.h"

#include <algorithm>
#include <utility>

#include "body/scalar.h"
#include "text/json_value.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Bounds the kept keys of one call, and the search among them.
// Above the number of parameters of any real tool.
constexpr std::size_t kMaxKeys = 1024;

constexpr std::uint64_t kHashBegin = 0xcbf29ce484222325;
constexpr std::uint64_t kHashPrime = 0x100000001b3;

// Numbers from 1.7976931348623158079…e308 on round to infinity.
constexpr std::int64_t kMaxScale = 309;
constexpr std::int64_t kBeyondAll = std::int64_t{1} << 48;
constexpr std::uint8_t kDigits = 19;
constexpr std::uint64_t kTooLarge = 1797693134862315808;

bool is_number(char first) { return first == '-' || (first >= '0' && first <= '9'); }

}  // namespace

void NumberRange::put(char byte) {
  if (byte == 'e' || byte == 'E') {
    is_exponent_ = true;
  } else if (byte == '.') {
    is_fraction_ = true;
  } else if (byte == '-') {
    is_negative_ = is_exponent_;
  } else if (byte >= '0' && byte <= '9') {
    const auto digit = static_cast<std::uint64_t>(byte - '0');
    if (is_exponent_) {
      // An exponent may have a million digits. It only has to stay beyond every limit.
      exponent_ = std::min(exponent_ * 10 + static_cast<std::int64_t>(digit), kBeyondAll);
      return;
    }
    const bool is_significant = digit_count_ > 0 || digit != 0;
    if (is_significant && digit_count_ < kDigits) {
      digits_ = digits_ * 10 + digit;
      ++digit_count_;
    }
    if (is_significant && !is_fraction_) ++scale_;
    // `0.001` has its first digit in the third place after the point.
    if (!is_significant && is_fraction_) --scale_;
  }
}

bool NumberRange::is_finite() const {
  // Zero, whatever its exponent.
  if (digit_count_ == 0) return true;
  const std::int64_t scale = scale_ + (is_negative_ ? -exponent_ : exponent_);
  if (scale != kMaxScale) return scale < kMaxScale;
  std::uint64_t digits = digits_;
  for (std::uint8_t i = digit_count_; i < kDigits; ++i) digits *= 10;
  return digits < kTooLarge;
}

namespace {

/// Whether a value's numbers and depth are valid in arguments.
class SoundListener final : public ValueListener {
 public:
  SoundListener(std::string_view text, std::size_t max_depth)
      : text_(text), max_depth_(max_depth) {}

  Answer on_value(std::size_t depth, char first, std::size_t at) override {
    begin_ = at;
    is_number_ = is_number(first);
    const bool is_deep = depth >= max_depth_ && (first == '{' || first == '[');
    return is_deep ? Answer::refuse : Answer::proceed;
  }

  Answer on_value_end(std::size_t, std::size_t end) override {
    if (!std::exchange(is_number_, false)) return Answer::proceed;
    NumberRange range;
    for (const char byte : text_.substr(begin_, end - begin_)) range.put(byte);
    return range.is_finite() ? Answer::proceed : Answer::refuse;
  }

 private:
  std::string_view text_;
  std::size_t max_depth_;
  std::size_t begin_ = 0;
  bool is_number_ = false;
};

/// Whether a text may stand for a list with it alone.
bool takes_list_of_text(const ValueSchema* value) {
  if (value == nullptr || value->types.has(TypeSet::string)) return false;
  return value->types.has(TypeSet::array) &&
         (value->items.empty() || value->items.front().types.has(TypeSet::string));
}

bool is_sound(std::string_view value, std::size_t max_depth) {
  const std::string text = std::string(value) + ' ';  // ends a number
  SoundListener listener(text, max_depth);
  ValueReader reader;
  return reader.check(text, &listener).status == ScanStatus::done;
}

}  // namespace

ArgumentsGuard::Passed ArgumentsGuard::put_any(std::string_view fragment) {
  // After a fault everything is reported, and nothing is emitted.
  if (has_failed()) return {{}, fragment};
  out_.clear();
  const std::string_view text = fragment.substr(0, room_in(fragment));
  bytes_ += text.size();
  const std::size_t read = scan(text);
  if (!has_failed() && read < fragment.size()) {
    fail("the arguments are longer than max_argument_bytes");
  }
  // Views of the fragment: without repairs nothing is copied.
  if (!repairs_) return {fragment.substr(0, read), fragment.substr(read)};
  const std::size_t passed = out_.size();
  if (has_failed()) {
    // What was held was read but not emitted; it is reported in the order of the output.
    out_ += held_;
    out_ += typed_;
    out_ += fragment.substr(read);
    held_.clear();
    typed_.clear();
  }
  return {std::string_view(out_).substr(0, passed), std::string_view(out_).substr(passed)};
}

void ArgumentsGuard::write(std::string_view fragment, std::int32_t index, std::uint64_t token_end,
                           Events& out) {
  const Passed passed = put(fragment);
  if (!passed.arguments.empty()) {
    out.add_text(EventKind::tool_call_arguments, index, passed.arguments, token_end);
  }
  if (!passed.rejected.empty()) {
    out.add_text(EventKind::malformed, index, passed.rejected, token_end, problem());
  }
}

// How much of the text may be read, in whole characters.
std::size_t ArgumentsGuard::room_in(std::string_view text) const {
  // A fragment never ends amid a character.
  return first_bytes(text, max_bytes_ - std::min(bytes_, max_bytes_)).size();
}

/// The guard's actions at significant bytes.
class ArgumentsGuard::Listener final : public ValueListener {
 public:
  Listener(ArgumentsGuard& guard, std::string_view text) : guard_(guard), text_(text) {}

  void pass_to(std::size_t end) {
    if (guard_.repairs_) guard_.pass(text_.substr(passed_, end - passed_));
    passed_ = end;
  }

  void read_key(std::size_t end) { guard_.put_key(text_.substr(key_, end - key_)); }

  void read_number(std::size_t end) {
    for (; number_ < end; ++number_) guard_.number_.put(text_[number_]);
  }

  Answer on_value(std::size_t depth, char first, std::size_t at) override {
    if (is_number(first)) {
      guard_.in_number_ = true;
      guard_.number_.reset();
      number_ = at;
    } else if ((first == '{' || first == '[') && depth >= guard_.max_depth_) {
      // Before the reader enters it: its own stack is bounded by the same number.
      return refuse("the arguments are nested deeper than max_depth");
    }
    return Answer::proceed;
  }

  Answer on_value_end(std::size_t, std::size_t end) override {
    // A number ends at the byte after it, which may be in a later fragment.
    if (!guard_.in_number_) return Answer::proceed;
    read_number(end);
    guard_.in_number_ = false;
    if (guard_.number_.is_finite()) return Answer::proceed;
    return refuse("a number is too large for a double");
  }

  Answer on_key(std::size_t depth, std::size_t at) override {
    // Only the arguments themselves: names within their values are the tool's business.
    if (depth > 1) return Answer::proceed;
    if (guard_.schema_ != nullptr) hold_key(at);
    guard_.in_key_ = true;
    guard_.key_.reset();
    guard_.key_hash_ = kHashBegin;
    guard_.key_text_.clear();
    key_ = at + 1;
    return Answer::proceed;
  }

  Answer on_key_end(std::size_t depth, std::size_t at) override {
    if (depth > 1) return Answer::proceed;
    read_key(at + 1);
    pass_to(at);
    if (!guard_.end_key()) return Answer::refuse;
    if (guard_.schema_ == nullptr || guard_.is_dropped_) return Answer::proceed;
    pass_to(at + 1);
    const TypeSet* types = guard_.schema_->types_of(guard_.key_text_);
    // If the schema allows a string, a string is right as it is.
    const bool is_typed = types != nullptr && !types->has(TypeSet::string);
    is_typed ? void(guard_.types_ = types) : guard_.release();
    return Answer::proceed;
  }

  Answer on_comma(std::size_t depth, std::size_t at) override {
    if (depth > 1 || !guard_.repairs_) return Answer::proceed;
    pass_to(at);
    guard_.end_typed();
    // From the comma on: if the next member is dropped, its comma goes with it. If all before it
    // were left out, it has none.
    if (guard_.schema_ != nullptr && !guard_.has_member_) passed_ = at + 1;
    guard_.is_held_ = true;
    guard_.is_dropped_ = false;
    return Answer::proceed;
  }

 private:
  // The first member has no comma to be held from.
  void hold_key(std::size_t at) {
    pass_to(at);
    if (!guard_.has_member_) guard_.held_.clear();  // white space after a member that was left out
    guard_.is_held_ = true;
  }

  Answer refuse(const char* problem) {
    guard_.fail(problem);
    return Answer::refuse;
  }

  ArgumentsGuard& guard_;
  std::string_view text_;
  std::size_t passed_ = 0;
  std::size_t key_ = 0;     // where the current key continues
  std::size_t number_ = 0;  // where the current number continues
};

// Returns how much of the text was read: less than all of it if the arguments fail.
std::size_t ArgumentsGuard::scan(std::string_view text) {
  std::size_t begin = 0;
  // White space too: a client that streams the arguments would get it as part of them.
  if (is_done_ && !text.empty()) fail("text follows the end of the arguments");
  if (!is_object_) {
    begin = std::min(text.find_first_not_of(kSpace), text.size());
    if (repairs_) pass(text.substr(0, begin));
    if (begin == text.size()) return begin;
    if (text[begin] != '{') fail("the arguments are not a JSON object");
    is_object_ = true;
  }
  if (has_failed()) return begin;
  text.remove_prefix(begin);
  Listener listener(*this, text);
  const ScanResult result = reader_.check(text, &listener);
  if (in_number_) listener.read_number(result.consumed);
  if (in_key_) listener.read_key(result.consumed);
  is_done_ = result.status == ScanStatus::done;
  if (is_done_) {
    // Up to the closing brace, which comes after a converted value.
    listener.pass_to(result.consumed - 1);
    end_typed();
    is_dropped_ = false;
  }
  listener.pass_to(result.consumed);
  if (result.status == ScanStatus::failed && !has_failed())
    fail("the arguments are not valid JSON");
  if (is_done_ && result.consumed < text.size()) fail("text follows the end of the arguments");
  return begin + result.consumed;
}

void ArgumentsGuard::put_key(std::string_view text) {
  while (!text.empty()) {
    const JsonStringDecoder::Piece piece = key_.next(text);
    for (const char byte : piece.decoded) {
      // A hash per name keeps memory flat. Two names with one hash of 64 bits do not happen by
      // accident.
      key_hash_ = (key_hash_ ^ static_cast<unsigned char>(byte)) * kHashPrime;
    }
    if (schema_ != nullptr) key_text_ += piece.decoded;
    if (piece.is_invalid) return;
    text.remove_prefix(piece.consumed);
  }
}

// The name of a member of the outermost object has been read.
bool ArgumentsGuard::end_key() {
  in_key_ = false;
  if (std::find(keys_.begin(), keys_.end(), key_hash_) != keys_.end()) {
    if (!repairs_) return fail("two of the arguments have one name");
    is_held_ = false;
    is_dropped_ = true;
    repairs_done_ |= kDuplicateKey;
    held_.clear();
    return true;
  }
  if (keys_.size() == kMaxKeys) return fail("there are more than 1,024 arguments");
  keys_.push_back(key_hash_);
  if (schema_ == nullptr) release();
  return true;
}

// The member is certain.
void ArgumentsGuard::release() {
  out_ += held_;
  held_.clear();
  is_held_ = false;
  has_member_ = true;
}

// The member does not count, and another one of its name does.
void ArgumentsGuard::leave_out() {
  held_.clear();
  typed_.clear();
  is_held_ = false;
  keys_.pop_back();
  repairs_done_ |= kEmptyValue;
}

// The value of a member that is not a string in the schema has been read.
void ArgumentsGuard::end_typed() {
  if (types_ == nullptr) return;
  const TypeSet types = *types_;
  types_ = nullptr;
  std::string value;
  bool is_empty = false;
  const std::string_view string = std::string_view(typed_).substr(typed_.find('"'));
  if (const auto quoted = parse_json(trim(string))) {
    const std::string_view text = trim(quoted->text);
    is_empty = text.empty();
    if (is_empty && !types.has(TypeSet::null)) return leave_out();
    if (is_empty || text == "None" || text == "none" || text == "null") {
      value = "null";
    } else {
      append_typed_literal(quoted->text, types, value);
      const bool is_text = value.empty() || value[0] == '"';
      if (is_text && takes_list_of_text(schema_->find(key_text_)))
        value.assign(1, '[').append(trim(string)).append(1, ']');
    }
  }
  release();
  // The text is not of the wanted type, or would not pass as a value: it stays a string.
  if (value.empty() || value[0] == '"' || !is_sound(value, max_depth_ - 1)) {
    out_ += typed_;
  } else {
    out_.append(": ").append(value);
    repairs_done_ |= is_empty ? kEmptyValue : kQuotedValue;
  }
  typed_.clear();
}

void ArgumentsGuard::pass(std::string_view text) {
  if (types_ != nullptr) {
    typed_ += text;
    const std::size_t begin = typed_.find_first_not_of(": \t\r\n");
    // Held while it may be a string. Anything else is not converted, and streams.
    if (begin == std::string::npos || typed_[begin] == '"') return;
    types_ = nullptr;
    release();
    out_ += typed_;
    typed_.clear();
  } else if (is_held_) {
    held_ += text;
  } else if (!is_dropped_) {
    out_ += text;
  }
}

bool ArgumentsGuard::fail(const char* problem) {
  problem_ = problem;
  return false;
}

void NumberRange::visit(Archive& archive) {
  archive(scale_, exponent_, digits_, digit_count_, is_fraction_, is_exponent_, is_negative_);
  archive.expect(scale_ > -kBeyondAll && scale_ < kBeyondAll);
  archive.expect(exponent_ >= 0 && exponent_ <= kBeyondAll && digit_count_ <= kDigits);
}

void ArgumentsGuard::visit(Archive& archive) {
  archive.given(max_bytes_, max_depth_, repairs_);
  archive.scratch(out_);
  archive(reader_, bytes_, is_object_, is_done_, in_number_, number_, in_key_, key_, key_hash_);
  archive(keys_, is_held_, is_dropped_, has_member_, held_, key_text_, typed_, repairs_done_);
  archive.literal(problem_);
  archive.pointer(schema_);
  bool is_typed = types_ != nullptr;
  archive(is_typed);
  if (!archive.is_reading()) return;
  types_ = is_typed && schema_ != nullptr ? schema_->types_of(key_text_) : nullptr;
  archive.expect(is_typed == (types_ != nullptr) && keys_.size() <= kMaxKeys);
  archive.expect(!is_typed || typed_.find('"') != std::string::npos || is_blank(typed_) ||
                 typed_.find_first_not_of(": \t\r\n") == std::string::npos);
}

}  // namespace unspool
