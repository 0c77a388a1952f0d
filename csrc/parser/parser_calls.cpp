// The parser inside a call: its name, its body, and what becomes of one that cannot be read.
#include <algorithm>
#include <optional>
#include <utility>

#include "body/pythonic.h"
#include "parser/call_name.h"
#include "parser/parser.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// More white space after an opener is not a call's, and a longer name is not a name.
constexpr std::size_t kMaxSpaceBytes = 64;
constexpr std::size_t kMaxNameBytes = 1024;

bool has_space(std::string_view text) { return text.find(' ') != std::string_view::npos; }

// Which call an opener begins, as the first letter after it says, or the first two.
constexpr int kNoCall = -1;
constexpr int kUnsure = -2;

int choose_call(const Format& format, std::size_t opener, char first, std::optional<char> second) {
  int choice = kNoCall;
  for (const std::uint8_t candidate : format.openers()[opener]) {
    const CallSpec& spec = format.spec().calls[candidate];
    if (!spec.starts.empty() && spec.starts.find(first) == std::string::npos) continue;
    if (!spec.second.empty() && !second) return kUnsure;
    if (!spec.second.empty() && spec.second.find(*second) == std::string::npos) continue;
    if (choice == kNoCall || !spec.starts.empty()) choice = candidate;
    if (!spec.second.empty()) break;
  }
  return choice;
}

}  // namespace

std::size_t Parser::read_opening(char byte) {
  const MarkerCursor::Found found =
      cursor_.put(std::string_view(&byte, 1), [](std::string_view) {});
  if (found.marker != nullptr) {
    reading_.raw += byte;
    if (on_opener_again(found)) return 1;
    reading_.raw.pop_back();
  }
  if (is_space(byte) && reading_.raw.size() < reading_.raw_opener + kMaxSpaceBytes) {
    reading_.raw += byte;
    return 1;
  }
  const std::size_t first_at = reading_.raw.find_first_not_of(kSpace, reading_.raw_opener);
  const bool has_first = first_at != std::string::npos;
  const std::size_t read = has_first ? reading_.raw.size() - first_at : 0;
  if (trim(cursor_.held()).size() == read + 1) {  // it may be an opener again
    reading_.raw += byte;
    return 1;
  }
  std::optional<char> second;
  if (has_first) {
    const std::size_t second_at = reading_.raw.find_first_not_of(kSpace, first_at + 1);
    second = second_at != std::string::npos ? reading_.raw[second_at] : byte;
  }
  const char first = has_first ? reading_.raw[first_at] : byte;
  const int choice = choose_call(*format_, reading_.opener, first, second);
  if (choice == kUnsure) {
    reading_.raw += byte;
    return 1;
  }
  if (choice == kNoCall) {
    on_failure("what follows the opener is not a call", {});
    return 0;
  }
  at_.call = static_cast<std::uint8_t>(choice);
  reading_.has_closer = !call().close.is_empty();
  reading_.name.clear();
  if (call().has_name_outside()) {
    enter(State::header);
  } else {
    make_call_body({}, false);
    enter(State::body);
  }
  if (has_first) {  // what was held
    const std::string held = reading_.raw.substr(first_at);
    reading_.raw.resize(first_at);
    read_again(held);
  }
  return 0;
}

// An opener with nothing but white space since the last one: models repeat it, and mean one call.
bool Parser::on_opener_again(const MarkerCursor::Found& found) {
  const std::size_t at = reading_.raw.size() - found.text.size();
  if (at < reading_.raw_opener ||
      !is_blank(
          std::string_view(reading_.raw).substr(reading_.raw_opener, at - reading_.raw_opener))) {
    return false;
  }
  const Role role = static_cast<Role>(found.marker->role);
  if (role == Role::ignore) {
    reading_.raw.resize(at);
    ignore(found.text, found.text.size() - 1);
    return true;
  }
  if (role != Role::call_open) {  // an empty block
    if (!trial_.is_on()) return false;
    trial_.outcome = Outcome::empty;
    return true;
  }
  audit(Fate::marker, std::string_view(reading_.raw).substr(0, at));
  on_opener(found);
  return true;
}

void Parser::make_call_body(std::string_view name, bool in_parameter) {
  BodyOptions options;
  options.schema = options_.tools && !name.empty() ? options_.tools->find(name) : nullptr;
  options.section_close = &format_->spec().section_close;
  options.repairs = options_.repair;
  options.in_parameter = in_parameter;
  reading_.body = make_body(call(), markers().calls[at_.call], options);
  reading_.has_called = false;
}

void Parser::begin_bare(std::uint8_t call_number, bool has_closer) {
  at_.call = call_number;
  const bool is_misplaced = call().bare == BarePlace::start && at_.line == Line::begin;
  reading_.repairs = take_slip();
  if (call().is_slip || is_misplaced) reading_.repairs |= kMarkup;
  reading_.has_closer = has_closer;
  reading_.raw_opener = reading_.raw.size();
  reading_.specials.clear();
  at_.may_chain = false;
  reading_.name.clear();
  make_call_body(call().fixed_name, false);
  enter(State::body);
  if (!call().fixed_name.empty()) begin_call(call().fixed_name, {});
}

std::size_t Parser::read_header(char byte) {
  if (reading_.name.size() > kMaxNameBytes && !is_utf8_continuation(byte)) {
    on_failure("no tool name follows the opener", {});
    return 0;
  }
  const bool continues = cursor_.would_continue(static_cast<unsigned char>(byte));
  const bool stops =
      call().name_stops.find(byte) != std::string::npos ||
      (byte == '{' && call().body == BodyKind::json_arguments && !is_blank(reading_.name));
  if (!continues && stops) {
    cursor_.flush([this](std::string_view text) { release(text); });
    if (!name_call()) return 0;
    enter(State::body);
    return 0;
  }
  reading_.raw += byte;
  const MarkerCursor::Found found =
      cursor_.put(std::string_view(&byte, 1), [this](std::string_view text) { release(text); });
  if (found.marker != nullptr) on_header_end(found);
  return 1;
}

void Parser::on_header_end(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  const bool closes = role == Role::call_close || role == Role::section_close;
  if (found.marker->is_slip) reading_.repairs |= kMarkup;
  trial_.has_call_markup = role == Role::name_close && !has_space(trim(reading_.name));
  const auto& openers = call().xml_parameters.open.texts;
  reading_.in_parameter = std::find(openers.begin(), openers.end(), found.text) != openers.end();
  if (role != Role::name_close) {
    reading_.raw.resize(reading_.raw.size() - found.text.size());  // the closer is not the call's
  }
  if (role != Role::name_close && !closes) return on_name_cut(found);
  if (closes && trial_.is_on() && without_prefix(call(), trim(reading_.name)).empty()) {
    trial_.outcome = Outcome::empty;
    return;
  }
  if (!name_call()) {
    if (role != Role::name_close && trial_.outcome == Outcome::open) on_malformed_end(found);
    return;
  }
  if (role == Role::name_close) return enter(State::body);
  put_arguments("{}");
  end_call();
  reading_.body.reset();
  put_call_text(Fate::marker, found.text);
  on_closer(role, found);
}

// Another marker stands where the name's end is missing.
void Parser::on_name_cut(const MarkerCursor::Found& found) {
  on_failure("the name does not end", {});
  if (trial_.outcome != Outcome::open) return;
  if (at_.state != State::malformed) return on_marker(found);
  const bool ends_reasoning = static_cast<Role>(found.marker->role) == Role::reasoning_close;
  ends_reasoning ? emit_malformed(found.text) : on_malformed_end(found);
}

// The name has been read: announces the call, or finds it malformed.
bool Parser::name_call() {
  const CallName read = read_call_name(call(), reading_.name, tools());
  if (!read.is_name) {
    on_failure("no tool name follows the opener", {});
    return false;
  }
  make_call_body(read.name, std::exchange(reading_.in_parameter, false));
  if (!begin_call(read.name, read.id)) {
    on_failure("the tool is not one of the request's", {});
    return false;
  }
  return true;
}

std::size_t Parser::read_body(std::string_view text) {
  const bool was_announced = calls_.is_open();
  if (!was_announced) {
    std::size_t room = options_.limits.max_held_bytes -
                       std::min(reading_.raw.size(), options_.limits.max_held_bytes);
    while (room < text.size() && is_utf8_continuation(text[room])) ++room;
    text = text.substr(0, room);
    if (text.empty()) {
      on_failure("the call is longer than max_held_bytes before its name is certain", {});
      return 0;
    }
  }
  const std::int32_t before = calls_.index();
  const BodyResult result = reading_.body->put(text, *this);
  // A call that began and ended within this put has been announced too.
  on_body(result, text, was_announced || calls_.index() != before);
  return result.consumed;
}

void Parser::on_body(const BodyResult& result, std::string_view text, bool was_announced) {
  const std::string_view read = text.substr(0, result.consumed);
  const bool is_announced = was_announced || calls_.is_open();
  if (is_announced && !keeps_call_text() && result.status == ScanStatus::more) {  // most input
    reading_.raw.clear();
    reading_.raw_opener = 0;
    return;
  }
  Letters unread;
  if (result.letters != nullptr) {
    unread.put(*result.letters);
  } else {
    unread.put(result.unread);
  }
  if (is_announced) {
    if (keeps_call_text()) put_body_text(result, read, unread.size());
    reading_.raw.clear();
    reading_.raw_opener = 0;
  } else {
    reading_.raw += read;
    if (result.status == ScanStatus::failed) unread.clear();  // the raw text has it
  }
  if (result.status == ScanStatus::failed) return on_failure(reading_.body->problem(), unread);
  if (result.status == ScanStatus::more) return;
  end_body(result);
  read_again(unread);
}

// Text of an announced call, but for what may turn out to be a closer, or not the call's.
void Parser::put_body_text(const BodyResult& result, std::string_view read, std::size_t unread) {
  std::string& pending = reading_.pending_text;
  pending += read;
  std::size_t open = reading_.body->undecided_bytes();
  if (result.status == ScanStatus::done) open = result.closer.size() + unread;
  if (result.status == ScanStatus::failed) open = unread;
  const std::size_t sure = pending.size() - std::min(open, pending.size());
  put_call_text(Fate::tool_call, std::string_view(pending).substr(0, sure));
  pending.erase(0, sure);
  if (result.status == ScanStatus::more) return;
  if (result.status == ScanStatus::done) {
    put_call_text(Fate::marker, std::string_view(pending).substr(0, result.closer.size()));
  }
  pending.clear();
}

// The body has ended, with its closer or before it.
void Parser::end_body(const BodyResult& result) {
  if (!reading_.raw.empty()) audit(Fate::marker, reading_.raw);  // an empty list of calls
  reading_.raw.clear();
  reading_.body.reset();
  if (result.closer.empty()) {
    at_.closer_pending = reading_.has_closer;
    at_.may_chain =
        reading_.has_closer || call().bare != BarePlace::nowhere || !call().separators.empty();
    after_markup({});
    at_.line = Line::inside;
    return;
  }
  // The section's opener may be missing; its closer is markup all the same.
  const MarkerSpec& section_close = format_->spec().section_close;
  at_.closer_pending = !at_.in_section && !section_close.is_empty();
  if (result.closed_section) at_.in_section = at_.closer_pending = false;
  after_markup(result.closed_section ? section_close.after : call().close.after);
}

bool Parser::begin_call(std::string_view name, std::string_view id) {
  const KnownTools known = call().known_tools;
  const bool must_know =
      known == KnownTools::required || (known == KnownTools::if_given && options_.tools);
  // A list that has begun with a call is one of calls.
  if (must_know && !reading_.has_called &&
      (!options_.tools || options_.tools->find(name) == nullptr))
    return false;
  reading_.has_called = true;
  drop_space(Fate::whitespace);
  at_.boundary = Boundary::none;
  if (!is_rehearsing()) settle_trial();
  calls_.begin(name, id, options_.tools ? options_.tools->find(name) : nullptr, token_end_, *out_);
  put_call_text(Fate::marker, std::string_view(reading_.raw).substr(0, reading_.raw_opener));
  put_call_text(Fate::tool_call, std::string_view(reading_.raw).substr(reading_.raw_opener));
  at_.closer_is_calls = reading_.raw_opener > 0;
  reading_.raw.clear();
  reading_.raw_opener = 0;
  return true;
}

// Text of the last call that has begun: its markers too, also after its end.
void Parser::put_call_text(Fate fate, std::string_view text) {
  if (calls_.is_over()) fate = Fate::malformed;
  if (options_.audit) audit_trail_.put(fate, text, false, calls_.text_index(), *out_);
  if (calls_.wants_text()) calls_.put_text(text, token_end_, *out_);
}

void Parser::put_arguments(std::string_view fragment) { calls_.put(fragment, token_end_, *out_); }

void Parser::end_call() { calls_.end(repairs(), token_end_, *out_); }

void Parser::end_call(CallStatus status) { calls_.end(status, repairs(), token_end_, *out_); }

// The call cannot be read. What nothing marked as a call is content; the rest is reported.
void Parser::on_failure(const char* problem, const Letters& unread) {
  if (was_mention()) {
    trial_.outcome = Outcome::mention;
    return;
  }
  if (!is_rehearsing()) settle_trial();
  if (!calls_.is_open() && call().is_tentative() && !reading_.has_called &&
      at_.state != State::malformed) {
    reading_.body.reset();
    release_raw_as_content();
    return;
  }
  reading_.problem = problem;
  reading_.malformed_is_empty = true;
  const std::string raw = std::move(reading_.raw);
  reading_.raw.clear();
  enter(State::malformed);
  if (!raw.empty()) emit_malformed(raw);
  read_again(unread);
}

// Whether the opener on trial was a mention, now that what follows cannot be read: nothing of a
// call came after it, and it stands in reasoning or within a line. Elsewhere a call was meant, and
// it is reported. Reasoning that may go on after a call keeps whatever is not one.
bool Parser::was_mention() const {
  if (!trial_.is_on() || at_.state == State::malformed) return false;
  if (is_rehearsing()) return !calls_.is_open();
  if (call().is_tentative()) return true;
  if (reading_.has_called || trial_.has_call_markup) return false;
  if (trial_.place.state != State::reasoning && !trial_.is_amid_line) return false;
  const std::string_view after = trim(std::string_view(reading_.raw).substr(reading_.raw_opener));
  return at_.state != State::body || after.empty() || begins_python_name(after[0]);
}

void Parser::emit_malformed(std::string_view text) {
  if (is_rehearsing()) {
    trial_.outcome = Outcome::mention;
    return;
  }
  drop_space(Fate::whitespace);
  reading_.malformed_is_empty = false;
  if (!text.empty()) at_.last_byte = text.back();
  if (calls_.is_open()) {
    calls_.put_malformed(text, reading_.problem, token_end_, *out_);
    return put_call_text(Fate::malformed, text);
  }
  out_->add_text(EventKind::malformed, -1, text, token_end_, reading_.problem);
  audit(Fate::malformed, text);
}

void Parser::on_malformed_end(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  const bool closes = role == Role::call_close || role == Role::section_close;
  if (calls_.is_open()) {
    if (closes && reading_.malformed_is_empty && reading_.body &&
        reading_.body->may_end_here(*this)) {
      end_call();
    } else {
      if (reading_.malformed_is_empty) emit_malformed({});
      end_call(CallStatus::malformed);
    }
    if (closes) put_call_text(Fate::marker, found.text);
  } else if (closes) {
    emit_malformed(found.text);
  }
  if (role == Role::markup_open) audit(Fate::marker, found.text);
  reading_.body.reset();
  at_.closer_is_calls = false;
  at_.state = State::content;
  if (closes) return on_closer(role, found);
  if (role == Role::markup_open) return on_markup(found);
  at_.boundary = Boundary::none;
  on_marker(found);
}

void Parser::finish_body(FinishReason reason) {
  const bool stopped = ended_itself(reason);
  bool ends = false;
  if (options_.repair && calls_.is_open()) {
    ends = stopped && reading_.body->may_end_here(*this);
    ends ? reading_.body->end(*this) : reading_.body->complete(*this);
  } else {
    reading_.body->end(*this);
    ends = calls_.is_open() && stopped && reading_.body->may_end_here(*this);
  }
  put_call_text(Fate::tool_call, reading_.pending_text);
  if (calls_.is_open()) {
    if (ends) {
      end_call();
    } else {
      end_call(CallStatus::incomplete);
    }
  } else if (call().is_tentative() && !reading_.has_called) {
    reading_.body.reset();
    release_raw_as_content();
    return;
  } else if (trim(reading_.raw).find_first_not_of(",") != std::string_view::npos) {
    reading_.problem = "the output ends before the tool's name";
    emit_malformed(reading_.raw);
  } else {
    audit(Fate::tool_call, reading_.raw);  // a list without its bracket
  }
  reading_.raw.clear();
}

void Parser::finish_malformed(FinishReason reason) {
  cursor_.flush([this](std::string_view text) { release(text); });
  if (!calls_.is_open()) return;
  const bool stopped = ended_itself(reason);
  if (!reading_.malformed_is_empty) {
    end_call(CallStatus::malformed);
  } else if (stopped && reading_.body && reading_.body->may_end_here(*this)) {
    end_call();
  } else {
    end_call(CallStatus::incomplete);
  }
}

}  // namespace unspool
