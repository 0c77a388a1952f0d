// The beginning of a call and its content; call_reader_end.cpp handles its ends.
//
// One order holds everywhere: what the body says during a put (name, arguments, end) comes through
// CallSink while the put runs; the text of the put is accounted for after it, in `on_body`. It
// takes the last call that had ended before the put. The text belongs to a call only if a later one
// began.
#include "parser/call_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "body/names.h"
#include "parser/call_name.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer white space after an opener is not a call's.
constexpr std::size_t kMaxOpenerSpace = 64;

bool has_space(std::string_view text) { return text.find(' ') != std::string_view::npos; }

// Which call an opener begins, according to the first letter or two after it.
constexpr int kNoCall = -1;
constexpr int kUnsure = -2;

int choose_call(const Format& format, std::size_t opener, char first, std::optional<char> second) {
  int choice = kNoCall;
  for (const std::uint8_t candidate : format.openers()[opener]) {
    const CallStart& start = format.program().calls[candidate].start;
    // Several kinds may share an opener: after `<tool_call>`, qwen3_coder writes `<`, hermes `{`.
    if (!start.letters.empty() && start.letters.find(first) == std::string::npos) continue;
    // `[{` and `[f` begin different kinds; the bracket alone decides nothing.
    if (!start.second.empty() && !second) return kUnsure;
    if (!start.second.empty() && start.second.find(*second) == std::string::npos) continue;
    // A kind that names its letters is surer than one that accepts any.
    if (choice == kNoCall || !start.letters.empty()) choice = candidate;
    if (!start.second.empty()) break;
  }
  return choice;
}

}  // namespace

void CallReader::begin_at_opener(const MarkerCursor::Found& match) {
  // Not announced yet: if the call fails, the opener is part of the raw text.
  core_.raw = core_.drop_skipped(match.text);
  if (core_.labels) core_.labels->begin();
  // Misspelled markers before the call count as repairs of it.
  repairs_ = core_.take_slip();
  core_.specials.clear();
  at_.skip_is_reasonings = false;
  opener_bytes_ = core_.raw.size();
  opener_ = match.marker->value;
  // A first guess, for questions about the call before its kind is known.
  at_.call = core_.format().openers()[opener_].front();
  at_.closer_pending = false;
  at_.may_chain = false;
  at_.boundary = Boundary::none;
  at_.skip = {};
  core_.enter(State::opening);
}

void CallReader::begin_bare(std::uint8_t kind, bool has_closer) {
  at_.call = kind;
  if (core_.labels) core_.labels->begin();
  const CallRegion& call = core_.call();
  // Accepted with repair only, and reported: the call should have been the whole message.
  const bool is_misplaced = call.start.place == BarePlace::start && at_.line == Line::begin;
  repairs_ = core_.take_slip();
  if (call.start.is_slip || is_misplaced) repairs_ |= kMarkup;
  has_closer_ = has_closer;
  opener_bytes_ = core_.raw.size();
  core_.specials.clear();
  at_.may_chain = false;
  name_.clear();
  make_call_body(call.name.fixed, false);
  core_.enter(State::body);
  // The output of guided decoding has only arguments, and the request has named the tool.
  if (!call.name.fixed.empty()) begin_call(call.name.fixed, {});
}

void CallReader::begin_again() {
  if (core_.labels) core_.labels->begin();
  repairs_ = core_.take_slip();
  opener_bytes_ = 0;
  core_.raw.clear();
  at_.may_chain = false;
  if (name_call(true)) core_.enter(State::body);
}

void CallReader::begin_headed(int kind, std::string_view tool) {
  at_.call = static_cast<std::uint8_t>(kind);
  if (core_.labels) core_.labels->begin();
  opener_bytes_ = 0;
  repairs_ = core_.take_slip();
  has_closer_ = !core_.call().close.is_empty();
  at_.skip = {};
  at_.boundary = Boundary::none;
  // The header only announces calls; the name is in the body.
  if (tool.empty()) {
    make_call_body({}, false);
    return core_.enter(State::body);
  }
  name_ = tool;
  at_.state = State::header;
  if (name_call()) core_.enter(State::body);
}

std::size_t CallReader::read_opening(char byte) {
  std::string& raw = core_.raw;
  // The cursor looks for another opener. Its text is in `raw` as well, so what it releases is
  // ignored.
  const MarkerCursor::Found match =
      core_.cursor.put(std::string_view(&byte, 1), [](std::string_view) {});
  if (match.marker != nullptr) {
    raw += byte;
    if (on_opener_again(match)) return 1;
    raw.pop_back();
  }
  if (is_space(byte) && raw.size() < opener_bytes_ + kMaxOpenerSpace) {
    raw += byte;
    return 1;
  }
  // White space between the opener and the call is free.
  const std::size_t first_at = raw.find_first_not_of(kSpace, opener_bytes_);
  const bool has_first = first_at != std::string::npos;
  const std::size_t read = has_first ? raw.size() - first_at : 0;
  if (trim(core_.cursor.held()).size() == read + 1) {  // it may be another opener
    raw += byte;
    return 1;
  }
  std::optional<char> second;
  if (has_first) {
    const std::size_t second_at = raw.find_first_not_of(kSpace, first_at + 1);
    second = second_at != std::string::npos ? raw[second_at] : byte;
  }
  const int choice = choose_call(core_.format(), opener_, has_first ? raw[first_at] : byte, second);
  if (choice == kUnsure) {
    raw += byte;
    return 1;
  }
  if (choice == kNoCall) {
    // `0` bytes are read: the byte is text, or part of the malformed rest, and is read there.
    on_failure("what follows the opener is not a call", {});
  } else {
    begin_chosen(choice, first_at);
  }
  return 0;
}

// Begins the kind of call that the letters after its opener show; they are held from `first_at` on.
void CallReader::begin_chosen(int kind, std::size_t first_at) {
  at_.call = static_cast<std::uint8_t>(kind);
  const CallRegion& call = core_.call();
  has_closer_ = !call.close.is_empty();
  name_.clear();
  if (call.name.has_end()) {
    core_.enter(State::header);
  } else {
    make_call_body({}, false);
    core_.enter(State::body);
  }
  if (first_at == std::string::npos) return;
  // The letters that showed the kind belong to the name or body, so its reader gets them.
  const std::string held = core_.raw.substr(first_at);
  core_.raw.resize(first_at);
  read_again(held);
}

// An opener with only white space since the last one: models repeat it, and mean one call.
bool CallReader::on_opener_again(const MarkerCursor::Found& match) {
  const std::size_t at = core_.raw.size() - match.text.size();
  if (at < opener_bytes_ || !is_blank(after_opener().substr(0, at - opener_bytes_))) return false;
  const Role role = static_cast<Role>(match.marker->role);
  if (role == Role::ignore) {
    core_.raw.resize(at);
    core_.ignore(match.text, match.text.size() - 1, pending_bytes());
    return true;
  }
  if (role != Role::call_open) {  // an empty block
    if (!core_.trial.is_on()) return false;
    core_.trial.outcome = Outcome::empty;
    return true;
  }
  // The first opener becomes plain markup; the second one opens the call.
  core_.audit(Fate::marker, std::string_view(core_.raw).substr(0, at));
  begin_at_opener(match);
  return true;
}

bool CallReader::read_token_after_opener(Symbol symbol, std::string_view literal) {
  const MarkerCursor::Found match =
      core_.cursor.put_token(symbol, literal, [](std::string_view) {});
  core_.raw += literal;
  if (match.marker != nullptr && on_opener_again(match)) return true;
  core_.raw.resize(core_.raw.size() - literal.size());
  // Nothing stands before the name, where an id or a server's name would.
  if (core_.call().name.id_close.starts_with(literal)) {
    begin_chosen(at_.call, std::string::npos);
    return false;
  }
  // A token is no prose: what follows the opener was meant as a call, even if it is none.
  core_.trial.has_call_markup = true;
  on_failure("what follows the opener is not a call", {});
  return core_.trial.outcome != Outcome::open;
}

void CallReader::build_body(std::string_view name, bool in_parameter) {
  BodyOptions options;
  const ToolSchemas* const offered = name.empty() ? nullptr : core_.tools();
  if (offered != nullptr) options.schema = offered->find(name);
  options.tools = core_.tools();
  options.section_close = &core_.program().section.close;
  options.max_held = core_.options().limits.max_held_bytes;
  options.tries = core_.tries;
  options.repairs = core_.options().repair;
  options.in_parameter = in_parameter;
  options.marks = core_.marks();
  body_.begin(
      make_body(core_.program().calls[body_call_], core_.markers().calls[body_call_], options));
}

// Reads a name up to a marker, or up to a byte that ends it if no marker continues there.
std::size_t CallReader::read_name(std::string_view text) {
  // A bound on what is held. Not amid a character, so that no piece of text is invalid.
  if (name_.size() > kMaxNameBytes && !is_utf8_continuation(text[0])) {
    on_failure("no tool name follows the opener", {});
    return 0;
  }
  const std::size_t stop = name_stop(text.substr(0, kMaxNameBytes + 1));
  // The byte ends the name and belongs to the body, unless a marker begins with it.
  if (stop == 0 && !core_.cursor.would_continue(static_cast<unsigned char>(text[0]))) {
    flush_cursor();
    if (name_call()) core_.enter(State::body);
    return 0;
  }
  const std::size_t known = std::min(name_.size() + core_.cursor.held().size(), kMaxNameBytes);
  const std::size_t size = std::min(std::max<std::size_t>(stop, 1), kMaxNameBytes + 1 - known);
  const MarkerCursor::Found match =
      core_.cursor.put(text.substr(0, size), [this](std::string_view piece) { put_name(piece); });
  core_.raw += text.substr(0, match.consumed);
  if (match.marker != nullptr) on_name_end(match);
  return match.consumed;
}

// The position of a byte that may end a name. A brace does not end a name that is still blank.
std::size_t CallReader::name_stop(std::string_view text) const {
  const CallRegion& call = core_.call();
  const std::size_t stop = std::min(text.find_first_of(call.name.stops), text.size());
  // `get_weather{"city": …}`: some models leave out the marker between name and arguments.
  const std::size_t brace = std::min(text.find('{'), stop);
  if (brace == stop || !may_end_at_brace(text.substr(0, brace))) return stop;
  return brace > 0 || !is_blank(name_) ? brace : std::min(text.find('{', 1), stop);
}

// Where the family writes tags, the object counts only after a tool's whole name.
bool CallReader::may_end_at_brace(std::string_view text) const {
  const CallRegion& call = core_.call();
  if (call.is(BodyKind::json_arguments)) return true;
  const auto* parameters = call.body_as<ParametersSlot>();
  if (parameters == nullptr || !parameters->json_body || tools() == nullptr) return false;
  const std::string name = name_ + std::string(core_.cursor.held()) + std::string(text);
  return tools()->find(read_call_name(call, name, tools()).name) != nullptr;
}

void CallReader::on_name_end(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  const bool closes = role == Role::call_close || role == Role::section_close;
  if (match.marker->is_slip) repairs_ |= kMarkup;
  // `<function=get_weather>` is call markup; `<function=the name of a function>` is prose.
  core_.trial.has_call_markup = role == Role::name_close && !has_space(trim(name_));
  const auto* parameters = core_.call().body_as<ParametersSlot>();
  // One marker both ends the name and opens the first parameter: `get_weather<arg_key>`.
  const bool in_parameter = parameters != nullptr && parameters->open.has(match.text);
  if (role != Role::name_close) {
    core_.raw.resize(core_.raw.size() - match.text.size());  // the closer is not the call's
  }
  if (role != Role::name_close && !closes) return on_name_cut(match);
  // An opener and its closer without a name: an empty block, not a broken call.
  if (closes && core_.trial.is_on() && without_prefix(core_.call(), trim(name_)).empty()) {
    core_.trial.outcome = Outcome::empty;
    return;
  }
  if (!name_call(false, in_parameter)) {
    if (role != Role::name_close && core_.trial.outcome == Outcome::open) on_malformed_end(match);
    return;
  }
  if (role == Role::name_close) return core_.enter(State::body);
  if (core_.call().is(BodyKind::literal_arguments)) {
    // Its braces say that a call has no arguments.
    on_failure("the arguments are missing", {});
    body_.reset();  // it has not begun, and so is not whole
    if (core_.trial.outcome == Outcome::open) on_malformed_end(match);
    return;
  }
  // The closer follows the name directly: a call without arguments.
  put_arguments("{}");
  end_whole();
  body_.reset();
  core_.put_call_text(Fate::marker, match.text);
  parser_.on_closer(role, match);
}

// Another marker is in the place of the name's end.
void CallReader::on_name_cut(const MarkerCursor::Found& match) {
  on_failure("the name does not end", {});
  if (core_.trial.outcome != Outcome::open) return;
  if (at_.state != State::malformed) return parser_.on_marker(match);
  const bool ends_reasoning = static_cast<Role>(match.marker->role) == Role::reasoning_close;
  // A closing reasoning tag has nothing to close here, so it is part of the malformed text.
  ends_reasoning ? put_malformed(match.text) : on_malformed_end(match);
}

// The name has been read: announces the call, or reports it as malformed.
bool CallReader::name_call(bool is_again, bool in_parameter) {
  CallName read = read_call_name(core_.call(), name_, tools());
  if (!read.is_name && core_.options().repair && !read.inside.empty()) {
    read.name = read.inside;
    read.is_name = true;
    repairs_ |= kMarkup;
  }
  if (!read.is_name) {
    on_failure("no tool name follows the opener", {});
    return false;
  }
  // First: it resets what `begin_call` sets.
  make_call_body(read.name, in_parameter);
  if (!begin_call(read.name, is_again ? std::string() : read.id)) {
    on_failure("the tool is not one of the request's", {});
    return false;
  }
  if (core_.echo.records() && core_.call().is_one_object()) core_.echo.begin_arguments();
  return true;
}

bool CallReader::begin_call(std::string_view name, std::string_view id) {
  const KnownTools known = core_.call().start.known_tools;
  const ToolSchemas* const offered = core_.tools();
  const ToolSchema* schema = offered != nullptr ? offered->find(name) : nullptr;
  // A bare object looks like a call by chance; only a known name makes it one.
  const bool must_know =
      known == KnownTools::required ||
      (offered != nullptr && (known == KnownTools::if_given || begun_ == Begun::after_fault));
  // A list that has begun with a call is a list of calls.
  if (must_know && !has_called() && schema == nullptr) return false;
  if (!is_call_name(name, offered)) return false;
  at_.has_mention = false;
  section_is_malformed_ = false;
  core_.drop_space();
  at_.boundary = Boundary::none;
  // The name proves that the opener was no mention. In reasoning that may go on, it does not yet;
  // nor within a line, where a tag is quoted with its name.
  const bool is_tagged =
      core_.call().is(BodyKind::xml_parameters) || core_.call().is(BodyKind::xml_elements);
  begun_ = is_tagged && core_.trial.is_amid_text() ? Begun::name : Begun::call;
  if (!core_.waits_for_more() && !awaits_body()) core_.settle_trial();
  if (core_.trial.is_on()) core_.trial.call_at = core_.trial.input().size();
  // Before the text: events of a call come after its announcement.
  core_.calls.begin(name, id, schema, core_.token_end, core_.events());
  core_.put_call_text(Fate::marker, std::string_view(core_.raw).substr(0, opener_bytes_));
  if (core_.options().repair && (opener_bytes_ > 0 || core_.call().is_one_object())) {
    pending_text_.clear();
    // Only with repair: a repeated body is dropped, which changes the output.
    core_.echo.begin(std::string_view(core_.raw).substr(0, opener_bytes_));
  }
  label_name(name);
  // The bytes that were held until the name was certain.
  put_text(after_opener());
  at_.closer_is_calls = opener_bytes_ > 0;
  core_.raw.clear();
  opener_bytes_ = 0;
  return true;
}

std::size_t CallReader::read_body(std::string_view text) {
  if (const Answer* const held = answer()) [[unlikely]] {
    // Up to the limit, whatever the chunks.
    const std::size_t limit = core_.options().limits.max_held_bytes;
    text = first_bytes(text, limit + 1 - std::min(held->text.size(), limit));
    return hold({text}) ? text.size() : 0;
  }
  const MarkerCursor::Found closer = find_reasoning_closer({text});
  text = text.substr(0, closer.consumed);
  if (!core_.calls.is_open()) {
    const std::size_t limit = core_.options().limits.max_held_bytes;
    // An unannounced call holds all its bytes, so its length has to be bounded.
    text = first_bytes(text, limit - std::min(core_.raw.size(), limit));
    if (text.empty()) {
      on_failure("the call is longer than max_held_bytes before its name is certain", {});
      return 0;
    }
  }
  // The body marks places relative to this put.
  if (core_.labels) core_.labels->marks().begin_put(body_bytes());
  const std::int32_t ended_calls = last_ended_call();
  const BodyResult result = body_->put(text, *this);
  if (core_.options().repair) look_for_closer(text.substr(0, result.consumed));
  on_body(result, text, ended_calls);
  if (closer.marker != nullptr && result.status == ScanStatus::more) hold_answer();
  return result.consumed;
}

bool CallReader::read_token_in_body(Symbol symbol, std::string_view literal) {
  if (answer() != nullptr) [[unlikely]] {
    return hold({literal, symbol});
  }
  const MarkerCursor::Found closer = find_reasoning_closer({literal, symbol});
  const std::int32_t ended_calls = last_ended_call();
  if (core_.labels) core_.labels->marks().begin_put(body_bytes());
  const BodyResult result = body_->put_token(symbol, literal, *this);
  if (core_.options().repair) look_for_closer(literal);
  on_body(result, literal, ended_calls);
  // The body ended within the token: the rest follows what was read again.
  if (result.consumed > 0 && result.consumed < literal.size())
    read_again(literal.substr(result.consumed));
  if (closer.marker != nullptr && result.status == ScanStatus::more) hold_answer();
  // If the trial is decided, the token is read again with the rest.
  return result.consumed > 0 || core_.trial.outcome != Outcome::open;
}

void CallReader::on_body(const BodyResult& result, std::string_view text,
                         std::int32_t ended_calls) {
  const bool is_announced = core_.calls.index() > ended_calls;
  // In a list, another call follows or its bracket.
  if (result.status != ScanStatus::done) core_.calls.settle_end(core_.token_end, core_.events());
  const std::string_view read = text.substr(0, result.consumed);
  const bool keeps_text = core_.keeps_call_text();
  if (is_announced && !keeps_text && result.status == ScanStatus::more) {  // most input
    pending_text_.clear();  // of the time when a prompt's bytes had no fate
    core_.raw.clear();
    opener_bytes_ = 0;
    return;
  }
  Letters unread;
  if (result.letters != nullptr) {
    unread.put(*result.letters);
  } else {
    unread.put(result.unread);
  }
  if (is_announced) {
    // Text that the body gives back is not the call's; it is read again in the region that follows.
    // It may have been kept until all of the prompt's bytes had a fate.
    keeps_text ? put_body_text(result, read, unread.size()) : pending_text_.clear();
    core_.raw.clear();
    opener_bytes_ = 0;
  } else {
    core_.raw += read;
    if (result.status == ScanStatus::failed) unread.clear();  // the raw text contains it
  }
  if (result.status == ScanStatus::more) return;
  const std::uint8_t tries = std::exchange(core_.tries, body_->tries());
  if (result.status == ScanStatus::failed) {
    on_failure(body_->problem(), unread);
  } else {
    // The region changes first, so that the unread text is read in the new one.
    end_body(result);
    parser_.read_again(unread);
  }
  core_.tries = tries;
}

// The reasoning's closer, and the text up to it; without one, all of the text.
MarkerCursor::Found CallReader::find_reasoning_closer(const Letter& run) {
  MarkerCursor* const cursor = sought_closer();
  // Also before the call is certain: that may come within the text.
  if (at_.reasoning_is_cut && cursor != nullptr) {
    const auto drop = [](std::string_view) {};
    MarkerCursor::Found closer{nullptr, 0, {}};
    while (closer.consumed < run.text.size()) {
      const std::string_view text = run.text.substr(closer.consumed);
      const std::size_t before = closer.consumed;
      closer =
          run.symbol == 0 ? cursor->put(text, drop) : cursor->put_token(run.symbol, text, drop);
      closer.consumed += before;
      if (closer.marker == nullptr) break;
      if (static_cast<Role>(closer.marker->role) == Role::reasoning_close) return closer;
    }
  }
  return {nullptr, run.text.size(), {}};
}

void CallReader::hold_answer() {
  if (at_.state != State::body || !may_hold_answer()) return;
  reasoning_closer_.emplace<ClonedPtr<Answer>>(std::make_unique<Answer>());
}

// Whether the text is held; otherwise it is known now where it belongs.
bool CallReader::hold(const Letter& run) {
  const BodyResult result = put_in_copy(run);
  Letters& held = answer()->text;
  const std::size_t size = held.size() + run.text.size();
  const bool is_too_long = size > core_.options().limits.max_held_bytes;
  if (result.status == ScanStatus::more && !is_too_long) {
    held.put(run);
    return true;
  }
  result.status == ScanStatus::failed ? read_answer() : read_answer_in_call();
  return false;
}

BodyResult CallReader::put_in_copy(const Letter& run) {
  NoSink sink(tools());
  const Letters& held = answer()->text;
  CallBody& copy = answer()->copy;
  const auto put = [&](const Letter& letter) {
    return letter.symbol == 0 ? copy->put(letter.text, sink)
                              : copy->put_token(letter.symbol, letter.text, sink);
  };
  if (!copy.is_begun()) {
    copy = body_;
    copy->link(nullptr);
    for (std::size_t i = 0; i < held.size(); i += held.at(i).text.size()) put(held.at(i));
  }
  return put(run);
}

// Returns what is held; nothing is held afterwards.
ClonedPtr<CallReader::Answer> CallReader::take_answer() {
  auto* const held = std::get_if<ClonedPtr<Answer>>(&reasoning_closer_);
  return held != nullptr ? std::exchange(*held, nullptr) : nullptr;
}

void CallReader::read_answer_in_call() {
  if (const auto held = take_answer()) parser_.read_again(held->text);
}

// The call was a rehearsal that was cut off: it ends at the reasoning's closer. What its body holds
// may be other calls, and the closer too.
void CallReader::read_answer() {
  const auto held = take_answer();
  if (body_->is_undecided()) decide_body();
  // A call in the body's text holds the closer.
  if (Answer* const later = answer()) return later->text.put(held->text);
  if (at_.state == State::body) end_at_reasoning_closer();
  parser_.read_again(held->text);
}

void CallReader::end_at_reasoning_closer() {
  body_->end(*this);
  put_text(std::exchange(pending_text_, {}));
  core_.calls.settle_end(core_.token_end, core_.events());
  if (core_.calls.is_open()) end_call(CallStatus::incomplete);
  core_.raw.clear();
  body_.reset();
  at_.reasoning_is_cut = at_.in_section = at_.closer_pending = at_.closer_is_calls = false;
  at_.may_chain = false;
  core_.after_markup(core_.program().reasoning->close.after);
}

bool CallReader::decide(FinishReason reason) {
  if (Answer* const held = answer()) {
    NoSink sink(tools());
    put_in_copy({});
    CallBody& copy = held->copy;
    const bool is_whole =
        (copy->is_undecided() && copy->decide(false, sink).status == ScanStatus::done) ||
        copy->may_end_here(sink);
    ended_itself(reason) && !is_whole ? read_answer() : read_answer_in_call();
    return true;
  }
  if (at_.state != State::body || !body_->is_undecided()) return false;
  decide_body();
  return true;
}

void CallReader::decide_body() {
  const std::int32_t ended_calls = last_ended_call();
  if (core_.labels) core_.labels->marks().begin_put(body_bytes());
  on_body(body_->decide(core_.echo.begins(pending_text_), *this), {}, ended_calls);
}

// A string that the output cuts off, and that holds the closer, has lost its own quote.
void CallReader::look_for_closer(std::string_view text) {
  const std::vector<std::string>& closers = core_.call().close.texts;
  if (closers.empty() || holds_closer() || core_.call().is(BodyKind::xml_parameters)) return;
  const std::string_view closer = closers.front();
  std::string read(closer.substr(0, closer_read_));
  read += text;
  if (read.find(closer) != std::string::npos) {
    closer_read_ = closer.size();
    return;
  }
  closer_read_ = std::min(closer.size() - 1, read.size());
  while (!read.ends_with(closer.substr(0, closer_read_))) --closer_read_;
}

// Text of the call, between its markers.
void CallReader::put_text(std::string_view text) {
  if (!core_.labels) return core_.put_call_text(Fate::tool_call, text);
  core_.labels->put(text, [this](std::string_view piece, LabelPart part, CallPaths::Id path) {
    core_.put_call_text(Fate::tool_call, piece, part, path);
  });
}

// A name before the body, which the body's reader has not marked.
void CallReader::label_name(std::string_view name) {
  if (!core_.labels) return;
  const BodyKind kind = core_.call().kind();
  if (kind == BodyKind::json_call || kind == BodyKind::pythonic || name.empty()) return;
  // The name as the tool is called. A name with entities or quotes may not be found, and has no
  // label.
  const std::size_t begin = after_opener().find(name);
  if (begin == std::string_view::npos) return;
  CallMarks& marks = core_.labels->marks();
  marks.begin_put(core_.labels->place() + begin);
  marks.add(CallMark::Kind::name, 0);
  marks.add(CallMark::Kind::name_end, static_cast<std::int64_t>(name.size()));
}

// How many bytes of the call's text precede what the body reads next.
std::size_t CallReader::body_bytes() const {
  return core_.labels->place() + pending_text_.size() + core_.raw.size() - opener_bytes_;
}

// Text of an announced call, except what may turn out to be a closer or not the call's.
void CallReader::put_body_text(const BodyResult& result, std::string_view read,
                               std::size_t unread) {
  pending_text_ += read;
  std::size_t open = body_->undecided_bytes();
  // The closer is a marker of the call, and what follows it is not the call's.
  if (result.status == ScanStatus::done) open = result.closer.size() + unread;
  if (result.status == ScanStatus::failed) open = unread;
  const std::size_t sure = pending_text_.size() - std::min(open, pending_text_.size());
  put_text(std::string_view(pending_text_).substr(0, sure));
  pending_text_.erase(0, sure);
  if (result.status == ScanStatus::more) return;
  if (result.status == ScanStatus::done) {
    core_.put_call_text(Fate::marker,
                        std::string_view(pending_text_).substr(0, result.closer.size()));
  }
  pending_text_.clear();
}

Rest CallReader::rest() const {
  if (!core_.calls.is_open() || core_.keeps_call_text() || answer() != nullptr) return {};
  const BodyRest body = body_->rest();
  Rest rest = core_.calls.rest(body.stops);
  if (may_hold_answer()) rest.stops |= sought_closer()->stops();
  rest.escapes = body.escapes;
  rest.holds_line_break = body.holds_line_break;
  return rest;
}

void CallReader::add_held(Held& out, bool as_text) const {
  if (at_.state != State::body) return out.add(HeldReason::name, core_.raw);
  if (!core_.calls.is_open()) {
    return out.add(core_.call().is_tentative() ? HeldReason::call : HeldReason::name, core_.raw);
  }
  // For a call that a filter turns into text: its arguments are not held as such.
  if (as_text) {
    out.add(HeldReason::closing_tag, pending_text_);
  } else {
    core_.calls.add_held(out);
    body_->add_held(out);
  }
  if (const Answer* const held = answer()) out.add(HeldReason::call, held->text.text());
}

}  // namespace unspool
