// The end of a call: complete, malformed, or cut off.
//
// A call ends in one of these ways:
//
//   its closer                         complete, if its arguments are whole
//   another call, section or the end   complete if they are whole, else cut off: incomplete
//   a byte that cannot be there        malformed; the text up to the next marker is reported
//   the same before its name           the text is content, or malformed if a marker opened it
#include <utility>

#include "body/names.h"
#include "parser/call_name.h"
#include "parser/call_reader.h"
#include "text/scratch.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer text is not looked at for the beginning of a list's next call.
constexpr std::size_t kMaxBeginning = 256;

bool is_closing_tag(std::string_view text) { return text.starts_with("</") && text.ends_with('>'); }

}  // namespace

// The body has ended, with its closer or before it.
void CallReader::end_body(const BodyResult& result) {
  if (!core_.raw.empty()) {  // a list ends
    core_.drop_space();
    core_.audit(Fate::marker, core_.raw);
  }
  if (core_.echo.records()) core_.echo.add(core_.raw);
  if (!result.closer.empty()) core_.expect_echo(result.closer);  // the body may contain its text
  core_.raw.clear();
  body_.reset();
  shrink_scratch<0>(core_.raw, name_, pending_text_);
  const CallRegion& call = core_.call();
  if (result.closer.empty()) {
    at_.closer_pending = has_closer_;
    if (has_closer_ && core_.calls.is_complete()) core_.echo.wait_for_restart();
    // `{"name": …}; {"name": …}`: the next call may follow without an opener.
    at_.may_chain =
        has_closer_ || call.is_bare() || !call.separators.empty() || call.is_one_object();
    core_.after_markup({});
    at_.line = Line::inside;
    return;
  }
  // The section's opener may be missing; its closer is still markup.
  const SectionRegion& section = core_.program().section;
  core_.calls.settle_end(core_.token_end, core_.events());
  at_.closer_pending = !at_.in_section && !section.close.is_empty();
  if (result.closed_section) at_.in_section = at_.closer_pending = false;
  // The closer may be the section's, which ends the call too.
  core_.after_markup(result.closed_section ? section.close.after : call.close.after);
}

void CallReader::settle_end(bool is_closed) {
  if (!core_.calls.end_waits()) return;
  const std::string text = std::exchange(core_.raw, {});
  if (!is_closed || text.empty()) {
    core_.calls.settle_end(core_.token_end, core_.events());
    return core_.put_content(text);
  }
  core_.calls.reopen();
  problem_ = "text follows the call's arguments";
  at_.boundary = Boundary::none;
  at_.closer_pending = at_.may_chain = false;
  core_.enter(State::malformed);
  put_malformed(text);
}

// The call is malformed. Text that no marker identified as a call is content; the rest is reported.
void CallReader::on_failure(const char* problem, const Letters& unread) {
  // Calls before it in the reasoning wait for more: this one is text.
  if (core_.has_rehearsed() && !core_.calls.is_open() && !has_called()) {
    body_.reset();
    core_.release_raw();
    return parser_.read_again(unread);
  }
  if (was_mention()) {
    // The trial's input is read again with the opener as text, so nothing else is done here.
    core_.trial.outcome = Outcome::mention;
    return;
  }
  if (core_.is_in_empty_section() && !core_.is_rehearsing()) return core_.trial.fail(problem);
  if (!core_.is_quoting() && !core_.is_rehearsing()) core_.settle_trial();
  if (!core_.calls.is_open() && core_.call().is_tentative() && begun_ == Begun::none &&
      at_.state != State::malformed) {
    body_.reset();
    const int other = next_bare();
    // No marker said that this is a call: it is content, to the letter.
    if (other < 0) return core_.release_raw();
    // The opening line of a fenced block stays before it.
    const std::string raw = core_.raw.substr(opener_bytes_);
    core_.raw.resize(opener_bytes_);
    begin_bare(static_cast<std::uint8_t>(other), has_closer_);
    return read_again(raw);
  }
  problem_ = problem;
  malformed_is_empty_ = true;
  // After the state has changed, the raw text goes out as the beginning of the malformed text.
  const std::string raw = std::exchange(core_.raw, {});
  core_.enter(State::malformed);
  // White space between two calls of a list.
  is_blank(raw) ? core_.audit(Fate::marker, raw) : put_malformed(raw);
  parser_.read_again(unread);
}

// Another kind of bare call that may begin as this one did: `[f(` and `[{`.
int CallReader::next_bare() const {
  const auto& calls = core_.program().calls;
  const BarePlace place = core_.call().start.place;
  const bool is_at_line = place == BarePlace::start || place == BarePlace::line;
  for (std::size_t i = at_.call + 1U; is_at_line && i < calls.size(); ++i) {
    const CallStart& other = calls[i].start;
    if (opener_bytes_ > 0 && !other.fenced) continue;
    if (other.place == BarePlace::line &&
        other.letters.find(after_opener()[0]) != std::string::npos)
      return static_cast<int>(i);
  }
  return -1;
}

// Whether the opener on trial was a mention, now that the text after it is malformed: it has no
// parts of a call, and is in reasoning or within a line. Elsewhere it was meant as a call, and is
// reported. Reasoning that may continue after a call keeps everything that is not one.
bool CallReader::was_mention() const {
  const Trial& trial = core_.trial;
  if (!trial.is_on() || at_.state == State::malformed) return false;
  if (awaits_body()) return true;
  // Reasoning may mention whatever it likes; only an announced call is more.
  if (core_.is_rehearsing()) return !core_.calls.is_open() && !has_called();
  if (core_.is_quoting())
    return !core_.calls.is_open() && !(core_.call().is_tentative() && next_bare() >= 0);
  if (core_.call().is_tentative()) return trial.is_amid_text() || !core_.is_in_empty_section();
  // Parts of a call follow the opener, so it was not prose about one.
  if (has_called() || trial.has_call_markup) return false;
  if (trial.start().place.state != State::reasoning && !trial.is_amid_line) return false;
  const std::string_view after = trim(after_opener());
  // After the opener comes a word: prose. A brace or a tag would be a broken call.
  return at_.state != State::body || after.empty() || begins_name(after[0]);
}

bool CallReader::reads_as_prose(bool stopped) const {
  const Trial& trial = core_.trial;
  const bool is_in_text = trial.start().place.state == State::reasoning || trial.is_amid_line;
  return is_in_text && !trial.has_call_markup &&
         (stopped || trim(name_).find(' ') != std::string_view::npos);
}

void CallReader::begin_malformed_section(std::string_view opener) {
  section_is_malformed_ = true;
  problem_ = core_.trial.problem;
  malformed_is_empty_ = true;
  core_.enter(State::malformed);
  put_malformed(opener);
}

void CallReader::put_malformed(std::string_view text) {
  if (core_.is_rehearsing()) {
    core_.trial.outcome = Outcome::mention;
    return;
  }
  core_.drop_space();
  malformed_is_empty_ = false;
  // A marker after it may be quoted, which the byte before it shows.
  if (!text.empty()) at_.last_byte = text.back();
  if (core_.calls.is_open()) {
    core_.calls.put_malformed(text, problem_, core_.token_end, core_.events());
    return core_.put_call_text(Fate::malformed, text);
  }
  core_.put_malformed(text, problem_);
}

// A list of calls goes on after one that cannot be read, with a call of an offered tool. Between
// two calls, where only a comma is missing, it goes on with any.
std::size_t CallReader::before_next(std::string_view text) const {
  if (!body_.is_begun() || (core_.trial.is_on() && !core_.waits_for_more())) return text.size();
  if (!core_.raw.empty()) return 0;
  if (!core_.cursor.is_idle()) return 1;
  const bool is_between = malformed_is_empty_ && !core_.calls.is_open();
  if (core_.tools() == nullptr && !is_between) return text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Directly at the fault, the next call may lack what separates it.
    const bool may_begin =
        (i == 0 && malformed_is_empty_) || kBetweenCalls.find(text[i]) != std::string_view::npos;
    if (may_begin && !core_.cursor.would_continue(static_cast<unsigned char>(text[i])) &&
        body_->find_next(text.substr(i, 1), core_.tools()) != Body::kNoCall)
      return i;
  }
  return text.size();
}

std::size_t CallReader::read_next(char byte) {
  core_.raw += byte;
  const std::size_t at = body_->find_next(core_.raw, core_.tools());
  if (at < core_.raw.size()) {
    begin_next(at);
    return 1;
  }
  if (at == core_.raw.size() && core_.raw.size() < kMaxBeginning) return 1;
  core_.raw.pop_back();
  give_up_next();
  return 0;
}

// Ends the faulty call, and reads on in a list whose call begins at this place of the held text.
void CallReader::begin_next(std::size_t at) {
  const std::string held = std::exchange(core_.raw, {});
  if (at > 0) put_malformed(std::string_view(held).substr(0, at));
  // A call that lacks its brace alone is whole.
  const bool is_whole = malformed_is_empty_ && body_->may_end_here(*this);
  if (core_.calls.is_open()) end_call(is_whole ? CallStatus::complete : CallStatus::malformed);
  make_call_body({}, false);
  begun_ = Begun::after_fault;
  opener_bytes_ = 0;
  body_->put("[", *this);
  core_.enter(State::body);
  read_again(std::string_view(held).substr(at));
}

void CallReader::on_malformed_end(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  const bool closes = role == Role::call_close || role == Role::section_close;
  // Only its own closer, a call or a message ends a section that holds no call.
  const MarkupRegion* markup = core_.markup_of(match);
  const bool is_plain = markup != nullptr && !markup->has_header();
  if (section_is_malformed_ && (role == Role::call_close || is_plain))
    return put_malformed(match.text);
  if (core_.calls.is_open()) {
    // The body failed at the closer itself, with nothing wrong before it.
    if (closes && malformed_is_empty_ && body_->may_end_here(*this)) {
      end_whole();
      core_.put_call_text(Fate::marker, match.text);
    } else if (core_.is_rehearsing()) {
      core_.trial.outcome = Outcome::mention;
      return;
    } else {
      // Nothing before it was wrong: the closer comes too early, and is what is reported.
      const bool is_early = malformed_is_empty_ && closes;
      if (is_early) put_malformed(match.text);
      end_call(CallStatus::malformed);
      if (closes && !is_early) core_.put_call_text(Fate::marker, match.text);
    }
  } else if (closes) {
    put_malformed(match.text);
  }
  if (role == Role::markup_open) core_.audit(Fate::marker, match.text);
  body_.reset();
  const bool in_broken_section = section_is_malformed_;
  if (role != Role::call_open) section_is_malformed_ = false;
  at_.closer_is_calls = false;
  at_.state = State::content;
  // The state is content by now: the marker is read as after any call.
  if (closes) return parser_.on_closer(role, match);
  if (role == Role::markup_open) return parser_.on_markup(match);
  // A broken section has no text that the marker could be part of.
  at_.boundary = in_broken_section ? Boundary::after_markup : Boundary::none;
  parser_.on_marker(match);
}

void CallReader::reset() {
  body_.reset();
  take_answer();
  name_.clear();
  opener_bytes_ = 0;
  begun_ = Begun::none;
  section_is_malformed_ = false;
  pending_text_.clear();
}

bool CallReader::is_whole() const {
  CallBody body = body_;
  body->link(nullptr);
  NoSink sink(tools());
  return core_.calls.is_open() && body->may_end_here(sink);
}

void CallReader::finish(FinishReason reason) {
  switch (at_.state) {
    case State::opening: return finish_name();
    case State::header:
      if (!ends_name_at_tag(reason)) return finish_name();
      if (!name_call()) return finish_malformed(reason);
      core_.enter(State::body);
      return finish_body(reason);
    case State::body: return finish_body(reason);
    default: return finish_malformed(reason);
  }
}

// `<tool_call>now</arg_value>`: a whole name, and then the closer of something else.
bool CallReader::ends_name_at_tag(FinishReason reason) {
  if (!core_.options().repair || !ended_itself(reason) ||
      !core_.call().is(BodyKind::xml_parameters))
    return false;
  flush_cursor();
  const std::string tool = read_call_name(core_.call(), name_, tools()).inside;
  return !tool.empty() && is_closing_tag(trim(name_).substr(tool.size()));
}

// The output ends within the name of a call.
void CallReader::finish_name() {
  if (core_.is_in_empty_section())
    return core_.trial.fail("the output ends before the tool's name");
  if (core_.call().is_tentative()) return core_.release_raw();
  // Reported and not dropped: the model meant a call, and the host should know.
  problem_ = "the output ends before the tool's name";
  put_malformed(std::exchange(core_.raw, {}));
}

void CallReader::finish_body(FinishReason reason) {
  const bool stopped = ended_itself(reason);
  bool ends = false;
  if (core_.options().repair && core_.calls.is_open()) {
    ends = stopped && body_->may_end_here(*this);
    // `complete` closes strings and brackets that the cut left open. A body that may end here needs
    // none. One that took the closer as text has lost a quote, if the model ended by itself.
    ends || (holds_closer() && stopped) ? body_->end(*this) : body_->complete(*this);
  } else {
    // A body holds bytes that more input would have decided, such as the last digits of a number.
    body_->end(*this);
    ends = core_.calls.is_open() && stopped && body_->may_end_here(*this);
  }
  // Half a closer is part of the call's text, not of its arguments.
  put_text(pending_text_);
  core_.calls.settle_end(core_.token_end, core_.events());
  if (!core_.calls.is_open()) return finish_unannounced();
  ends ? end_whole() : end_call(CallStatus::incomplete);
  core_.raw.clear();
}

// The output ends in a body without a call, or after its last call.
void CallReader::finish_unannounced() {
  if (core_.is_in_empty_section())
    return core_.trial.fail("the output ends before the tool's name");
  if (core_.call().is_tentative() && !has_called()) {
    body_.reset();
    return core_.release_raw();
  }
  const std::string raw = std::exchange(core_.raw, {});
  // A list without its bracket loses nothing.
  if (trim(raw).find_first_not_of(",") == std::string_view::npos) {
    core_.drop_space();
    return core_.audit(Fate::tool_call, raw);
  }
  problem_ = "the output ends before the tool's name";
  put_malformed(raw);
}

void CallReader::finish_malformed(FinishReason reason) {
  give_up_next();
  flush_cursor();
  if (!core_.calls.is_open()) return;
  const bool stopped = ended_itself(reason);
  if (!malformed_is_empty_) {
    end_call(CallStatus::malformed);
  } else if (stopped && body_->may_end_here(*this)) {
    end_whole();
  } else {
    end_call(CallStatus::incomplete);
  }
}

}  // namespace unspool
