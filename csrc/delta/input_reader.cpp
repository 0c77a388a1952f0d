#include "delta/input_reader.h"

namespace unspool {

void InputReader::read(std::string_view json, std::string& out) {
  while (!json.empty() && state_ != State::done) json.remove_prefix(step(json, out));
}

std::size_t InputReader::step(std::string_view json, std::string& out) {
  const char byte = json.front();
  switch (state_) {
    case State::before_key:
      if (byte == '"') {
        key_.clear();
        decoder_.reset();
        state_ = State::key;
      }
      return 1;
    case State::key: return decode(json, key_, State::before_value);
    case State::before_value:
      if (byte == ':' || byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') return 1;
      if (byte == '"' && key_ == "input") {
        decoder_.reset();
        state_ = State::input;
        return 1;
      }
      depth_ = 0;
      state_ = State::other;
      return 0;
    case State::input: return decode(json, out, State::done);
    case State::string:
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (byte == '\\') {
        is_escaped_ = true;
      } else if (byte == '"') {
        state_ = State::other;
      }
      return 1;
    default: return skip(byte);
  }
}

std::size_t InputReader::skip(char byte) {
  if (byte == '"') {
    state_ = State::string;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
  } else if (depth_ > 0) {
    if (byte == '}' || byte == ']') --depth_;
  } else if (byte == ',') {
    state_ = State::before_key;
  } else if (byte == '}') {
    state_ = State::done;
  }
  return 1;
}

std::size_t InputReader::decode(std::string_view json, std::string& out, State next) {
  const JsonStringDecoder::Piece piece = decoder_.next(json);
  out += piece.decoded;
  if (piece.is_end) state_ = next;
  // The arguments were checked before, so no byte of them is invalid.
  if (piece.is_invalid) state_ = State::done;
  return piece.consumed;
}

}  // namespace unspool
