// Most formats have no calls without an opener; for them content is one search for markers. Formats
// that have some look at each place where one may begin:
//
//   Line::start   of the message, white space before it included       {"name": "f", …}
//   Line::begin   of a line                                            text, then {"name": …}
//   a fence       ```json, a line end, then the call, then ```
//   in a section  between its markers
#include "parser/content_reader.h"

#include <algorithm>
#include <string>

#include "body/names.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Bounds of what is searched or held at one place, so that no input makes a byte cost more than
// another.
constexpr std::size_t kMaxLineBytes = 1024;
constexpr std::size_t kMaxFenceBytes = 32;
constexpr std::size_t kMaxFenceSpaceBytes = 64;

bool is_fence_info(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') ||
         std::string_view("_+-. \t\r").find(byte) != std::string_view::npos;
}

// Text up to the end of the line. Bounded: a line may have many markers, and each ends a search.
std::string_view line_of(std::string_view text) {
  text = text.substr(0, kMaxLineBytes);
  return text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
}

// Whether another call of this kind may begin with the byte, directly after the last one.
bool chains_at(const CallRegion& call, bool closer_pending, char byte) {
  if (call.is(BodyKind::json_call) || call.is_one_object()) return byte == '{';
  // Without a closer, only the format says that a second call may follow the first.
  const bool may_follow =
      closer_pending || (call.close.is_empty() && !call.is_bare() && !call.separators.empty());
  return call.is(BodyKind::pythonic) && may_follow && begins_name(byte);
}

}  // namespace

std::size_t ContentReader::read(std::string_view text) {
  if (core_.echo.is_expected()) {
    // An echo is compared letter by letter.
    text = text.substr(0, 1);
    if (echo_.read({text})) return 1;
    if (!core_.echo.is_expected()) return 0;
  }
  if (core_.holds_text_after_call()) return put(text);
  if (at_.may_chain) {
    // A marker has precedence: `<` may begin a closer, and then no call is chained.
    const bool is_open = !core_.cursor.would_continue(static_cast<unsigned char>(text[0])) &&
                         trim(core_.cursor.held()).empty();
    if (is_open && chains_at(core_.call(), at_.closer_pending, text[0])) {
      flush_cursor();
      core_.call().is_one_object() ? call_.begin_again()
                                   : call_.begin_bare(at_.call, at_.closer_pending);
      return 0;
    }
    // Byte by byte until the chance has passed.
    text = text.substr(0, 1);
  }
  const bool may_be_bare = has_bare_calls_ || (has_section_calls_ && is_in_gap());
  const bool may_call =
      may_be_bare && !core_.needs_token() && at_.headed != Place::Headed::for_user;
  return may_call ? read_bare(text) : put(text);
}

std::size_t ContentReader::put(std::string_view text) {
  const MarkerCursor::Found match =
      core_.cursor.put(text, [this](std::string_view piece) { core_.put_content(piece); });
  if (has_bare_calls_) follow_lines(text.substr(0, match.consumed));
  if (match.marker != nullptr) parser_.on_marker(match);
  return match.consumed;
}

std::size_t ContentReader::read_bare(std::string_view text) {
  const char byte = text[0];
  if (at_.bare_candidate >= 0) return read_candidate(text);
  const bool in_gap = is_in_gap();
  // Amid a possible marker nothing can begin.
  if ((at_.line != Line::inside || in_gap) && is_blank(core_.cursor.held())) {
    if (begins_candidate(byte)) return read_candidate(text);
    if (begins_bare(byte)) return 0;
  }
  const bool is_in_line = !in_gap && (at_.line == Line::inside || !is_space(byte));
  // Within a line a bare call cannot begin, so the rest of the line is read at once.
  return put(is_in_line ? line_of(text) : text.substr(0, 1));
}

// White space at the start of the message does not change the position.
void ContentReader::follow_lines(std::string_view read) {
  if (at_.line == Line::start && read.size() == 1 && is_space(read[0])) return;
  // The last byte alone decides where the next one stands.
  at_.line = read.back() == '\n' ? Line::begin : Line::inside;
}

// Whether a call, the opening line of a fenced block, or its end begins with this byte.
bool ContentReader::begins_bare(char byte) {
  // `begins_candidate` has seen to such a byte.
  if (core_.cursor.would_continue(static_cast<unsigned char>(byte))) return false;
  const auto& calls = core_.program().calls;
  // In a block only its first line can be a call.
  const int call = at_.in_fence ? -1 : bare_call_at(byte);
  const bool is_fence = byte == '`' && at_.line != Line::inside &&
                        std::any_of(calls.begin(), calls.end(),
                                    [](const CallRegion& region) { return region.start.fenced; });
  if (call < 0 && !is_fence) return false;
  flush_cursor();  // first: it precedes the call, quoted or not
  if (call >= 0 && !may_be_example({}, false)) return false;
  core_.raw.clear();
  if (call >= 0) {
    call_.begin_bare(static_cast<std::uint8_t>(call), false);
  } else {
    core_.enter(State::fence);
  }
  return true;
}

// Whether a call or a marker begins with this byte.
bool ContentReader::begins_candidate(char byte) {
  if (at_.in_fence || !core_.cursor.would_continue(static_cast<unsigned char>(byte))) return false;
  const int candidate = bare_call_at(byte);
  if (candidate < 0) return false;
  flush_cursor();
  at_.bare_candidate = candidate;
  return true;
}

// A call or a marker may begin here: a bare call is tried once it can no longer be a marker.
std::size_t ContentReader::read_candidate(std::string_view text) {
  std::string released;
  const MarkerCursor::Found match =
      core_.cursor.put(text.substr(0, 1), [&](std::string_view piece) { released += piece; });
  if (match.marker != nullptr) {
    at_.bare_candidate = -1;
    parser_.on_marker(match);
  } else if (!released.empty()) {
    // It was no marker. What the cursor held is the beginning of the call.
    core_.cursor.flush([&](std::string_view piece) { released += piece; });
    core_.raw.clear();
    if (!may_be_example(released, false)) {
      at_.bare_candidate = -1;
      core_.put_content(released);
      follow_lines(released);
      return 1;
    }
    call_.begin_bare(static_cast<std::uint8_t>(at_.bare_candidate), false);
    read_again(released);
  }
  return 1;
}

int ContentReader::bare_call_at(char byte) const {
  const auto& calls = core_.program().calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (may_begin(calls[i]) && calls[i].start.letters.find(byte) != std::string::npos)
      return static_cast<int>(i);
  }
  return -1;
}

// Whether such a call may be here without an opener.
bool ContentReader::may_begin(const CallRegion& call) const {
  // A call that is repaired may have text before it.
  const bool mends = core_.options().repair && core_.tools() != nullptr;
  // A call in another dialect than the format's is a repair.
  if (call.start.is_slip && !mends) return false;
  switch (call.start.place) {
    case BarePlace::nowhere: return false;
    case BarePlace::start: return at_.line == Line::start || (mends && at_.line != Line::inside);
    case BarePlace::line: return at_.line != Line::inside;
    case BarePlace::section: return is_in_gap();
  }
  return false;
}

// Whether a possible fence continues with this byte: its backticks, and the opening line of a block
// with the white space after it.
bool ContentReader::fence_goes_on(char byte) const {
  const std::string& fence = core_.raw;
  if (fence.size() < 3) return byte == '`';
  // The end of a block is three backticks and nothing else.
  if (at_.in_fence) return false;
  const std::size_t line_end = fence.find('\n');
  if (line_end != std::string::npos)
    return is_space(byte) && fence.size() < line_end + kMaxFenceSpaceBytes;
  return fence.size() < kMaxFenceBytes && (is_fence_info(byte) || byte == '\n');
}

// It is a fence once it is known whether a call follows.
std::size_t ContentReader::read_fence(char byte) {
  if (fence_goes_on(byte)) {
    core_.raw += byte;
    return 1;
  }
  // One or two backticks quote a word.
  if (core_.raw.size() < 3) {
    core_.release_raw();
    return 0;
  }
  at_.in_fence = !at_.in_fence;
  // The backticks and the opening line become part of the call, so they are not emitted.
  if (at_.in_fence && begin_fenced(byte)) return 0;
  // Read before the text is released.
  const bool at_line_begin = core_.raw.back() == '\n';
  core_.release_raw();
  at_.line = at_line_begin ? Line::begin : Line::inside;
  return 0;
}

// Begins the call in a block whose opening line has been read, if the byte can begin one.
bool ContentReader::begin_fenced(char byte) {
  if (core_.raw.find('\n') == std::string::npos) return false;
  const auto& calls = core_.program().calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].start.fenced || calls[i].start.letters.find(byte) == std::string::npos) continue;
    at_.state = State::content;
    const bool may_begin = may_be_example(core_.raw, true);
    at_.state = State::fence;
    if (!may_begin) return false;
    call_.begin_bare(static_cast<std::uint8_t>(i), true);
    return true;
  }
  return false;
}

// Whether a call may begin here. If it is quoted, prose after it shows that it is an example.
bool ContentReader::may_be_example(std::string_view begun, bool is_fenced) {
  Trial& trial = core_.trial;
  const bool is_quoted = core_.minds_quotes() && (is_fenced || core_.is_quoted({}));
  if (trial.is_on()) {
    if (trial.closed_at > 0) return false;  // it is the answer's
    if (trial.quotes && at_.boundary == Boundary::none) trial.is_quoted = is_quoted;
    return true;
  }
  if (!is_quoted) return true;
  if (trial.replay_left > 0 || core_.options().calls_in_fences == CallsInFences::keep) return false;
  core_.begin_quote(begun);
  return true;
}

}  // namespace unspool
