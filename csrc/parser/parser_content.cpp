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
  if (may_chain_) {
    const bool is_open = !cursor_.would_continue(static_cast<unsigned char>(text[0])) &&
                         trim(cursor_.held()).empty();
    if (is_open && chains_at(text[0])) {
      cursor_.flush([this](std::string_view held) { release(held); });
      begin_bare(call_, closer_pending_);
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
  return call().body == BodyKind::pythonic && closer_pending_ && begins_python_name(byte);
}

// Content in which a call may begin without an opener, at the start of the message or of a line.
std::size_t Parser::read_bare(std::string_view text) {
  const char byte = text[0];
  std::size_t size = 1;
  if (bare_candidate_ >= 0) return read_candidate(text);
  const bool in_gap = in_section_ && boundary_ == Boundary::after_markup;
  const bool is_place = (line_ != Line::inside || in_gap) && is_blank(cursor_.held());
  if (is_place && !in_fence_ && cursor_.would_continue(static_cast<unsigned char>(byte))) {
    const int candidate = bare_call_at(byte);
    if (candidate >= 0) {
      cursor_.flush([this](std::string_view held) { release(held); });
      bare_candidate_ = candidate;
      return read_candidate(text);
    }
  }
  if (is_place && !cursor_.would_continue(static_cast<unsigned char>(byte))) {
    const int call = in_fence_ ? -1 : bare_call_at(byte);
    const auto& calls = format_->spec().calls;
    const bool has_fences =
        std::any_of(calls.begin(), calls.end(), [](const CallSpec& c) { return c.fenced; });
    if (call >= 0 || (has_fences && byte == '`' && line_ != Line::inside)) {
      cursor_.flush([this](std::string_view held) { release(held); });
      raw_.clear();
      if (call >= 0) {
        begin_bare(static_cast<std::uint8_t>(call), false);
      } else {
        enter(State::fence);
      }
      return 0;
    }
  }
  if (!in_gap && (line_ == Line::inside || !is_space(byte))) {
    size = std::min(text.find('\n'), text.size() - 1) + 1;
  }
  const MarkerCursor::Found found =
      cursor_.put(text.substr(0, size), [this](std::string_view piece) { release_content(piece); });
  const char last = text[found.consumed - 1];
  if (line_ != Line::start || !is_space(last) || found.consumed > 1) {
    line_ = last == '\n' ? Line::begin : Line::inside;
  }
  if (found.marker != nullptr) on_marker(found);
  return found.consumed;
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
    raw_.clear();
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
    const bool behind_markup = in_section_ && boundary_ == Boundary::after_markup;
    const bool may_begin = (place == BarePlace::line && line_ != Line::inside) ||
                           (place == BarePlace::start && line_ == Line::start) ||
                           (place == BarePlace::section && behind_markup);
    if (may_begin && calls[i].starts.find(byte) != std::string::npos) return static_cast<int>(i);
  }
  return -1;
}

// The opening line of a fenced block, until it is clear whether a call follows.
std::size_t Parser::read_fence(char byte) {
  const auto& calls = format_->spec().calls;
  const std::size_t line_end = raw_.find('\n');
  if (raw_.size() < 3) {
    if (byte == '`') {
      raw_ += byte;
      return 1;
    }
    release_raw_as_content();
    return 0;
  }
  if (!in_fence_ && line_end == std::string::npos && raw_.size() < kMaxFenceBytes &&
      (is_fence_info(byte) || byte == '\n')) {
    raw_ += byte;
    return 1;
  }
  const bool is_opening = !in_fence_;
  in_fence_ = is_opening;
  if (is_opening && line_end != std::string::npos) {
    if (is_space(byte) && raw_.size() < line_end + kMaxSpaceBytes) {
      in_fence_ = false;  // still undecided
      raw_ += byte;
      return 1;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].fenced || calls[i].starts.find(byte) == std::string::npos) continue;
      begin_bare(static_cast<std::uint8_t>(i), true);
      return 0;
    }
  }
  const bool at_line_begin = raw_.back() == '\n';
  release_raw_as_content();
  line_ = at_line_begin ? Line::begin : Line::inside;
  return 0;
}

std::string_view Parser::drop_skipped(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && i < skip_.size() && text[i] == skip_[i]) ++i;
  audit(Fate::whitespace, text.substr(0, i), skip_is_reasonings_);
  skip_ = i == text.size() ? skip_.substr(i) : std::string_view{};
  return text.substr(i);
}

void Parser::emit_reasoning(std::string_view text) {
  reasoning_is_empty_ = false;
  last_byte_ = text.back();
  out_->add_text(EventKind::reasoning, -1, text, token_end_);
  audit(Fate::reasoning, text);
}

// Reasoning behind the label that its opener may have; nothing while that is being read.
std::string_view Parser::drop_label(std::string_view text) {
  if (label_read_ == std::string::npos) return text;
  const std::string& label = format_->spec().reasoning->label;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != label[label_read_]) {
      end_label();
      return text.substr(i);
    }
    if (++label_read_ == label.size()) {
      end_label();
      return text.substr(i + 1);
    }
  }
  return {};
}

// Whether the label, where one is being read, may go on with this text.
bool Parser::fits_label(std::string_view text) const {
  if (label_read_ == std::string::npos || text.empty()) return true;
  return text[0] == format_->spec().reasoning->label[label_read_];
}

// What has been read of the label is markup if it is all but white space, else reasoning.
void Parser::end_label() {
  if (label_read_ == std::string::npos) return;
  const std::string_view label = format_->spec().reasoning->label;
  const std::string_view read = label.substr(0, label_read_);
  label_read_ = std::string::npos;
  if (trim(read) == trim(label)) {
    audit(Fate::marker, read, true);
  } else if (!read.empty()) {
    emit_reasoning(read);
  }
}

void Parser::release_reasoning(std::string_view text) {
  if (text.empty()) return;
  if (!idle_.empty()) {
    if (is_blank(text) && space_.size() + text.size() <= kMaxSpaceBytes) {
      space_ += text;
      return;
    }
    const std::string held = std::exchange(idle_, {}) + std::exchange(space_, {});
    emit_reasoning(held);
  }
  emit_reasoning(text);
}

void Parser::release_content(std::string_view text) {
  if (!skip_.empty()) text = drop_skipped(text);
  if (text.empty()) return;
  if (boundary_ == Boundary::none) return emit_content(text);
  const std::string_view separators =
      boundary_ == Boundary::after_markup && may_chain_ ? std::string_view(call().separators) : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (is_space(byte) || separators.find(byte) != std::string_view::npos) {
      space_ += byte;
      if (space_.size() <= kMaxSpaceBytes) continue;
      text = text.substr(i + 1);
    } else if (closer_pending_ && std::string_view("}])").find(byte) != std::string_view::npos) {
      // A bracket too many: models do this, and nobody wants to read it.
      drop_space(Fate::whitespace);
      calls_.put_malformed(text.substr(i, 1), "a bracket follows the call's end", token_end_,
                           *out_);
      put_call_text(Fate::malformed, text.substr(i, 1));
      continue;
    } else {
      text = text.substr(i);
    }
    if (gives_up_section()) return;
    boundary_ = Boundary::none;
    may_chain_ = false;
    const std::string held = std::exchange(idle_, {}) + std::exchange(space_, {});
    if (!held.empty()) emit_content(held);
    if (!text.empty()) emit_content(text);
    return;
  }
}

// Text behind a section's opener: a mention where text stands before it too.
bool Parser::gives_up_section() {
  if (!trial_.is_on() || calls_.index() != place_.calls.index) return false;
  if (place_.state == State::content && place_.boundary != Boundary::none) {
    settle_trial();
    return false;
  }
  outcome_ = Outcome::mention;
  return true;
}

void Parser::emit_content(std::string_view text) {
  if (has_rehearsed()) {
    rehearsed_bytes_ += text.size();
    return emit_reasoning(text);
  }
  has_content_ = true;
  last_byte_ = text.back();
  out_->add_text(EventKind::content, -1, text, token_end_);
  audit(Fate::content, text);
}

void Parser::release_raw_as_content() {
  std::string raw = std::move(raw_);
  raw_.clear();
  for (; !specials_.empty(); specials_.pop_back()) {  // content leaves them out
    const auto [begin, size] = specials_.back();
    if (begin < raw.size()) raw.erase(begin, size);
  }
  line_ = Line::inside;
  enter(State::content);
  release_content(raw);
}

void Parser::drop_space(Fate fate, bool of_reasoning) {
  audit(Fate::marker, idle_, of_reasoning);
  idle_.clear();
  audit(fate, space_, of_reasoning);
  space_.clear();
}

// A marker has been read: white space up to the next one is markup, `skip` in any case.
void Parser::after_markup(std::string_view skip) {
  boundary_ = Boundary::after_markup;
  skip_ = skip;
  enter(State::content);
}

void Parser::add_audit(Fate fate, std::string_view text, bool of_reasoning, std::int32_t call) {
  while (!ignored_.empty() && ignored_.front().at <= audited_bytes_ + text.size()) {
    const Ignored ignored = std::move(ignored_.front());
    ignored_.erase(ignored_.begin());
    const std::size_t before = ignored.at - audited_bytes_;
    out_->add_audit(fate, text.substr(0, before), of_reasoning, call);
    out_->add_audit(Fate::marker, ignored.text);
    text.remove_prefix(before);
    audited_bytes_ = ignored.at + ignored.text.size();
  }
  out_->add_audit(fate, text, of_reasoning, call);
  audited_bytes_ += text.size();
}

// The end of a turn. It keeps its place in the audit where text before it still waits for its fate.
// `kept`: how many of its bytes the trial has.
void Parser::ignore(std::string_view marker, std::size_t kept) {
  if (!audits_) return;
  std::uint64_t at = audited_bytes_ + idle_.size() + space_.size();
  if (trial_.is_on()) {
    at = place_.audited_bytes + place_.idle.size() + place_.space.size() + trial_.marker().size() +
         trial_.input().size() - kept;
  } else {
    at += state_ == State::body && calls_.is_open() ? pending_text_.size() : raw_.size();
    for (const Ignored& ignored : ignored_) at += ignored.text.size();
  }
  if (at == audited_bytes_) return audit(Fate::marker, marker);
  ignored_.push_back({at, std::string(marker)});
}

void Parser::audit_header(std::string_view header, bool of_reasoning) {
  audit(Fate::marker, header_opener_, of_reasoning);
  audit(Fate::marker, header, of_reasoning);
  header_opener_.clear();
}

}  // namespace unspool
