// The parser between regions: text, and where calls may begin without an opener.
#include <algorithm>
#include <utility>

#include "body/pythonic.h"
#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer runs are content, not markup: it bounds what a stream holds.
constexpr std::size_t kMaxSpaceBytes = 64;
constexpr std::size_t kMaxFenceBytes = 32;

bool is_fence_info(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') ||
         std::string_view("_+-. \t\r").find(byte) != std::string_view::npos;
}

}  // namespace

std::size_t Parser::read_content(std::string_view text) {
  if (at_.may_chain) {
    const bool is_open = !cursor_.would_continue(static_cast<unsigned char>(text[0])) &&
                         trim(cursor_.held()).empty();
    if (is_open && chains_at(text[0])) {
      cursor_.flush([this](std::string_view held) { release(held); });
      begin_bare(at_.call, at_.closer_pending);
      return 0;
    }
    text = text.substr(0, 1);
  }
  if (format_->has_bare_calls()) return read_bare(text);
  const MarkerCursor::Found found =
      cursor_.put(text, [this](std::string_view piece) { release_content(piece); });
  if (found.marker != nullptr) on_marker(found);
  return found.consumed;
}

bool Parser::chains_at(char byte) const {
  if (call().body == BodyKind::json_call) return byte == '{';
  return call().body == BodyKind::pythonic && at_.closer_pending && begins_python_name(byte);
}

// Content in which a call may begin without an opener, at the start of the message or of a line.
std::size_t Parser::read_bare(std::string_view text) {
  const char byte = text[0];
  std::size_t size = 1;
  if (bare_candidate_ >= 0) return read_candidate(text);
  const bool in_gap = at_.in_section && at_.boundary == Boundary::after_markup;
  if ((at_.line != Line::inside || in_gap) && is_blank(cursor_.held())) {
    if (begins_candidate(byte)) return read_candidate(text);
    if (begins_bare(byte)) return 0;
  }
  if (!in_gap && (at_.line == Line::inside || !is_space(byte))) {
    size = std::min(text.find('\n'), text.size() - 1) + 1;
  }
  const MarkerCursor::Found found =
      cursor_.put(text.substr(0, size), [this](std::string_view piece) { release_content(piece); });
  const char last = text[found.consumed - 1];
  if (at_.line != Line::start || !is_space(last) || found.consumed > 1) {
    at_.line = last == '\n' ? Line::begin : Line::inside;
  }
  if (found.marker != nullptr) on_marker(found);
  return found.consumed;
}

// Whether a call begins with this byte, or the opening line of a fenced block, or its end.
bool Parser::begins_bare(char byte) {
  if (cursor_.would_continue(static_cast<unsigned char>(byte))) return false;
  const auto& calls = format_->spec().calls;
  const int call = at_.in_fence ? -1 : bare_call_at(byte);
  const bool is_fence =
      byte == '`' && at_.line != Line::inside &&
      std::any_of(calls.begin(), calls.end(), [](const CallSpec& spec) { return spec.fenced; });
  if (call < 0 && !is_fence) return false;
  cursor_.flush([this](std::string_view held) { release(held); });
  reading_.raw.clear();
  call >= 0 ? begin_bare(static_cast<std::uint8_t>(call), false) : enter(State::fence);
  return true;
}

// Whether a call or a marker begins with this byte.
bool Parser::begins_candidate(char byte) {
  if (at_.in_fence || !cursor_.would_continue(static_cast<unsigned char>(byte))) return false;
  const int candidate = bare_call_at(byte);
  if (candidate < 0) return false;
  cursor_.flush([this](std::string_view held) { release(held); });
  bare_candidate_ = candidate;
  return true;
}

// A call may begin here, or a marker: a bare call is tried once it can be no marker any more.
std::size_t Parser::read_candidate(std::string_view text) {
  std::string released;
  const MarkerCursor::Found found =
      cursor_.put(text.substr(0, 1), [&](std::string_view piece) { released += piece; });
  if (found.marker != nullptr) {
    bare_candidate_ = -1;
    on_marker(found);
  } else if (!released.empty()) {
    cursor_.flush([&](std::string_view piece) { released += piece; });
    reading_.raw.clear();
    begin_bare(static_cast<std::uint8_t>(bare_candidate_), false);
    std::string_view rest = released;
    read_again(rest);
  }
  return 1;
}

int Parser::bare_call_at(char byte) const {
  const auto& calls = format_->spec().calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const BarePlace place = calls[i].bare;
    const bool after_marker = at_.in_section && at_.boundary == Boundary::after_markup;
    const bool mends =
        options_.repair && tools() != nullptr;  // then text may stand before the call
    if (calls[i].is_slip && !mends) continue;
    const bool is_any_line = place == BarePlace::line || (place == BarePlace::start && mends);
    const bool may_begin = (is_any_line && at_.line != Line::inside) ||
                           (place == BarePlace::start && at_.line == Line::start) ||
                           (place == BarePlace::section && after_marker);
    if (may_begin && calls[i].starts.find(byte) != std::string::npos) return static_cast<int>(i);
  }
  return -1;
}

// Whether what may be a fence goes on with this byte: its backticks, and the opening line of a
// block with the white space after it.
bool Parser::fence_goes_on(char byte) const {
  if (reading_.raw.size() < 3) return byte == '`';
  if (at_.in_fence) return false;
  const std::size_t line_end = reading_.raw.find('\n');
  if (line_end != std::string::npos)
    return is_space(byte) && reading_.raw.size() < line_end + kMaxSpaceBytes;
  return reading_.raw.size() < kMaxFenceBytes && (is_fence_info(byte) || byte == '\n');
}

// The opening line of a fenced block, until it is clear whether a call follows; or its end.
std::size_t Parser::read_fence(char byte) {
  if (fence_goes_on(byte)) {
    reading_.raw += byte;
    return 1;
  }
  if (reading_.raw.size() < 3) {
    release_raw_as_content();
    return 0;
  }
  at_.in_fence = !at_.in_fence;
  if (at_.in_fence && reading_.raw.find('\n') != std::string::npos) {
    const auto& calls = format_->spec().calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].fenced || calls[i].starts.find(byte) == std::string::npos) continue;
      begin_bare(static_cast<std::uint8_t>(i), true);
      return 0;
    }
  }
  const bool at_line_begin = reading_.raw.back() == '\n';
  release_raw_as_content();
  at_.line = at_line_begin ? Line::begin : Line::inside;
  return 0;
}

std::string_view Parser::drop_skipped(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && i < at_.skip.size() && text[i] == at_.skip[i]) ++i;
  audit(Fate::whitespace, text.substr(0, i), at_.skip_is_reasonings);
  at_.skip = i == text.size() ? at_.skip.substr(i) : std::string_view{};
  return text.substr(i);
}

void Parser::emit_reasoning(std::string_view text) {
  at_.reasoning_is_empty = false;
  at_.last_byte = text.back();
  out_->add_text(EventKind::reasoning, -1, text, token_end_);
  audit(Fate::reasoning, text);
}

// Reasoning after the label that its opener may have; nothing while that is being read.
std::string_view Parser::drop_label(std::string_view text) {
  if (at_.label_read == std::string::npos) return text;
  const std::string& label = format_->spec().reasoning->label;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != label[at_.label_read]) {
      end_label();
      return text.substr(i);
    }
    if (++at_.label_read == label.size()) {
      end_label();
      return text.substr(i + 1);
    }
  }
  return {};
}

// Whether the label, where one is being read, may go on with this text.
bool Parser::fits_label(std::string_view text) const {
  if (at_.label_read == std::string::npos || text.empty()) return true;
  return text[0] == format_->spec().reasoning->label[at_.label_read];
}

// What has been read of the label is markup if it is all but white space, else reasoning.
void Parser::end_label() {
  if (at_.label_read == std::string::npos) return;
  const std::string_view label = format_->spec().reasoning->label;
  const std::string_view read = label.substr(0, at_.label_read);
  at_.label_read = std::string::npos;
  if (trim(read) == trim(label)) {
    audit(Fate::marker, read, true);
  } else if (!read.empty()) {
    emit_reasoning(read);
  }
}

void Parser::release_reasoning(std::string_view text) {
  if (text.empty()) return;
  if (!at_.idle.empty()) {
    if (is_blank(text) && at_.space.size() + text.size() <= kMaxSpaceBytes) {
      at_.space += text;
      return;
    }
    const std::string held = std::exchange(at_.idle, {}) + std::exchange(at_.space, {});
    emit_reasoning(held);
  }
  emit_reasoning(text);
}

void Parser::release_content(std::string_view text) {
  if (!at_.skip.empty()) text = drop_skipped(text);
  if (text.empty()) return;
  if (at_.boundary == Boundary::none) return emit_content(text);
  const std::string_view separators = at_.boundary == Boundary::after_markup && at_.may_chain
                                          ? std::string_view(call().separators)
                                          : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (is_space(byte) || separators.find(byte) != std::string_view::npos) {
      at_.space += byte;
      if (at_.space.size() <= kMaxSpaceBytes) continue;
      text = text.substr(i + 1);
    } else if (at_.closer_pending && std::string_view("}])").find(byte) != std::string_view::npos) {
      // A bracket too many: models write it, and no one wants to read it.
      drop_space(Fate::whitespace);
      calls_.put_malformed(text.substr(i, 1), "a bracket follows the call's end", token_end_,
                           *out_);
      put_call_text(Fate::malformed, text.substr(i, 1));
      continue;
    } else {
      text = text.substr(i);
    }
    if (gives_up_section()) return;
    at_.boundary = Boundary::none;
    at_.may_chain = false;
    const std::string held = std::exchange(at_.idle, {}) + std::exchange(at_.space, {});
    if (!held.empty()) emit_content(held);
    if (!text.empty()) emit_content(text);
    return;
  }
}

// Text after a section's opener: a mention if text stands before it too.
bool Parser::gives_up_section() {
  if (!trial_.is_on() || calls_.index() != trial_.calls.index) return false;
  if (trial_.place.state == State::content && trial_.place.boundary != Boundary::none) {
    settle_trial();
    return false;
  }
  trial_.outcome = Outcome::mention;
  return true;
}

void Parser::emit_content(std::string_view text) {
  if (has_rehearsed()) {
    trial_.rehearsed_bytes += text.size();
    return emit_reasoning(text);
  }
  at_.has_content = true;
  at_.last_byte = text.back();
  out_->add_text(EventKind::content, -1, text, token_end_);
  audit(Fate::content, text);
}

void Parser::release_raw_as_content() {
  std::string raw = std::move(reading_.raw);
  reading_.raw.clear();
  for (; !reading_.specials.empty(); reading_.specials.pop_back()) {  // content leaves them out
    const auto [begin, size] = reading_.specials.back();
    if (begin < raw.size()) raw.erase(begin, size);
  }
  at_.line = Line::inside;
  enter(State::content);
  release_content(raw);
}

void Parser::drop_space(Fate fate, bool of_reasoning) {
  audit(Fate::marker, at_.idle, of_reasoning);
  at_.idle.clear();
  audit(fate, at_.space, of_reasoning);
  at_.space.clear();
}

// A marker has been read: white space up to the next one is markup, `skip` in any case.
void Parser::after_markup(std::string_view skip) {
  at_.boundary = Boundary::after_markup;
  at_.skip = skip;
  enter(State::content);
}

// The end of a turn, which shows in nothing. `kept`: how many of its bytes the trial has.
void Parser::ignore(std::string_view marker, std::size_t kept) {
  if (!options_.audit) return;
  std::uint64_t at = audit_trail_.bytes() + at_.idle.size() + at_.space.size();
  if (trial_.is_on()) {
    at = trial_.audited_bytes + trial_.place.idle.size() + trial_.place.space.size() +
         trial_.marker().size() + trial_.input().size() - kept;
  } else {
    const bool in_call = at_.state == State::body && calls_.is_open();
    at += in_call ? reading_.pending_text.size() : reading_.raw.size();
    at += audit_trail_.ignored_bytes();
  }
  audit_trail_.ignore(marker, at, *out_);
}

void Parser::audit_header(std::string_view header, bool of_reasoning) {
  audit(Fate::marker, header_.opener, of_reasoning);
  audit(Fate::marker, header, of_reasoning);
  header_.opener.clear();
}

}  // namespace unspool
