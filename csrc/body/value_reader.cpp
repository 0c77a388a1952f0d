#include "body/value_reader.h"

#include "body/scalar.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kNothingToCopy = std::string_view::npos;

// The end of a run of insignificant bytes inside a string.
std::size_t end_of_run(std::string_view text, std::size_t at, char quote) {
  if (quote == '"') return find_json_special(text, at);
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x20 && text[at] != quote &&
         text[at] != '"' && text[at] != '\\') {
    ++at;
  }
  return at;
}

ValueState scalar_state(char byte) {
  switch (byte) {
    case 't': return ValueState::t_rue;
    case 'f': return ValueState::f_alse;
    case 'n': return ValueState::n_ull;
    case '-': return ValueState::minus;
    case '0': return ValueState::zero;
    default: return ValueState::integer;
  }
}

}  // namespace

void ValueReader::reset() {
  state_ = State::value;
  quote_ = '"';
  is_key_ = is_raw_ = is_unescaped_ = is_triple_ = is_value_quote_ = skips_delimiter_ = false;
  beginning_ = next_ = Beginning::none;
  repairs_ = 0;
  for (std::string* text : {&stack_, &word_, &pending_, &held_}) {
    text->clear();
  }
  typing_.reset();
  if (quotes_ != nullptr) cursor_.reset(quotes_);
}

ScanResult ValueReader::read(std::string_view text, std::string* out) {
  if (state_ == State::done) return {0, ScanStatus::done};
  in_ = text;
  out_ = out;
  copied_ = 0;
  unsure_quote_ = {};
  std::size_t i = 0;
  while (i < text.size() && state_ != State::done) {
    const Step result = read_some(i);
    if (result == Step::next || result == Step::stop) ++i;
    if (result == Step::failed) {
      flush(i);
      decide_cut();
      return {i, ScanStatus::failed};
    }
    if (result == Step::stop || result == Step::stop_before) break;
  }
  flush(i);
  if (guards_) beginning_ = beginning_after(text);
  return {i, state_ == State::done ? ScanStatus::done : ScanStatus::more};
}

// Moves `i` to the next significant byte, and acts on it.
ValueReader::Step ValueReader::read_some(std::size_t& i) {
  if (quotes_ != nullptr && may_be_quote(in_[i])) return read_quote(i);
  if (delimiters_ != nullptr && may_be_delimiter(in_[i])) return read_delimiter(i);
  const std::size_t begin = i;
  const ValueAction action = read_plain(i);
  if (action == ValueAction::none || (i > begin && has_own_quotes())) return Step::again;
  at_ = i;
  return act(action);
}

// Moves to the first byte that does more than change the state, or may begin a quote. Returns its
// action.
ValueAction ValueReader::read_plain(std::size_t& i) {
  std::string_view text = in_;
  State state = state_;
  ValueAction action = ValueAction::none;
  while (action == ValueAction::none && i < text.size()) {
    if (state == State::string) i = end_of_run(text, i, quote_);
    if (has_own_quotes()) text = text.substr(0, i + 1);
    action = dialect_->follow(state, text, i);
  }
  state_ = state;
  return action;
}

ScanResult ValueReader::put_whole(std::string_view text, std::string& out) {
  const ScanResult result = put(text, out);
  if (result.status != ScanStatus::done) return result;
  const std::size_t rest = text.find_first_not_of(kSpace, result.consumed);
  if (rest == std::string_view::npos) return {text.size(), ScanStatus::done};
  return {rest, ScanStatus::failed};
}

ValueReader::Step ValueReader::act(ValueAction action) {
  switch (action) {
    case ValueAction::open: return open();
    case ValueAction::open_in_set: return open_in_set();
    case ValueAction::close: return close_container();
    case ValueAction::begin_key: return begin_key();
    case ValueAction::begin_string: return begin_string();
    case ValueAction::begin_scalar: return begin_scalar();
    case ValueAction::begin_word: return begin_word(State::word);
    case ValueAction::begin_key_word: return begin_word(State::key_word);
    case ValueAction::end_string: return end_string();
    case ValueAction::end_literal: return end_value(at_ + 1);
    case ValueAction::end_number: return end_number();
    case ValueAction::colon: return colon();
    case ValueAction::colon_of_key: return colon_of_key();
    case ValueAction::comma: return comma();
    case ValueAction::hold_comma: return hold_comma();
    case ValueAction::hold_space: return hold_space();
    case ValueAction::raw_control: return write_raw_control();
    case ValueAction::step: return run_step();
    case ValueAction::none:
    case ValueAction::fail: break;
  }
  return Step::failed;
}

// The state's own function interprets the byte, and writes it if necessary.
ValueReader::Step ValueReader::run_step() {
  flush(at_);
  copied_ = at_ + 1;
  const Step result = step(in_[at_]);
  if (result == Step::again || result == Step::stop_before || result == Step::failed) {
    copied_ = at_;
  }
  return result;
}

ValueReader::Step ValueReader::step(char byte) {
  switch (state_) {
    case State::string: return read_string(byte);
    case State::quote_open: return read_quote_open(byte);
    case State::maybe_close: return read_after_quote(byte);
    case State::after_closer: return read_after_closer(byte);
    case State::triple_close: return read_triple_close(byte);
    case State::escape: return read_escape(byte);
    case State::code_point: return read_code_point(byte);
    case State::word:
    case State::key_word: return read_word(byte);
    case State::bare_string: return read_bare_string(byte);
    case State::colon:  // another sign in its place
      write(":");
      repairs_ |= kMarkup;
      return colon();
    default: return Step::failed;
  }
}

ValueReader::Step ValueReader::end_key() {
  is_key_ = false;
  state_ = State::colon;
  return report(at_, &ValueListener::on_key_end, at_);
}

ValueReader::Step ValueReader::open() {
  if (stack_.size() == max_depth_) return Step::failed;
  const char byte = in_[at_];
  const Step result = begin_element(byte);
  if (result == Step::failed) return result;
  state_ = byte == '{' ? State::first_key : State::first_element;
  if (!is_loose()) {
    stack_ += byte == '{' ? object : list;
  } else if (byte == '{' && dialect_->rules.sets) {
    // Only the innermost brace can be undecided: a container inside it decides it.
    write({});
    stack_ += undecided;
    held_.clear();
  } else {
    write(byte == '{' ? "{" : "[");
    stack_ += byte == '{' ? object : byte == '[' ? list : tuple;
  }
  return result;
}

ValueReader::Step ValueReader::close_container() {
  const char frame = stack_.empty() ? '\0' : stack_.back();
  const char closer = frame == list ? ']' : frame == tuple ? ')' : frame == '\0' ? '\0' : '}';
  if (in_[at_] != closer) return Step::failed;
  if (is_loose()) {
    flush(at_);
    if (frame == undecided) decide(state_ == State::first_key ? object : set);
    if (!pending_.empty()) {
      repairs_ |= kTrailingComma;
      out_->append(pending_, 1);
      pending_.clear();
    }
    write(stack_.back() == object ? "}" : "]");
  }
  stack_.pop_back();
  return end_value(at_ + 1);
}

ValueReader::Step ValueReader::begin_key() {
  const Step comma = write_comma();
  const Step result = comma == Step::failed ? comma : both(comma, report_key());
  if (result == Step::failed) return result;
  is_key_ = true;
  open_string(in_[at_]);
  return result;
}

ValueReader::Step ValueReader::begin_string() {
  const Step result = begin_element('"');
  if (result == Step::failed) return result;
  is_key_ = false;
  open_string(in_[at_]);
  return result;
}

void ValueReader::open_string(char quote) {
  state_ = State::string;
  quote_ = quote;
  if (is_loose()) open_loose_string(quote);
}

// The closing quote of a JSON string.
ValueReader::Step ValueReader::end_string() { return is_key_ ? end_key() : end_value(at_ + 1); }

ValueReader::Step ValueReader::begin_scalar() {
  const Step result = report_value(in_[at_]);
  if (result != Step::failed) state_ = scalar_state(in_[at_]);
  return result;
}

ValueReader::Step ValueReader::end_number() { return before(end_value(at_)); }

// A value is complete; `end` is the position after it.
ValueReader::Step ValueReader::end_value(std::size_t end) {
  state_ = stack_.empty() ? State::done : State::after_value;
  return report(end, &ValueListener::on_value_end, end);
}

ValueReader::Step ValueReader::colon() {
  state_ = State::value;
  return report(at_, &ValueListener::on_colon);
}

ValueReader::Step ValueReader::comma() {
  state_ = stack_.back() == object ? State::key : State::element;
  return report(at_, &ValueListener::on_comma, at_);
}

ValueReader::Step ValueReader::hold_comma() {
  flush(at_);
  if (is_undecided()) decide(set);
  pending_.assign(1, ',');
  copied_ = at_ + 1;
  state_ = stack_.back() == object ? State::key : State::element;
  return Step::next;
}

ValueReader::Step ValueReader::hold_space() {
  pending_ += in_[at_];
  copied_ = at_ + 1;
  return Step::next;
}

// What precedes an element is certain once the element begins.
ValueReader::Step ValueReader::write_comma() {
  if (pending_.empty()) return Step::next;
  flush(at_);
  to() += pending_;
  pending_.clear();
  return report(at_, &ValueListener::on_comma, at_);
}

ValueReader::Step ValueReader::begin_element(char first) {
  const Step comma = write_comma();
  return comma == Step::failed ? comma : both(comma, report_value(first));
}

ValueReader::Step ValueReader::write_raw_control() {
  flush(at_);
  if (out_ != nullptr) append_json_escaped(in_.substr(at_, 1), *out_);
  copied_ = at_ + 1;
  return Step::next;
}

void ValueReader::decide(Frame frame) {
  stack_.back() = frame;
  *out_ += frame == object ? '{' : '[';
  *out_ += held_;
  held_.clear();
}

// No more input for a brace that may be a set: the output stays a prefix of JSON.
void ValueReader::decide_cut() {
  if (!is_undecided()) return;
  quote_key();
  decide(object);
}

// A container cannot be a key.
ValueReader::Step ValueReader::open_in_set() {
  flush(at_);
  decide(set);
  return open();
}

ValueReader::Step ValueReader::colon_of_key() {
  if (!is_undecided()) return Step::failed;
  flush(at_);
  quote_key();
  decide(object);
  state_ = State::value;
  return Step::next;
}

bool ValueReader::is_complete() const {
  switch (state_) {
    case State::done: return true;
    case State::zero:
    case State::integer:
    case State::fraction:
    case State::exponent_digits:
    case State::maybe_close:
    case State::bare_string: return stack_.empty();
    case State::quote_open: return stack_.empty() && count_ == 2;
    case State::word: return stack_.empty() && !word_.empty();
    default: return false;
  }
}

bool ValueReader::in_string() const {
  switch (state_) {
    case State::string:
    case State::escape:
    case State::hex_1:
    case State::hex_2:
    case State::hex_3:
    case State::hex_4:
    case State::quote_open:
    case State::code_point:
    case State::triple_close:
    case State::marked:
    case State::delimited:
    case State::bare_string: return true;
    default: return false;
  }
}

void ValueReader::add_held(Held& out) const {
  out.add(HeldReason::value, held_);
  out.add(HeldReason::separator, pending_);
  if (in_word() || state_ == State::bare_string || is_at_quote()) out.add(HeldReason::value, word_);
  out.add(HeldReason::value, typing_.text());
  if (quotes_ != nullptr) out.add(cursor_);
}

void ValueReader::end(std::string& out) {
  out_ = &out;
  copied_ = kNothingToCopy;
  if (state_ == State::marked) {  // a possible closing quote is not part of the text
    typing_.cut_off(out);
  } else if (state_ == State::word) {
    write_word_beginning();
    word_.clear();
  }
  decide_cut();
}

void ValueReader::visit(Archive& archive) {
  archive.given(dialect_, listener_, max_depth_, delimiters_, quotes_, is_argument_, guards_);
  archive.scratch(in_, out_, at_, copied_, unsure_quote_);
  archive.choice(state_, State::done);
  archive.choice(place_, State::done);
  archive.choice(beginning_, Beginning::equals);
  archive.choice(next_, Beginning::equals);
  archive(quote_, is_key_, is_raw_, is_unescaped_, is_triple_, is_in_list_, count_, digits_,
          escape_, code_point_, repairs_);
  archive(is_value_quote_, stack_, word_, pending_, held_, delimiter_, skips_delimiter_, cursor_,
          follows_calls_, typing_);
  archive.expect(calls_ || !follows_calls_);
  if (calls_) calls_->visit(archive);
  if (archive.is_reading()) check(archive);
}

// Throws if the parts are inconsistent.
void ValueReader::check(Archive& archive) {
  constexpr std::string_view kFrames = "oatsu";
  archive.expect(stack_.size() <= max_depth_);
  archive.expect(stack_.find_first_not_of(kFrames) == std::string::npos);
  const std::size_t delimiters = delimiters_ == nullptr ? 0 : delimiters_->size();
  archive.expect(delimiter_ <= delimiters);
  archive.expect(state_ != State::delimited || delimiter_ < delimiters);
  const State behind = state_ == State::opening ? place_ : state_;  // the state after it
  for (const State state : {state_, behind}) {
    const bool is_inside = state == State::first_element || state == State::element ||
                           state == State::first_key || state == State::key ||
                           state == State::colon || state == State::after_value ||
                           state == State::key_word;
    archive.expect(!is_inside || !stack_.empty());
    archive.expect(has_own_quotes() || (state != State::marked && state != State::opening &&
                                        state != State::delimited));
  }
  archive.expect(!is_key_ || !stack_.empty() || state_ == State::done);
}

}  // namespace unspool
