// The arguments `{"days": [1, 2]}` make these events, each as soon as its bytes are there:
//
//   {         object  $            opened
//   [         array   $.days       opened
//   1,        number  $.days[0]    final, at the comma
//   2]        number  $.days[1]    final, at the bracket; then the array
//   the end   object  $            final, when the call is complete
//
// A string has an event for each fragment, so that a client can show it while it grows.
#include "delta/argument_reader.h"

#include <utility>

namespace unspool {

namespace {

ArgumentKind kind_of(char first) {
  switch (first) {
    // Deltas carry JSON, or the beginning of JSON, so a value's first byte decides its kind.
    case '{': return ArgumentKind::object;
    case '[': return ArgumentKind::array;
    case '"': return ArgumentKind::string;
    case 't':
    case 'f': return ArgumentKind::boolean;
    case 'n': return ArgumentKind::null;
    default: return ArgumentKind::number;
  }
}

bool is_container(ArgumentKind kind) {
  return kind == ArgumentKind::object || kind == ArgumentKind::array;
}

}  // namespace

void ArgumentReader::put(const Delta& delta, std::vector<ArgumentEvent>& out) {
  out_ = &out;
  switch (delta.kind) {
    case EventKind::tool_call_begin: begin_call(delta.index); break;
    case EventKind::tool_call_arguments:
      if (delta.index == call_) read(delta.text);
      break;
    case EventKind::tool_call_end:
      if (delta.index == call_ && delta.status == CallStatus::complete) end_call();
      break;
    default: break;
  }
  out_ = nullptr;
}

void ArgumentReader::begin_call(std::int32_t call) {
  call_ = call;
  offset_ = 0;
  reader_.reset();
  frames_.clear();
  part_ = Part::none;
}

void ArgumentReader::read(std::string_view text) {
  text_ = text;
  taken_ = 0;
  // The reader reports positions in this fragment; `offset_` makes them positions in the arguments.
  reader_.check(text, this);
  if (part_ != Part::none) take(text.size());
  // A string is shown as it grows. A number or a word is not: `1` may become `12`.
  if (part_ == Part::string && !taken_text_.empty()) {
    emit(ArgumentKind::string, path_, begin_, offset_ + text.size(), false);
    begin_ = offset_ + text.size();
  }
  offset_ += text.size();
}

// The arguments are final when the call is complete.
void ArgumentReader::end_call() {
  // One frame is the arguments' own object. More are open only if the call was cut off, and then it
  // is not complete.
  if (frames_.size() == 1) {
    emit(frames_.back().kind, nullptr, frames_.back().begin, offset_, true);
  }
  frames_.clear();
  call_ = -1;
}

ArgumentReader::Answer ArgumentReader::on_value(std::size_t, char first, std::size_t at) {
  const ArgumentKind kind = kind_of(first);
  const Path path = path_here();
  if (is_container(kind)) {
    const std::uint64_t begin = offset_ + at;
    frames_.push_back({path, kind, 0, begin});
    emit(kind, path, begin, begin + 1, false);
    return Answer::proceed;
  }
  kind_ = kind;
  path_ = path;
  const bool is_string = kind == ArgumentKind::string;
  // A string's opening quote is not part of its text.
  begin_part(is_string ? Part::string : Part::word, at + (is_string ? 1 : 0));
  begin_ = offset_ + at;
  return Answer::proceed;
}

ArgumentReader::Answer ArgumentReader::on_value_end(std::size_t, std::size_t end) {
  if (part_ != Part::none) {
    take(end);
    emit(kind_, path_, begin_, offset_ + end, true);
    part_ = Part::none;
  } else if (frames_.size() > 1) {
    // The outermost object waits for `end_call`: after its brace the call may still turn out
    // malformed.
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    emit(frame.kind, frame.path, frame.begin, offset_ + end, true);
  }
  return Answer::proceed;
}

ArgumentReader::Answer ArgumentReader::on_key(std::size_t, std::size_t at) {
  begin_part(Part::key, at + 1);
  return Answer::proceed;
}

ArgumentReader::Answer ArgumentReader::on_key_end(std::size_t, std::size_t at) {
  take(at + 1);
  // Decoded: `"a\u0062"` and `"ab"` are the same member.
  key_ = std::exchange(taken_text_, {});
  part_ = Part::none;
  return Answer::proceed;
}

ArgumentReader::Answer ArgumentReader::on_comma(std::size_t, std::size_t) {
  // Counted in objects too, where it is not used; asking for the kind would cost the same.
  if (!frames_.empty()) ++frames_.back().index;
  return Answer::proceed;
}

ArgumentReader::Path ArgumentReader::path_here() const {
  if (frames_.empty()) return nullptr;
  const Frame& frame = frames_.back();
  const bool is_list = frame.kind == ArgumentKind::array;
  return std::make_shared<const ArgumentPath>(
      ArgumentPath{frame.path, is_list ? std::string() : key_, is_list ? frame.index : -1});
}

void ArgumentReader::begin_part(Part part, std::size_t at) {
  part_ = part;
  taken_ = at;
  taken_text_.clear();
  decoder_.reset();
}

// Reads the part up to `end`; a string's closing quote is included.
void ArgumentReader::take(std::size_t end) {
  std::string_view text = text_.substr(taken_, end - taken_);
  taken_ = end;
  if (part_ == Part::word) {
    taken_text_ += text;
    return;
  }
  while (!text.empty()) {
    const JsonStringDecoder::Piece piece = decoder_.next(text);
    taken_text_ += piece.decoded;
    // An escape may be cut by the fragment's end. The decoder has kept its beginning.
    if (piece.is_invalid || piece.consumed == 0) return;
    text.remove_prefix(piece.consumed);
  }
}

void ArgumentReader::emit(ArgumentKind kind, const Path& path, std::uint64_t begin,
                          std::uint64_t end, bool is_final) {
  const bool has_text = !is_container(kind);
  out_->push_back({call_, path, kind, is_final,
                   has_text ? std::exchange(taken_text_, {}) : std::string(), begin, end});
}

}  // namespace unspool
