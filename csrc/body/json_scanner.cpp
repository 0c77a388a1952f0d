#include "body/json_scanner.h"

namespace unspool {

namespace {

/// Copies what is read.
struct CopyWatch : ScanWatch {
  std::string_view text;
  std::string* out;
  std::size_t copied = 0;

  CopyWatch(std::string_view from, std::string* to) : text(from), out(to) {}

  void copy_to(std::size_t end) {
    out->append(text, copied, end - copied);
    copied = end;
  }

  bool raw_control(std::size_t at) {
    copy_to(at);
    append_json_escaped(text.substr(at, 1), *out);
    copied = at + 1;
    return true;
  }
};

std::string_view literal_rest(JsonState state) {
  switch (state) {
    case JsonState::t_rue: return "rue";
    case JsonState::tr_ue: return "ue";
    case JsonState::tru_e:
    case JsonState::fals_e: return "e";
    case JsonState::f_alse: return "alse";
    case JsonState::fa_lse: return "lse";
    case JsonState::fal_se: return "se";
    case JsonState::n_ull: return "ull";
    case JsonState::nu_ll: return "ll";
    case JsonState::nul_l: return "l";
    default: return {};
  }
}

}  // namespace

ScanResult JsonScanner::put(std::string_view text, std::string* out) {
  if (out == nullptr) {
    ScanWatch none;
    return put_watched(text, none);
  }
  CopyWatch copy(text, out);
  const ScanResult result = put_watched(text, copy);
  copy.copy_to(result.consumed);
  return result;
}

bool JsonScanner::is_complete() const {
  return state_ == State::done || (depth_ == 0 && is_number_complete());
}

bool JsonScanner::is_number_complete() const {
  return state_ == State::zero || state_ == State::integer || state_ == State::fraction ||
         state_ == State::exponent_digits;
}

bool JsonScanner::close(std::string& out) {
  if (state_ == State::key) return false;  // a comma cannot be taken back
  if (state_ == State::value) {
    if (depth_ > 0 && !is_object_[depth_ - 1U]) return false;
    out += "null";
  }
  if (state_ == State::colon) out += ": null";
  if (state_ == State::escape) out += '\\';
  if (state_ >= State::hex_1 && state_ <= State::hex_4) {
    const auto missing = static_cast<std::size_t>(State::hex_4) - static_cast<std::size_t>(state_);
    out.append(missing + 1, '0');
  }
  if (in_string()) out += string_is_key_ ? "\": null" : "\"";
  out += literal_rest(state_);
  if (state_ == State::minus || state_ == State::point || state_ == State::exponent ||
      state_ == State::exponent_sign) {
    out += '0';
  }
  while (depth_ > 0) out += is_object_[--depth_] ? '}' : ']';
  state_ = State::done;
  return true;
}

}  // namespace unspool
