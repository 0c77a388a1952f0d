#include "parser/parser.h"

#include <algorithm>

namespace unspool {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
// Longer runs are content, not markup: it bounds what a stream holds.
constexpr std::size_t kMaxSpaceBytes = 64;
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxFenceBytes = 32;

bool is_space(char byte) { return kSpace.find(byte) != std::string_view::npos; }

bool is_fence_info(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') ||
         std::string_view("_+-. \t\r").find(byte) != std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

Parser::Parser(std::shared_ptr<const Format> format, ParserOptions options)
    : format_(std::move(format)),
      tools_(std::move(options.tools)),
      ids_(format_->spec().call_ids, options.id_seed),
      by_id_(options.by_id),
      audits_(options.audit) {
  start_at(options.start.value_or(format_->start_without_prompt()));
}

void Parser::start_at(const Format::Start& start) {
  skip_ = start.skip;
  enter(start.in_reasoning ? State::reasoning : State::content);
}

Region Parser::region() const {
  switch (state_) {
    case State::content:
    case State::fence: return Region::content;
    case State::reasoning: return Region::reasoning;
    case State::opening:
    case State::header: return Region::tool_call;
    case State::body:
    case State::malformed:
      return is_announced_ || !call().is_tentative() ? Region::tool_call : Region::content;
  }
  return Region::content;
}

bool Parser::is_undecided() const {
  return state_ == State::fence ||
         (state_ == State::body && !is_announced_ && call().is_tentative());
}

std::size_t Parser::held_bytes() const {
  const bool has_cursor =
      state_ != State::body && state_ != State::fence && state_ != State::opening;
  return space_.size() + raw_.size() + (has_cursor ? cursor_.held().size() : 0) +
         (state_ == State::body ? body_->held_bytes() : 0);
}

void Parser::enter(State state) {
  state_ = state;
  reset_cursor();
}

void Parser::reset_cursor() {
  switch (state_) {
    case State::content:
      cursor_.reset(in_section_ || closer_pending_ ? &markers().inside : &markers().content);
      break;
    case State::reasoning: cursor_.reset(&markers().reasoning); break;
    case State::header: cursor_.reset(&markers().calls[call_].header); break;
    case State::malformed: cursor_.reset(&markers().malformed); break;
    case State::fence:
    case State::opening:
    case State::body: break;
  }
}

void Parser::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  out_ = &out;
  token_end_ = token_end;
  while (!text.empty()) text.remove_prefix(read_some(text));
}

void Parser::put_token(Symbol symbol, std::uint64_t token_end, Events& out) {
  out_ = &out;
  token_end_ = token_end;
  const std::string_view literal = format_->symbol_text(symbol);
  if (!by_id_) return put_text(literal, token_end, out);
  if (state_ == State::body || state_ == State::header || state_ == State::opening ||
      state_ == State::fence) {
    // The end of a turn is never text where it is known by id, not even inside a string.
    const auto& ignored = format_->spec().ignore;
    if (std::find(ignored.begin(), ignored.end(), literal) != ignored.end()) {
      return audit(Fate::marker, literal);
    }
  }
  if (state_ == State::body) {
    const bool was_announced = is_announced_;
    const BodyResult result = body_->put_token(symbol, literal, *this);
    on_body(result, literal, was_announced);
    if (result.consumed > 0) return;
  }
  if (state_ == State::fence) release_raw_as_content();
  if (state_ == State::opening) on_failure("what follows the opener is not a call", {});
  if (state_ == State::content) line_ = Line::inside;
  const MarkerCursor::Found found =
      cursor_.put_token(symbol, literal, [this](std::string_view text) { release(text); });
  if (state_ == State::header) raw_ += literal;
  if (found.marker != nullptr) on_marker(found);
}

std::size_t Parser::read_some(std::string_view text) {
  switch (state_) {
    case State::content: return read_content(text);
    case State::fence: return read_fence(text[0]);
    case State::opening: return read_opening(text[0]);
    case State::header: return read_header(text[0]);
    case State::body: return read_body(text);
    case State::reasoning:
    case State::malformed: break;
  }
  const MarkerCursor::Found found =
      cursor_.put(text, [this](std::string_view piece) { release(piece); });
  if (found.marker != nullptr) on_marker(found);
  return found.consumed;
}

// What the cursor gives back goes where the state says.
void Parser::release(std::string_view text) {
  switch (state_) {
    case State::content: release_content(text); break;
    case State::reasoning:
      text = drop_skipped(text);
      if (text.empty()) return;
      reasoning_is_empty_ = false;
      out_->add_text(EventKind::reasoning, -1, text, token_end_);
      audit(Fate::reasoning, text);
      break;
    case State::header: name_ += text; break;
    case State::malformed: emit_malformed(text); break;
    case State::fence:
    case State::opening:
    case State::body: break;
  }
}

// ---- content ----------------------------------------------------------------------------------

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
  const std::string_view starts = call().body == BodyKind::json_call ? std::string_view("{") : "";
  return starts.find(byte) != std::string_view::npos;
}

// Content in which a call may begin without an opener, at the start of the message or of a line.
std::size_t Parser::read_bare(std::string_view text) {
  const char byte = text[0];
  std::size_t size = 1;
  if (line_ != Line::inside && !cursor_.would_continue(static_cast<unsigned char>(byte))) {
    const int call = in_fence_ ? -1 : bare_call_at(byte);
    const auto& calls = format_->spec().calls;
    const bool has_fences =
        std::any_of(calls.begin(), calls.end(), [](const CallSpec& c) { return c.fenced; });
    if (call >= 0 || (has_fences && byte == '`')) {
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
  if (line_ == Line::inside || !is_space(byte)) {
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

int Parser::bare_call_at(char byte) const {
  const auto& calls = format_->spec().calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool may_begin = calls[i].bare == BarePlace::line ||
                           (calls[i].bare == BarePlace::start && line_ == Line::start);
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
  audit(Fate::whitespace, text.substr(0, i));
  skip_ = i == text.size() ? skip_.substr(i) : std::string_view{};
  return text.substr(i);
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
      out_->add_text(EventKind::malformed, call_index_, text.substr(i, 1), token_end_,
                     "a bracket follows the call's end");
      audit(Fate::malformed, text.substr(i, 1));
      continue;
    } else {
      text = text.substr(i);
    }
    boundary_ = Boundary::none;
    may_chain_ = false;
    const std::string space = std::move(space_);
    space_.clear();
    if (!space.empty()) emit_content(space);
    if (!text.empty()) emit_content(text);
    return;
  }
}

void Parser::emit_content(std::string_view text) {
  out_->add_text(EventKind::content, -1, text, token_end_);
  audit(Fate::content, text);
}

void Parser::release_raw_as_content() {
  const std::string raw = std::move(raw_);
  raw_.clear();
  line_ = Line::inside;
  enter(State::content);
  release_content(raw);
}

void Parser::drop_space(Fate fate) {
  audit(fate, space_);
  space_.clear();
}

// A marker has been read: white space up to the next one is markup, `skip` in any case.
void Parser::after_markup(std::string_view skip) {
  boundary_ = Boundary::after_markup;
  skip_ = skip;
  enter(State::content);
}

void Parser::audit(Fate fate, std::string_view text) {
  if (audits_) out_->add_audit(fate, text);
}

// ---- markers ----------------------------------------------------------------------------------

void Parser::on_marker(const MarkerCursor::Found& found) {
  const FormatSpec& spec = format_->spec();
  const Role role = static_cast<Role>(found.marker->role);
  if (state_ == State::header) return on_header_end(found);
  if (role == Role::ignore) {
    drop_space(Fate::whitespace);
    return audit(Fate::marker, found.text);
  }
  if (state_ == State::malformed) return on_malformed_end(found);
  if (role == Role::reasoning_open && state_ == State::reasoning && !reasoning_is_empty_) {
    return release(found.text);  // no nesting: it is text
  }
  drop_space(Fate::whitespace);
  if (role != Role::call_open)
    audit(Fate::marker, found.text);  // that of a call waits for its name
  switch (role) {
    case Role::reasoning_open:
      reasoning_is_empty_ = true;
      may_chain_ = false;
      skip_ = spec.reasoning->open.after;
      enter(State::reasoning);
      break;
    case Role::reasoning_close: after_markup(spec.reasoning->close.after); break;
    case Role::section_open:
      in_section_ = true;
      may_chain_ = false;
      after_markup(spec.section_open.after);
      break;
    case Role::call_open: on_opener(found); break;
    case Role::call_close:
    case Role::section_close: on_closer(role, found); break;
    default: break;
  }
}

void Parser::on_opener(const MarkerCursor::Found& found) {
  // Not announced yet: should it come to nothing, the opener is part of the raw text.
  raw_ = drop_skipped(found.text);
  raw_opener_ = raw_.size();
  opener_ = found.marker->value;
  call_ = format_->openers()[opener_].front();
  is_announced_ = false;
  closer_pending_ = false;
  may_chain_ = false;
  boundary_ = Boundary::none;
  skip_ = {};
  enter(State::opening);
}

void Parser::on_closer(Role role, const MarkerCursor::Found& found) {
  const FormatSpec& spec = format_->spec();
  closer_pending_ = false;
  may_chain_ = false;
  in_fence_ = false;
  if (role == Role::section_close) in_section_ = false;
  after_markup(role == Role::section_close ? std::string_view(spec.section_close.after)
                                           : spec.calls[found.marker->value].close.after);
}

// ---- a call -----------------------------------------------------------------------------------

std::size_t Parser::read_opening(char byte) {
  if (is_space(byte) && raw_.size() < raw_opener_ + kMaxSpaceBytes) {
    raw_ += byte;
    return 1;
  }
  int choice = -1;
  for (const std::uint8_t candidate : format_->openers()[opener_]) {
    const std::string& starts = format_->spec().calls[candidate].starts;
    const bool fits = starts.empty() || starts.find(byte) != std::string::npos;
    if (fits && (choice < 0 || !starts.empty())) choice = candidate;
  }
  if (choice < 0) {
    on_failure("what follows the opener is not a call", {});
    return 0;
  }
  call_ = static_cast<std::uint8_t>(choice);
  has_closer_ = !call().close.is_empty();
  name_.clear();
  if (call().has_name_outside()) {
    enter(State::header);
  } else {
    body_ = make_body(call(), markers().calls[call_], nullptr);
    enter(State::body);
  }
  return 0;
}

void Parser::begin_bare(std::uint8_t call_number, bool has_closer) {
  call_ = call_number;
  has_closer_ = has_closer;
  raw_opener_ = raw_.size();
  is_announced_ = false;
  may_chain_ = false;
  name_.clear();
  const ToolSchema* schema = tools_ ? tools_->find(call().fixed_name) : nullptr;
  body_ = make_body(call(), markers().calls[call_], schema);
  enter(State::body);
  if (!call().fixed_name.empty()) begin_call(call().fixed_name, {});
}

std::size_t Parser::read_header(char byte) {
  const bool continues = cursor_.would_continue(static_cast<unsigned char>(byte));
  if (!continues && call().name_stops.find(byte) != std::string::npos) {
    cursor_.flush([this](std::string_view text) { release(text); });
    if (!name_call()) return 0;
    enter(State::body);
    return 0;
  }
  raw_ += byte;
  const MarkerCursor::Found found =
      cursor_.put(std::string_view(&byte, 1), [this](std::string_view text) { release(text); });
  if (found.marker != nullptr) {
    on_header_end(found);
  } else if (name_.size() > kMaxNameBytes) {
    on_failure("no tool name follows the opener", {});
  }
  return 1;
}

void Parser::on_header_end(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  if (role != Role::name_close) {
    raw_.resize(raw_.size() - found.text.size());  // the closer is not the call's
  }
  if (!name_call()) {
    if (role != Role::name_close) on_malformed_end(found);
    return;
  }
  if (role == Role::name_close) return enter(State::body);
  put_arguments("{}");
  end_call();
  body_.reset();
  audit(Fate::marker, found.text);
  on_closer(role, found);
}

// The name has been read: announces the call, or finds it malformed.
bool Parser::name_call() {
  std::string_view name = trim(name_);
  if (name.starts_with(call().name_prefix)) name.remove_prefix(call().name_prefix.size());
  if (name.empty() || has_control(name)) {
    on_failure("no tool name follows the opener", {});
    return false;
  }
  const std::string copy(name);
  body_ = make_body(call(), markers().calls[call_], tools_ ? tools_->find(copy) : nullptr);
  if (!begin_call(copy, {})) {
    on_failure("the tool is not one of the request's", {});
    return false;
  }
  return true;
}

std::size_t Parser::read_body(std::string_view text) {
  const bool was_announced = is_announced_;
  const std::int32_t before = call_index_;
  const BodyResult result = body_->put(text, *this);
  // A call that began and ended within this put has been announced too.
  on_body(result, text, was_announced || call_index_ != before);
  return result.consumed;
}

void Parser::on_body(const BodyResult& result, std::string_view text, bool was_announced) {
  const std::string_view read = text.substr(0, result.consumed);
  if (is_announced_ || was_announced) {
    if (audits_) {  // but for what may turn out to be a closer, or not the call's
      audit_pending_ += read;
      std::size_t open = body_->undecided_bytes();
      if (result.status == ScanStatus::done) open = result.closer.size();
      if (result.status == ScanStatus::failed) open = result.unread.size();
      const std::size_t sure = audit_pending_.size() - std::min(open, audit_pending_.size());
      audit(Fate::tool_call, std::string_view(audit_pending_).substr(0, sure));
      audit_pending_.erase(0, sure);
      if (result.status == ScanStatus::done) audit(Fate::marker, audit_pending_);
      if (result.status != ScanStatus::more) audit_pending_.clear();
    }
    raw_.clear();
    raw_opener_ = 0;
  } else {
    raw_ += read;
  }
  switch (result.status) {
    case ScanStatus::more: break;
    case ScanStatus::done:
      if (!raw_.empty()) audit(Fate::marker, raw_);  // an empty list of calls
      raw_.clear();
      body_.reset();
      if (result.closer.empty()) {
        closer_pending_ = has_closer_;
        may_chain_ = has_closer_ || call().bare != BarePlace::nowhere || !call().separators.empty();
        after_markup({});
        line_ = Line::inside;
      } else {
        // The section's opener may be missing; its closer is markup all the same.
        closer_pending_ = !in_section_ && !format_->spec().section_close.is_empty();
        if (result.closed_section) in_section_ = closer_pending_ = false;
        after_markup(result.closed_section ? std::string_view(format_->spec().section_close.after)
                                           : std::string_view(call().close.after));
      }
      break;
    case ScanStatus::failed: on_failure(body_->problem(), result.unread); break;
  }
}

bool Parser::begin_call(std::string_view name, std::string_view id) {
  const KnownTools known = call().known_tools;
  const bool must_know = known == KnownTools::required || (known == KnownTools::if_given && tools_);
  if (must_know && (!tools_ || tools_->find(name) == nullptr)) return false;
  drop_space(Fate::whitespace);
  audit(Fate::marker, std::string_view(raw_).substr(0, raw_opener_));
  audit(Fate::tool_call, std::string_view(raw_).substr(raw_opener_));
  raw_.clear();
  raw_opener_ = 0;
  ++call_index_;
  is_announced_ = true;
  boundary_ = Boundary::none;
  id_ = id;
  if (id_.empty()) ids_.append(name, static_cast<std::uint32_t>(call_index_), id_);
  out_->add_begin(call_index_, name, id_, token_end_);
  return true;
}

void Parser::put_arguments(std::string_view fragment) {
  out_->add_text(EventKind::tool_call_arguments, call_index_, fragment, token_end_);
}

void Parser::end_call() {
  out_->add_end(call_index_, CallStatus::complete, token_end_);
  is_announced_ = false;
  ++complete_count_;
}

// ---- malformed --------------------------------------------------------------------------------

// The call cannot be read. What nothing marked as a call is content; the rest is reported.
void Parser::on_failure(const char* problem, std::string_view unread) {
  if (!is_announced_ && call().is_tentative() && state_ == State::body) {
    body_.reset();
    release_raw_as_content();
    return;
  }
  problem_ = problem;
  malformed_is_empty_ = true;
  const std::string raw = std::move(raw_);
  const std::string rest(unread);
  raw_.clear();
  enter(State::malformed);
  if (!raw.empty()) emit_malformed(raw);
  std::string_view text = rest;
  while (!text.empty()) text.remove_prefix(read_some(text));
}

void Parser::emit_malformed(std::string_view text) {
  drop_space(Fate::whitespace);
  malformed_is_empty_ = false;
  out_->add_text(EventKind::malformed, is_announced_ ? call_index_ : -1, text, token_end_,
                 problem_);
  audit(Fate::malformed, text);
}

void Parser::on_malformed_end(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  const bool closes = role == Role::call_close || role == Role::section_close;
  if (is_announced_) {
    if (closes && malformed_is_empty_ && body_ && body_->may_end_here(*this)) {
      end_call();
    } else {
      if (malformed_is_empty_) emit_malformed({});
      out_->add_end(call_index_, CallStatus::malformed, token_end_);
      is_announced_ = false;
    }
    if (role != Role::call_open) audit(Fate::marker, found.text);
  } else if (closes) {
    emit_malformed(found.text);
  } else if (role != Role::call_open) {
    audit(Fate::marker, found.text);
  }
  body_.reset();
  state_ = State::content;
  if (closes) return on_closer(role, found);
  if (role == Role::call_open) return on_opener(found);
  in_section_ = true;
  after_markup(format_->spec().section_open.after);
}

// ---- the end ----------------------------------------------------------------------------------

void Parser::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  out_ = &out;
  token_end_ = token_end;
  switch (state_) {
    case State::fence: release_raw_as_content(); break;
    case State::opening:
    case State::header:
      problem_ = "the output ends before the tool's name";
      emit_malformed(raw_);
      raw_.clear();
      break;
    case State::body: finish_body(reason); break;
    case State::malformed: finish_malformed(reason); break;
    case State::content:
    case State::reasoning: break;
  }
  if (state_ == State::content || state_ == State::reasoning) {
    cursor_.flush([this](std::string_view text) { release(text); });
  }
  if (boundary_ == Boundary::start && !space_.empty()) {
    emit_content(space_);  // the message is nothing but white space
  } else {
    audit(Fate::whitespace, space_);
  }
  space_.clear();
  const bool called = complete_count_ > 0 && !has_incomplete_;
  const bool stopped = reason == FinishReason::stop || reason == FinishReason::tool_calls;
  out.add_finish(stopped ? (called ? FinishReason::tool_calls : FinishReason::stop) : reason,
                 token_end_);
}

void Parser::finish_body(FinishReason reason) {
  body_->end(*this);
  audit(Fate::tool_call, audit_pending_);
  const bool stopped = reason == FinishReason::stop || reason == FinishReason::tool_calls;
  if (is_announced_) {
    if (stopped && body_->may_end_here(*this)) {
      end_call();
    } else {
      has_incomplete_ = true;
      out_->add_end(call_index_, CallStatus::incomplete, token_end_);
      is_announced_ = false;
    }
  } else if (call().is_tentative()) {
    body_.reset();
    release_raw_as_content();
    return;
  } else if (trim(raw_).find_first_not_of(",") != std::string_view::npos) {
    problem_ = "the output ends before the tool's name";
    emit_malformed(raw_);
  } else {
    audit(Fate::tool_call, raw_);  // a list without its bracket
  }
  raw_.clear();
}

void Parser::finish_malformed(FinishReason reason) {
  cursor_.flush([this](std::string_view text) { release(text); });
  if (!is_announced_) return;
  const bool stopped = reason == FinishReason::stop || reason == FinishReason::tool_calls;
  if (!malformed_is_empty_) {
    out_->add_end(call_index_, CallStatus::malformed, token_end_);
  } else if (stopped && body_ && body_->may_end_here(*this)) {
    end_call();
  } else {
    has_incomplete_ = true;
    out_->add_end(call_index_, CallStatus::incomplete, token_end_);
  }
  is_announced_ = false;
}

}  // namespace unspool
