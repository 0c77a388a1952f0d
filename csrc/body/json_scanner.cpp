#include "body/json_scanner.h"

#include <array>

#include "text/hex.h"
#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Bytes that mean nothing inside a string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0x20; byte < 256; ++byte) table[byte] = byte != '"' && byte != '\\';
  return table;
}();

}  // namespace

ScanResult JsonScanner::put(std::string_view text, std::string* out) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (state_ == State::string) {
      std::size_t run = i;
      while (run < text.size() && kPlain[static_cast<unsigned char>(text[run])]) ++run;
      if (out != nullptr) out->append(text, i, run - i);
      i = run;
      if (i == text.size()) break;
      if (static_cast<unsigned char>(text[i]) < 0x20) {
        if (out != nullptr) append_json_escaped(text.substr(i, 1), *out);
        ++i;
        continue;
      }
    }
    const char byte = text[i];
    if (is_number_complete() && end_number(byte)) {
      if (state_ == State::done) return {i, ScanStatus::done};
      continue;  // the byte belongs to the container
    }
    if (!step(byte)) return {i, ScanStatus::failed};
    if (out != nullptr) *out += byte;
    ++i;
    if (state_ == State::done) return {i, ScanStatus::done};
  }
  return {i, ScanStatus::more};
}

ScanResult JsonScanner::put_to_event(std::string_view text, ScanEvent& event) {
  event = ScanEvent::none;
  std::size_t i = 0;
  while (i < text.size()) {
    if (state_ == State::string) {
      while (i < text.size() && kPlain[static_cast<unsigned char>(text[i])]) ++i;
      if (i == text.size()) break;
    }
    const char byte = text[i];
    const State before = state_;
    if (is_number_complete() && end_number(byte)) {
      event = ScanEvent::number_ends;
      return {i, state_ == State::done ? ScanStatus::done : ScanStatus::more};
    }
    if (!step(byte)) return {i, ScanStatus::failed};
    ++i;
    if (state_ == State::done) return {i, ScanStatus::done};
    event = event_of(byte, before);
    if (event != ScanEvent::none) break;
  }
  return {i, ScanStatus::more};
}

// What the step to the state of now has read.
ScanEvent JsonScanner::event_of(char byte, State before) const {
  switch (state_) {
    case State::first_element:
    case State::first_key: return is_space(byte) ? ScanEvent::none : ScanEvent::opened;
    default: break;
  }
  if (before == state_) {
    const bool is_raw = state_ == State::string && static_cast<unsigned char>(byte) < 0x20;
    return is_raw ? ScanEvent::raw_control : ScanEvent::none;
  }
  switch (state_) {
    case State::string:
      if (before == State::escape || before == State::hex || !string_is_key_) {
        return ScanEvent::none;
      }
      return ScanEvent::key_begins;
    case State::colon: return ScanEvent::key_ends;
    case State::minus: return ScanEvent::number_begins;
    case State::zero:
    case State::integer: return before == State::minus ? ScanEvent::none : ScanEvent::number_begins;
    case State::key: return ScanEvent::comma;
    case State::value: return byte == ',' ? ScanEvent::comma : ScanEvent::none;
    default: return ScanEvent::none;
  }
}

bool JsonScanner::is_complete() const {
  return state_ == State::done || (depth_ == 0 && is_number_complete());
}

bool JsonScanner::close(std::string& out) {
  switch (state_) {
    case State::key: return false;  // a comma cannot be taken back
    case State::value:
      if (depth_ > 0 && !is_object_[depth_ - 1U]) return false;
      out += "null";
      break;
    case State::colon: out += ": null"; break;
    case State::escape: out += '\\'; [[fallthrough]];
    case State::hex:
      if (state_ == State::hex) out.append(static_cast<std::size_t>(4 - count_), '0');
      [[fallthrough]];
    case State::string: out += string_is_key_ ? "\": null" : "\""; break;
    case State::literal: out += literal_ + count_; break;
    case State::minus:
    case State::point:
    case State::exponent:
    case State::exponent_sign: out += '0'; break;
    default: break;
  }
  while (depth_ > 0) out += is_object_[--depth_] ? '}' : ']';
  state_ = State::done;
  return true;
}

bool JsonScanner::is_number_complete() const {
  return state_ == State::zero || state_ == State::integer || state_ == State::fraction ||
         state_ == State::exponent_digits;
}

// A number ends at the first byte that cannot belong to it. True where this one does not.
bool JsonScanner::end_number(char byte) {
  const bool goes_on = (is_digit(byte) && state_ != State::zero) ||
                       (byte == '.' && (state_ == State::zero || state_ == State::integer)) ||
                       ((byte == 'e' || byte == 'E') && state_ != State::exponent_digits);
  if (goes_on) return false;
  end_value();
  return true;
}

void JsonScanner::end_value() { state_ = depth_ == 0 ? State::done : State::after_value; }

bool JsonScanner::begin_value(char byte) {
  switch (byte) {
    case '{':
    case '[':
      if (depth_ == kMaxDepth) return false;
      is_object_[depth_++] = byte == '{';
      state_ = byte == '{' ? State::first_key : State::first_element;
      return true;
    case '"':
      string_is_key_ = false;
      state_ = State::string;
      return true;
    case 't': literal_ = "true"; break;
    case 'f': literal_ = "false"; break;
    case 'n': literal_ = "null"; break;
    case '-': state_ = State::minus; return true;
    case '0': state_ = State::zero; return true;
    default:
      if (!is_digit(byte)) return false;
      state_ = State::integer;
      return true;
  }
  state_ = State::literal;
  count_ = 1;
  return true;
}

bool JsonScanner::end_container(char byte) {
  if (byte != (is_object_[depth_ - 1U] ? '}' : ']')) return false;
  --depth_;
  end_value();
  return true;
}

bool JsonScanner::step(char byte) {
  switch (state_) {
    case State::value: return is_space(byte) || begin_value(byte);
    case State::first_element:
      if (byte == ']') return end_container(byte);
      return is_space(byte) || begin_value(byte);
    case State::first_key:
    case State::key:
      if (byte == '}' && state_ == State::first_key) return end_container(byte);
      if (byte == '"') {
        string_is_key_ = true;
        state_ = State::string;
        return true;
      }
      return is_space(byte);
    case State::colon:
      if (byte == ':') {
        state_ = State::value;
        return true;
      }
      return is_space(byte);
    case State::after_value:
      if (byte == ',') {
        state_ = is_object_[depth_ - 1U] ? State::key : State::value;
        return true;
      }
      return is_space(byte) || end_container(byte);
    case State::string:
      if (byte == '\\') {
        state_ = State::escape;
      } else if (byte == '"') {
        if (string_is_key_) {
          state_ = State::colon;
        } else {
          end_value();
        }
      }
      return true;
    case State::escape:
      if (byte == 'u') {
        state_ = State::hex;
        count_ = 0;
        return true;
      }
      state_ = State::string;
      return std::string_view("\"\\/bfnrt").find(byte) != std::string_view::npos;
    case State::hex:
      if (hex_value(byte) < 0) return false;
      if (++count_ == 4) state_ = State::string;
      return true;
    case State::literal:
      if (byte != literal_[count_]) return false;
      if (literal_[++count_] == '\0') end_value();
      return true;
    case State::minus: state_ = byte == '0' ? State::zero : State::integer; return is_digit(byte);
    case State::zero:
    case State::integer:
      if (byte == '.') {
        state_ = State::point;
      } else if (byte == 'e' || byte == 'E') {
        state_ = State::exponent;
      }
      return true;
    case State::point: state_ = State::fraction; return is_digit(byte);
    case State::fraction:
      if (byte == 'e' || byte == 'E') state_ = State::exponent;
      return true;
    case State::exponent:
      state_ = is_digit(byte) ? State::exponent_digits : State::exponent_sign;
      return is_digit(byte) || byte == '+' || byte == '-';
    case State::exponent_sign: state_ = State::exponent_digits; return is_digit(byte);
    case State::exponent_digits: return true;
    case State::done: return false;
  }
  return false;
}

}  // namespace unspool
