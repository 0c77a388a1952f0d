#include "body/json_dialect.h"

#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool is_bare(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.' || byte == '$' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

}  // namespace

bool JsonDialectReader::is_complete() const {
  return state_ == State::done ||
         (state_ == State::scalar && depth_ == 0 && scanner_.is_complete());
}

ScanResult JsonDialectReader::put(std::string_view text, std::string& out) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (state_ == State::scalar) {
      if (is_key_) {
        const ScanResult result = scanner_.put(text.substr(i), &key_);
        i += result.consumed;
        if (result.status == ScanStatus::failed) return {i, ScanStatus::failed};
        if (result.status == ScanStatus::done) end_item(out);
        continue;
      }
      const ScanResult result = scanner_.put(text.substr(i), &out);
      i += result.consumed;
      if (result.status == ScanStatus::failed) return {i, ScanStatus::failed};
      if (result.status == ScanStatus::done) end_item(out);
      continue;
    }
    is_left_ = false;
    if (!step(text[i], out)) return {i, ScanStatus::failed};
    if (!is_left_) ++i;
  }
  return {i, state_ == State::done ? ScanStatus::done : ScanStatus::more};
}

// Reads a byte; that which begins a number or a word is left to the scanner.
bool JsonDialectReader::step(char byte, std::string& out) {
  switch (state_) {
    case State::opening: return read_opening(byte, out);
    case State::string: read_string(byte, out); return true;
    case State::bare_key:
      if (is_bare(byte)) {
        key_ += byte;
        return true;
      }
      if (byte != ':' && !is_space(byte)) return false;
      key_ += '"';
      end_item(out);
      break;
    default: break;
  }
  if (is_space(byte)) {
    if (depth_ > 0) out += byte;
    return true;
  }
  switch (state_) {
    case State::value:
    case State::first_element:
    case State::first_key:
    case State::key: return begin(byte, out);
    case State::colon:
      if (byte != ':') return false;
      out += byte;
      state_ = State::value;
      return true;
    case State::after_value:
      if (byte != ',') return close(byte, out);
      out += byte;
      state_ = is_object_[depth_ - 1] ? State::key : State::value;
      return true;
    default: return false;
  }
}

bool JsonDialectReader::begin(char byte, std::string& out) {
  for (const auto& [open, end] : spec_->string_delims) {
    if (open[0] != byte) continue;
    place_ = state_;
    pending_.clear();
    state_ = State::opening;
    return read_opening(byte, out);
  }
  return begin_plain(byte, out);
}

bool JsonDialectReader::begin_plain(char byte, std::string& out) {
  if (state_ == State::first_key || state_ == State::key) {
    if (byte == '}' && state_ == State::first_key) return close(byte, out);
    is_key_ = true;
    if (byte == '"') {
      key_.clear();
      state_ = State::scalar;
      scanner_.reset();
      scanner_.put("\"", &key_);
      return true;
    }
    if (!spec_->unquoted_keys || !is_bare(byte)) return false;
    key_ = '"';
    key_ += byte;
    state_ = State::bare_key;
    return true;
  }
  if (byte == ']' && state_ == State::first_element) return close(byte, out);
  begin_value(byte, out);
  if (byte == '{' || byte == '[') return open(byte, out);
  is_key_ = false;
  state_ = State::scalar;
  scanner_.reset();
  is_left_ = byte != '"';
  if (!is_left_) scanner_.put("\"", &out);
  return true;
}

void JsonDialectReader::begin_value(char byte, std::string& out) {
  if (listener_ != nullptr) listener_->on_value(depth_, byte, out);
}

bool JsonDialectReader::open(char byte, std::string& out) {
  if (depth_ == JsonScanner::kMaxDepth) return false;
  is_object_[depth_++] = byte == '{';
  out += byte;
  state_ = byte == '{' ? State::first_key : State::first_element;
  return true;
}

bool JsonDialectReader::close(char byte, std::string& out) {
  if (depth_ == 0 || byte != (is_object_[depth_ - 1] ? '}' : ']')) return false;
  --depth_;
  out += byte;
  is_key_ = false;
  end_item(out);
  return true;
}

bool JsonDialectReader::read_opening(char byte, std::string& out) {
  const auto& delims = spec_->string_delims;
  const std::string longer = pending_ + byte;
  for (std::size_t i = 0; i < delims.size(); ++i) {
    if (delims[i].first == longer) {
      delim_ = i;
      pending_.clear();
      state_ = State::string;
      is_key_ = place_ == State::first_key || place_ == State::key;
      if (is_key_) {
        key_ = '"';
      } else {
        begin_value('"', out);
        out += '"';
      }
      return true;
    }
  }
  for (const auto& [open, end] : delims) {
    if (!open.starts_with(longer)) continue;
    pending_ = longer;
    return true;
  }
  // No delimiter: what seemed to be one is JSON.
  state_ = place_;
  const std::string plain = longer;
  pending_.clear();
  if (!begin_plain(plain[0], out)) return false;
  const bool is_read =
      put(std::string_view(plain).substr(is_left_ ? 0 : 1), out).status != ScanStatus::failed;
  is_left_ = false;
  return is_read;
}

void JsonDialectReader::read_string(char byte, std::string& out) {
  const std::string& end = spec_->string_delims[delim_].second;
  std::string& into = is_key_ ? key_ : out;
  pending_ += byte;
  while (!end.starts_with(pending_)) {
    append_json_escaped(std::string_view(pending_).substr(0, 1), into);
    pending_.erase(0, 1);
  }
  if (pending_.size() < end.size()) return;
  pending_.clear();
  into += '"';
  end_item(out);
}

// A key or a value is whole.
void JsonDialectReader::end_item(std::string& out) {
  if (is_key_) {
    out += key_;
    if (listener_ != nullptr) listener_->on_key(depth_, key_);
    is_key_ = false;
    state_ = State::colon;
    return;
  }
  state_ = depth_ == 0 ? State::done : State::after_value;
  if (listener_ != nullptr) listener_->on_value_end(depth_, out);
}

}  // namespace unspool
