#include "filter/other_calls.h"

#include <algorithm>
#include <utility>

#include "format/schema_fit.h"
#include "parser/parser.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// How often a text is searched again.
constexpr std::uint8_t kMostSearches = 4;

// Letters, digits and spaces end no call, so a run of them is read at once. No decision depends on
// how far into a run was read: runs are as long as the chunks let them be.
std::size_t plain_run(std::string_view text) {
  const auto is_plain = [](unsigned char byte) {
    return byte >= 0x80 || byte == ' ' || (byte >= '0' && byte <= '9') ||
           (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
  };
  std::size_t size = 0;
  while (size < text.size() && is_plain(static_cast<unsigned char>(text[size]))) ++size;
  return size;
}

bool may_be_named(std::string_view text, const UnmarkedWay& way, const ToolSchemas& tools) {
  NamedStart start;
  start.put(text, way, tools);
  return start.state() != NamedStart::State::failed;
}

bool is_text(const Event& event) {
  if (event.kind == EventKind::malformed) return event.index < 0;
  return event.kind == EventKind::content && std::string_view(event.reason) != kHeaded;
}

bool is_text(const Events::Audited& piece) {
  return piece.call < 0 && piece.part == LabelPart::none &&
         (piece.fate == Fate::content || piece.fate == Fate::malformed);
}

}  // namespace

OtherCalls::OtherCalls(std::unique_ptr<EventParser> inner, std::shared_ptr<const Format> own,
                       const ParserOptions& options)
    : ParserFilter(std::move(inner)),
      own_(std::move(own)),
      families_(own_->others().get()),
      options_(options) {
  options_.by_id = false;
  options_.label_paths = nullptr;
  options_.starts_in_reasoning = false;
  cursor_.reset(&families_->openers());
}

std::unique_ptr<EventParser> OtherCalls::make_parser(Family family) const {
  ParserOptions options = options_;
  options.audit = true;  // shows which bytes are a call's
  options.ends_whole_calls = true;
  options.reads_slips = true;  // the whole call shows that the markers were meant
  return std::make_unique<Parser>(families_->format(family), options);
}

// A token that its own family omits may be one of another family's markers.
void OtherCalls::put_special(std::string_view text, std::uint64_t token_end, Events& out) {
  const bool is_marker = readers_.empty() ? families_->opens(text) : families_->has_marker(text);
  is_marker ? put_text(text, token_end, out) : ParserFilter::put_special(text, token_end, out);
}

EventParser::Progress OtherCalls::progress() const {
  Progress result = ParserFilter::progress();
  if (!waiting_.is_empty()) result.is_undecided = true;
  return result;
}

void OtherCalls::add_held(Held& out) const {
  const HeldReason reason = readers_.empty() ? HeldReason::marker : HeldReason::call;
  for (Place at = waiting_.begin(); at < waiting_.end();) {
    const std::string_view text = waiting_.text_at(at);
    out.add(reason, text);
    at += text.size();
  }
  inner().add_held(out);
}

void OtherCalls::add_held_text(Held& out) const { add_held(out); }

void OtherCalls::pass(const Events& in, std::uint64_t, Events& out) {
  for (const Event& event : in.list()) pass_event(event, in, out);
  if (options_.audit) pass_audit(in, out);
}

void OtherCalls::pass_event(const Event& event, const Events& in, Events& out) {
  const std::string_view text = in.text(event);
  if (is_text(event)) {
    if (is_plain(text)) {
      follow_line(text);
      quotes_.put(text);
      decide(text.size(), false);
      return out.add(event, in);
    }
    waiting_.add({event.kind, event.reason, event.span.end}, text);
    return search_all(out);
  }
  const bool is_end = event.kind == EventKind::finish;
  finish_waiting(is_end ? event.finish_reason : FinishReason::length, event.span.end, out);
  at_line_begin_ = true;
  quotes_.begin_line();
  // A header says that a text is for the user, so it holds no call. The mark is for this filter.
  if (event.kind == EventKind::content) {
    decide(text.size(), false);
    return out.add_text(event.kind, -1, text, event.span.end);
  }
  if (event.index < 0) return out.add(event, in);
  if (event.kind == EventKind::tool_call_begin) {
    own_calls_.push_back(calls_++);
    first_call_ = calls_;
  }
  Event numbered = event;
  numbered.index = own_calls_.at(static_cast<std::size_t>(event.index));
  out.add(numbered, in);
}

// Whether nothing can begin in a text.
bool OtherCalls::is_plain(std::string_view text) const {
  if (!waiting_.is_empty() || !readers_.empty()) return false;
  if (families_->openers().skip(text) < text.size()) return false;
  const bool has_line = at_line_begin_ || text.find('\n') != std::string_view::npos;
  return !has_line || !families_->has_bare_calls();
}

void OtherCalls::search_all(Events& out) {
  while (read_ < waiting_.end()) {
    const std::string_view text = waiting_.text_at(read_);
    if (readers_.empty()) {
      search(text, out);
      continue;
    }
    const std::uint64_t token_end = waiting_.token_end_at(read_);
    const std::size_t run = std::min(plain_run(text), room());
    // A copy: what waits may be passed on while it is read.
    const std::string letters(text.substr(0, std::max<std::size_t>(run, 1)));
    read_ += letters.size();
    if (run == 0) judged_ = read_;
    put_to_readers(letters, token_end, out);
  }
}

// Looks for the beginning of a call.
void OtherCalls::search(std::string_view text, Events& out) {
  if (families_->has_bare_calls()) {
    if (begin_at_line(text, out)) return;
    // One line at a time; at its begin one letter, since white space may precede a call.
    text = text.substr(0, at_line_begin_ ? 1 : std::min(text.find('\n'), text.size() - 1) + 1);
  }
  std::size_t released = 0;
  const MarkerCursor::Found match =
      cursor_.put(text, [&](std::string_view piece) { released += piece.size(); });
  follow_line(text.substr(0, match.consumed));
  const bool at_line_begin = at_line_begin_;  // behind what the cursor holds, too
  read_ += match.consumed;
  forward(waiting_.begin() + released, out);
  at_line_begin_ = at_line_begin;
  if (match.marker != nullptr) begin(families_->families_at(match.marker->value), out);
}

bool OtherCalls::begin_at_line(std::string_view text, Events& out) {
  if (!at_line_begin_ || !is_blank(cursor_.held())) return false;
  const auto& families = families_->families_at_line(static_cast<unsigned char>(text[0]));
  if (families.empty()) return false;
  forward(read_, out);
  cursor_.reset(&families_->openers());
  ++read_;
  begin(families, out);
  return true;
}

void OtherCalls::follow_line(std::string_view text) {
  for (const char byte : text) {
    if (byte == '\n') {
      at_line_begin_ = true;
    } else if (!is_space(byte)) {
      at_line_begin_ = false;
    }
  }
}

// The waiting text that has been read opens a call of these families.
void OtherCalls::begin(const std::vector<Family>& families, Events& out) {
  begin_ = waiting_.begin();
  judged_ = read_;
  first_call_ = calls_;
  const std::string opener = waiting_.text(begin_, read_);
  Quotes quotes = quotes_;
  quotes.put(std::string_view(opener).substr(0, opener.find_first_not_of(kSpace)));
  quotes.expect_no_prose();
  const CallsInFences policy = options_.calls_in_fences;
  is_quoted_ = policy != CallsInFences::call && quotes.is_quoting();
  const bool may_call = !is_quoted_ || policy == CallsInFences::wait_and_see;
  is_quoted_ = is_quoted_ && !is_ending_;
  for (const Family family : families) {
    if (!may_call) break;
    const UnmarkedWay* way = families_->unmarked_way(family);
    if (way == nullptr ? families_->name(family) == own_->program().name
                       : !may_be_named(opener, *way, *options_.tools))
      continue;
    readers_.push_back({.family = family, .parser = make_parser(family), .quotes = quotes});
    Reader& reader = readers_.back();
    if (way != nullptr) reader.parser->put_text(way->opener, 0, reader.events);
  }
  put_to_readers(opener, waiting_.token_end_at(read_ - 1), out);
}

void OtherCalls::put_to_readers(std::string_view text, std::uint64_t token_end, Events& out) {
  for (Reader& reader : readers_) {
    const UnmarkedWay* way = families_->unmarked_way(reader.family);
    if (way != nullptr) reader.start.put(text, *way, *options_.tools);
    reader.parser->put_text(text, token_end, reader.events);
  }
  act(out);
}

// Acts on what the readers have found.
void OtherCalls::act(Events& out) {
  for (std::size_t i = 0; i < readers_.size();) {
    Verdict verdict = judge(readers_[i]);
    while (verdict == Verdict::call) {
      if (readers_.size() > 1) {
        Reader first = std::move(readers_[std::exchange(i, 0)]);
        readers_.clear();
        readers_.push_back(std::move(first));
      }
      count(readers_[i], out);
      verdict = judge(readers_[i]);
    }
    if (verdict == Verdict::text) return end_reading(out);
    if (verdict == Verdict::open) {
      ++i;
    } else if (has_call()) {
      return reject(out);
    } else {
      readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (readers_.empty()) return reject(out);
  if (room() > 0) return;
  // All of it counts as searched often enough.
  judged_ = searched_ = read_;
  depth_ = kMostSearches;
  reject(out);
}

// `call`: the last event that has been judged is the end of a call that counts.
OtherCalls::Verdict OtherCalls::judge(Reader& reader) const {
  if (reader.start.state() == NamedStart::State::failed) return Verdict::none;
  const auto& events = reader.events.list();
  for (; reader.judged < events.size(); ++reader.judged) {
    const Event& event = events[reader.judged];
    const bool is_after_call = (has_call() || reader.has_quoted) && reader.name.empty();
    switch (event.kind) {
      case EventKind::content:
        if (!is_after_call) return Verdict::none;
        if (!is_quoted_) return Verdict::text;
        // The last event may grow.
        reader.quotes.put(reader.events.text(event).substr(reader.text_read));
        reader.text_read = reader.events.text(event).size();
        if (reader.quotes.has_prose()) return Verdict::none;
        if (reader.judged + 1 == events.size()) return Verdict::open;
        reader.text_read = 0;
        break;
      case EventKind::tool_call_begin:
        reader.name = reader.events.name(event);
        reader.begin = reader.judged;
        if (options_.tools->find(reader.name) == nullptr) return Verdict::none;
        break;
      case EventKind::tool_call_end: {
        if (is_after_call) break;  // its repairs
        const ToolSchema* tool = options_.tools->find(reader.name);
        if (event.status != CallStatus::complete || tool == nullptr) return Verdict::none;
        std::string arguments;
        for (std::size_t i = reader.begin; i < reader.judged; ++i) {
          if (events[i].kind == EventKind::tool_call_arguments)
            arguments += reader.events.text(events[i]);
        }
        if (!fits_schema(arguments, *tool)) return Verdict::none;
        if (is_quoted_) {
          reader.has_quoted = true;
          reader.name.clear();
          reader.quotes.after_marker();
          break;
        }
        ++reader.judged;
        return Verdict::call;
      }
      case EventKind::malformed:
        if (event.index < 0 || !is_after_call) return Verdict::none;
        break;  // a bracket after the call
      case EventKind::tool_call_arguments:
      case EventKind::call_text:
      case EventKind::finish: break;
      case EventKind::reasoning:
        // An empty block is markup. The last event may grow.
        if (!is_blank(reader.events.text(event))) return Verdict::none;
        if (reader.judged + 1 == events.size()) return Verdict::open;
        break;
      case EventKind::dropped: return Verdict::none;
    }
  }
  return Verdict::open;
}

// The call counts.
void OtherCalls::count(Reader& reader, Events& out) {
  ++calls_;
  reader.name.clear();
  send(reader, out);
  drop_read(reader);
}

// Passes on the events that have been judged, of the calls that count.
void OtherCalls::send(Reader& reader, Events& out) {
  for (; reader.sent < reader.judged; ++reader.sent) {
    Event event = reader.events.list()[reader.sent];
    if (event.index < 0 || event.index >= calls_ - first_call_) continue;
    event.index += first_call_;
    if (event.kind != EventKind::tool_call_begin) {
      out.add(event, reader.events);
      continue;
    }
    // Its own family's way needs no name.
    const bool is_own = families_->unmarked_way(reader.family) != nullptr;
    out.add_begin(event.index, reader.events.name(event), reader.events.id(event), event.span.end,
                  is_own ? std::string_view() : families_->name(reader.family));
  }
}

// Drops the waiting text that is a call's, or markup: not what the reader gives back or holds, nor
// that of a call which does not count yet.
void OtherCalls::drop_read(const Reader& reader) {
  const UnmarkedWay* way = families_->unmarked_way(reader.family);
  // The reader got an opener first, which the output lacks.
  const std::size_t added = way != nullptr ? way->opener.size() : 0;
  std::size_t known = 0;  // bytes of the calls that count, and of the markup between them
  for (const Events::Audited& piece : reader.events.audit()) {
    const bool is_next = piece.call >= calls_ - first_call_;
    const bool is_outside =
        piece.fate == Fate::content || (piece.fate == Fate::malformed && piece.call < 0);
    if (is_next || is_outside) break;
    known += piece.text.size();
  }
  const Place from = waiting_.begin();
  waiting_.take(std::min(begin_ + (known - std::min(added, known)), read_),
                [](const WaitingText::Source&, std::string_view) {});
  quotes_.begin_line();
  if (!options_.audit) return;
  // The reader's audit is that of the call, in place of the inner parser's.
  std::size_t skipped = added + static_cast<std::size_t>(from - begin_);
  std::size_t wanted = static_cast<std::size_t>(waiting_.begin() - from);
  decide(wanted, true);
  for (const Events::Audited& piece : reader.events.audit()) {
    const std::size_t before = std::min(skipped, piece.text.size());
    skipped -= before;
    const std::string_view text = std::string_view(piece.text).substr(before, wanted);
    wanted -= text.size();
    if (text.empty()) continue;
    call_audit_.push_back({piece, std::string(text)});
    if (piece.call >= 0) call_audit_.back().call += first_call_;
  }
}

// Text follows the last call.
void OtherCalls::end_reading(Events& out) {
  send(readers_.front(), out);
  drop_read(readers_.front());
  readers_.clear();
  first_call_ = calls_;
  read_again();
}

// No call came of the waiting text, or none after the last one.
void OtherCalls::reject(Events& out) {
  if (has_call()) send(readers_.front(), out);
  readers_.clear();
  first_call_ = calls_;
  if (waiting_.is_empty()) return;
  const std::uint8_t depth = begin_ < searched_ ? depth_ : 0;
  searched_ = std::max(searched_, judged_);
  depth_ = depth + 1;
  at_line_begin_ = false;
  // Another call may begin after the first letter.
  const std::string_view text = waiting_.text_at(waiting_.begin());
  const Place after_letter = waiting_.begin() + first_bytes(text, 1).size();
  forward(depth == kMostSearches ? judged_ : std::min(after_letter, read_), out);
  read_again();
}

// The output ends here, or something else than text follows.
void OtherCalls::finish_waiting(FinishReason reason, std::uint64_t token_end, Events& out) {
  search_all(out);
  is_ending_ = true;
  while (!readers_.empty()) {
    for (Reader& reader : readers_) reader.parser->finish(reason, token_end, reader.events);
    act(out);
    const bool was_quoted = std::exchange(is_quoted_, false);
    if (!readers_.empty() && was_quoted) {
      // No prose has followed: it is read once more, as calls.
      readers_.clear();
      read_again();
    } else if (!readers_.empty()) {
      has_call() ? end_reading(out) : reject(out);
    }
    search_all(out);
  }
  is_ending_ = false;
  cursor_.reset(&families_->openers());
  forward(read_, out);
}

// Passes on the waiting text before `to`.
void OtherCalls::forward(Place to, Events& out) {
  waiting_.take(to, [&](const WaitingText::Source& source, std::string_view text) {
    decide(text.size(), false);
    follow_line(text);
    quotes_.put(text);
    out.add_text(source.kind, -1, text, source.token_end, source.reason);
  });
}

void OtherCalls::decide(std::size_t bytes, bool is_call) {
  if (!options_.audit || bytes == 0) return;
  if (decisions_.empty() || decisions_.back().is_call != is_call)
    decisions_.push_back({0, is_call});
  decisions_.back().bytes += bytes;
}

void OtherCalls::pass_audit(const Events& in, Events& out) {
  for (Events::Audited piece : in.audit()) {
    if (piece.call >= 0) piece.call = own_calls_.at(static_cast<std::size_t>(piece.call));
    audit_.push_back(std::move(piece));
  }
  const auto put = [&](std::deque<Events::Audited>& from, std::size_t bytes) {
    Events::Audited& piece = from.front();
    bytes = std::min(bytes, piece.text.size());
    out.add_audit(piece, std::string_view(piece.text).substr(0, bytes));
    piece.text.erase(0, bytes);
    if (piece.text.empty()) from.pop_front();
    return bytes;
  };
  while (!audit_.empty()) {
    if (!is_text(audit_.front())) {
      put(audit_, audit_.front().text.size());
      continue;
    }
    if (decisions_.empty()) return;
    Decision& decision = decisions_.front();
    std::size_t bytes = std::min(decision.bytes, audit_.front().text.size());
    if (decision.is_call) {
      if (call_audit_.empty())  // of a forged state
        call_audit_.push_back({{.fate = Fate::tool_call}, audit_.front().text.substr(0, bytes)});
      bytes = put(call_audit_, bytes);
      audit_.front().text.erase(0, bytes);
      if (audit_.front().text.empty()) audit_.pop_front();
    } else {
      put(audit_, bytes);
    }
    decision.bytes -= bytes;
    if (decision.bytes == 0) decisions_.pop_front();
  }
}

void OtherCalls::visit(Archive& archive) {
  archive.same("choice of options", kOtherCalls, families_->fingerprint());
  ParserFilter::visit(archive);
  archive.given(own_, families_, options_);
  cursor_.visit(archive);
  archive.scratch(is_ending_);
  archive(quotes_, is_quoted_);
  archive(at_line_begin_, waiting_, read_, judged_, searched_, depth_, begin_);
  archive(first_call_, calls_, own_calls_);
  archive(audit_, call_audit_, decisions_);
  std::size_t readers = readers_.size();
  archive(readers);
  archive.expect(readers <= families_->size());
  if (archive.is_reading()) readers_.clear();
  for (std::size_t i = 0; i < readers; ++i) {
    if (archive.is_reading()) readers_.emplace_back();
    Reader& reader = readers_[i];
    archive.index(reader.family, families_->size());
    if (archive.is_reading()) reader.parser = make_parser(reader.family);
    archive(reader.start, reader.events, reader.judged, reader.sent, reader.name, reader.begin,
            reader.quotes, reader.text_read, reader.has_quoted);
    archive.expect(
        reader.sent <= reader.judged && reader.judged <= reader.events.list().size() &&
        reader.begin <= reader.judged &&
        (reader.text_read == 0 ||
         (reader.judged < reader.events.list().size() &&
          reader.text_read <= reader.events.text(reader.events.list()[reader.judged]).size())));
    reader.parser->visit(archive);
  }
  archive.expect(is_sound());
}

// Whether an output can lead to this state.
bool OtherCalls::is_sound() const {
  if (read_ < waiting_.begin() || read_ > waiting_.end() || judged_ > read_) return false;
  const Place read = read_ - waiting_.begin();
  if (read > options_.limits.max_held_bytes + 1) return false;
  // The cursor holds text that waits, and none while readers have it.
  if (cursor_.held().size() > (readers_.empty() ? read : 0)) return false;
  if (!readers_.empty() && (begin_ > waiting_.begin() || (read == 0 && !has_call()))) return false;
  if (first_call_ > calls_ || first_call_ < 0 || calls_ > CallWriter::Place::kMostCalls)
    return false;
  if (has_call() && readers_.size() != 1) return false;
  return std::all_of(own_calls_.begin(), own_calls_.end(),
                     [this](std::int32_t call) { return call >= 0 && call < calls_; });
}

}  // namespace unspool
