#include "body/json_call.h"

#include <algorithm>

#include "body/names.h"
#include "format/program.h"
#include "format/schema_fit.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer text between a name and the arguments is not kept.
constexpr std::size_t kMaxUnreadBytes = 1 << 16;

// The list, the call, and the wrapper around the arguments.
constexpr std::size_t kOuterDepth = 3;

constexpr const char* kNotMended = "the call cannot be mended";
constexpr const char* kStray = "an argument of the tool stands beside the arguments";

}  // namespace

JsonCall::JsonCall(const ObjectSlot& slot, bool is_tentative, const BodyOptions& options)
    : slot_(slot),
      is_tentative_(is_tentative),
      mends_(options.repairs || slot.python),
      reader_(slot.python       ? kDicts
              : options.repairs ? kNearlyJson
                                : kJson) {
  link(options.marks);
  reader_.set_max_depth(ValueReader::kMaxDepth + kOuterDepth);
}

void JsonCall::link(CallMarks* marks) {
  marks_ = marks;
  reader_.set_listener(this);
  if (marks == nullptr) return;
  if (!members_) members_ = std::make_unique<ValueMarks>();
  members_->link(*marks, reader_);
  inner_.link(marks);
}

BodyResult JsonCall::put(std::string_view text, CallSink& sink) {
  // Text inside a string of the arguments that changes no state: most of a long call.
  if (is_in_text() && find_json_special(text, 0) == text.size()) {
    sink.put_arguments(text);
    return {text.size(), ScanStatus::more};
  }
  sink_ = &sink;
  unread_from_ = 0;
  BodyResult result = read(text);
  if (unread_) unread_->append(text, unread_from_, result.consumed - unread_from_);
  if (unread_ && unread_->size() > kMaxUnreadBytes) unread_.reset();
  if (result.status == ScanStatus::failed) result.unread = unread();
  return result;
}

std::string_view JsonCall::unread() const {
  if (unread_) return *unread_;
  return is_announced() && depth_ > 0 ? reader_.unwritten() : std::string_view{};
}

BodyResult JsonCall::read(std::string_view text) {
  std::size_t i = 0;
  if (mends_ && !reader_.has_begun()) {  // a call is not a bare word
    i = std::min(text.find_first_not_of(kSpace), text.size());
    if (i < text.size() && std::string_view("{[\"'").find(text[i]) == std::string_view::npos) {
      problem_ = kNotMended;
      return {i, ScanStatus::failed};
    }
  }
  while (i < text.size()) {
    const std::string_view piece = next_piece(text.substr(i));
    place_ = i;
    if (members_) members_->begin(static_cast<std::int64_t>(i));
    out_.clear();
    from_ = 0;
    has_ended_ = false;
    problem_ = "";
    const ScanResult result = reader_.put(piece, out_);
    const char* refusal = std::exchange(problem_, "");
    const std::size_t read = take(piece);
    if (*problem_ != '\0') return {i + read, ScanStatus::failed};
    i += result.consumed;
    if (result.status == ScanStatus::failed) {
      problem_ = *refusal != '\0' ? refusal : fault();
      return {i, ScanStatus::failed};
    }
    if (result.status == ScanStatus::done) return {i, ScanStatus::done};
    if (has_ended_) break;
  }
  return {i, ScanStatus::more};
}

// The next part to read: a name up to its limit; a string that may have an error, run by run.
std::string_view JsonCall::next_piece(std::string_view text) {
  if (!is_text() && part_ != Part::encoded) return text;
  if (mends_) return text.substr(0, 1);
  if (part_ == Part::encoded) return reader_.text_run(text);
  const std::size_t room = kMaxNameBytes - std::min(text_of_part().size(), kMaxNameBytes);
  return text.substr(0, std::max<std::size_t>(room, 1));
}

// Processes the reader's output for the current part. Returns how much of the piece was valid.
std::size_t JsonCall::take(std::string_view piece) {
  std::size_t read = piece.size();
  if (is_text()) {
    take_text(text_of_part());
    read = 0;
  } else if (part_ == Part::encoded) {
    read = take_encoded();
    if (piece.size() == 1) read = 0;
  } else if (part_ == Part::arguments || part_ == Part::flat) {
    put_arguments(std::string_view(out_).substr(from_));
  }
  from_ = out_.size();
  return read;
}

void JsonCall::take_text(std::string& into) {
  std::string_view text = std::string_view(out_).substr(std::min(from_, out_.size()));
  while (!text.empty()) {
    const JsonStringDecoder::Piece piece = decoder_.next(text);
    const std::string_view decoded = piece.decoded;
    // The reader wrote valid JSON, so this is the state of a false snapshot.
    if (piece.is_invalid) {
      problem_ = "a name or key has an escape that is not JSON";
      return;
    }
    if (into.size() >= kMaxNameBytes && !decoded.empty() && !is_utf8_continuation(decoded[0])) {
      problem_ = "a name or key is longer than 1,024 bytes";
      return;
    }
    into += decoded;
    text.remove_prefix(piece.consumed);
  }
}

std::size_t JsonCall::take_encoded() {
  std::string arguments;
  const JsonInString::Result result = inner_.put(
      std::string_view(out_).substr(std::min(from_, out_.size())), place_ + from_, arguments);
  problem_ = result.problem;
  put_arguments(arguments);
  return result.consumed;
}

JsonCall::Answer JsonCall::refuse(const char* problem) {
  problem_ = problem;
  return Answer::refuse;
}

// The problem with a byte that the reader has rejected.
const char* JsonCall::fault() {
  if (mends_) return kNotMended;
  if (is_text() || part_ == Part::encoded) return "an escape in a string is not JSON";
  if (part_ == Part::structure && depth_ == 0) {
    if (list_ == List::none) return "the call is not a JSON object";
    return reader_.wants_value() ? "a call in the list is not a JSON object"
                                 : "the list of calls is not valid JSON";
  }
  if (part_ == Part::structure && reader_.wants_value()) begin_value('\0', reader_.depth());
  return *problem_ != '\0' ? problem_ : "the call is not valid JSON";
}

void JsonCall::begin_part(Part part, std::size_t depth) {
  part_ = part;
  part_depth_ = depth;
  from_ = out_.size();
}

// A part that is the content of a string.
JsonCall::Answer JsonCall::begin_text(Part part, std::size_t depth) {
  begin_part(part, depth);
  ++from_;
  decoder_.reset();
  return Answer::stop;
}

JsonCall::Answer JsonCall::on_value(std::size_t depth, char first, std::size_t at) {
  if (marks_members()) return members_->on_value(depth, first, at);
  if (part_ != Part::structure) return Answer::proceed;
  at_ = at;
  return depth_ == 0 ? begin_outside(first, depth) : begin_value(first, depth);
}

// The call, or the list of calls.
JsonCall::Answer JsonCall::begin_outside(char first, std::size_t depth) {
  if (first == '{') {
    begin_object();
  } else if (depth > 0) {
    return refuse("a call in the list is not a JSON object");
  } else if (first == '[') {
    list_ = List::empty;
  } else {
    return refuse("the call is not a JSON object");
  }
  return Answer::proceed;
}

void JsonCall::begin_object() {
  stage_ = Stage::unnamed;
  arguments_ = Arguments::none;
  unread_.reset();
  other_depths_ = name_depth_ = 0;
  name_.clear();
  id_.clear();
  type_.clear();
  others_.clear();
  held_arguments_.clear();
  depth_ = 1;
}

JsonCall::Answer JsonCall::on_key(std::size_t depth, std::size_t at) {
  if (marks_members()) return members_->on_key(depth, at);
  if (part_ != Part::structure) return Answer::proceed;
  if (slot_.name_is_key && !has_name()) mark(CallMark::Kind::name, at + 1);
  key_.clear();
  return begin_text(Part::key, depth);
}

JsonCall::Answer JsonCall::on_key_end(std::size_t depth, std::size_t at) {
  if (marks_members()) return members_->on_key_end(depth, at);
  if (part_ != Part::key) return Answer::proceed;
  if (slot_.name_is_key && !has_name()) mark(CallMark::Kind::name_end, at);
  out_ += '"';  // completes what the decoder may hold
  take_text(key_);
  out_.pop_back();
  part_ = Part::structure;
  return *problem_ != '\0' ? Answer::refuse : Answer::proceed;
}

JsonCall::Answer JsonCall::on_colon(std::size_t) {
  if (part_ != Part::structure) return Answer::proceed;
  key_kind_ = classify_key();
  // Only its keys identify a bare object as a call.
  if (is_tentative_ && key_kind_ == Key::other && !has_name() && !has_arguments() &&
      key_ != "type") {
    return refuse("the object is not a call");
  }
  return key_kind_ == Key::other && has_name() ? begin_flat() : Answer::proceed;
}

// If the key is the name, every member is a call.
JsonCall::Answer JsonCall::on_comma(std::size_t depth, std::size_t at) {
  if (marks_members()) return members_->on_comma(depth, at);
  const bool ends_call = part_ == Part::structure && depth_ > 0 && slot_.name_is_key && has_name();
  if (!ends_call) return Answer::proceed;
  if (!is_announced() && !announce()) return Answer::refuse;
  if (!has_arguments()) put_arguments("{}");
  end_call();
  begin_object();
  return Answer::stop;
}

JsonCall::Key JsonCall::classify_key() {
  if (slot_.name_is_key && !has_name()) {
    name_ = key_;
    if (!name_.empty()) stage_ = Stage::named;
    return Key::arguments;
  }
  return kind_of(key_);
}

JsonCall::Key JsonCall::kind_of(std::string_view key) const {
  if (contains(slot_.name_keys, key)) return Key::name;
  if (contains(slot_.arguments_keys, key)) return Key::arguments;
  if (contains(slot_.id_keys, key)) return Key::id;
  if (contains(slot_.wrapper_keys, key)) return Key::wrapper;
  return Key::other;
}

JsonCall::Answer JsonCall::begin_value(char first, std::size_t depth) {
  const bool is_string = first == '"';
  const bool is_name = key_kind_ == Key::name || (key_kind_ == Key::wrapper && is_string);
  if (is_name) {
    if (has_name()) return refuse("the call has two names");
    if (!is_string) return refuse("the tool's name is not a string");
    mark(CallMark::Kind::name, at_ + 1);
    return begin_text(Part::name, depth);
  }
  if (key_kind_ == Key::wrapper && first == '{' && depth_ == 1) {
    depth_ = 2;
    return Answer::proceed;
  }
  if (key_kind_ == Key::arguments) return begin_arguments(first, depth);
  if (key_kind_ == Key::id && is_string && id_.empty()) return begin_text(Part::id, depth);
  if (key_ == "type" && key_kind_ == Key::other && is_string && !has_name() && type_.empty())
    return begin_text(Part::type, depth);
  if (key_kind_ == Key::other && key_ != "type") {
    other_depths_ |= static_cast<std::uint8_t>(1U << depth_);
    if (!has_name() && others_.size() < kMaxNameBytes) others_.append(key_).push_back('\0');
  }
  if (marks_ != nullptr && key_kind_ == Key::flat) {
    marks_->add_parameter(key_, ValueTrim::none, static_cast<std::int64_t>(place_ + at_));
  }
  begin_part(key_kind_ == Key::flat ? Part::flat : Part::skipped, depth);
  return Answer::proceed;
}

JsonCall::Answer JsonCall::begin_arguments(char first, std::size_t depth) {
  if (has_arguments()) return refuse("the arguments are written twice");
  if (first != '{' && first != '"' && first != 'n') {
    return refuse("the arguments are not a JSON object");
  }
  arguments_ = Arguments::open;
  unread_.reset();
  mark(CallMark::Kind::arguments, at_ + (first == '"' ? 1 : 0));
  if (stage_ == Stage::named && !slot_.must_fit && !announce()) return Answer::refuse;
  if (first != '"') {
    begin_part(first == '{' ? Part::arguments : Part::no_arguments, depth);
    if (marks_members()) members_->on_value(depth, first, at_);
    return Answer::proceed;
  }
  inner_.reset();
  return begin_text(Part::encoded, depth);
}

// Models write arguments next to the name. They count if the tool's schema has them; once one
// counts, all must. Otherwise the call cannot be what the model meant.
JsonCall::Answer JsonCall::begin_flat() {
  const bool is_flat = arguments_ == Arguments::flat;
  const bool is_known = tool() != nullptr && tool()->find(key_) != nullptr;
  if (key_ == "type" || (!is_known && !is_flat)) return Answer::proceed;
  const bool is_beside = depth_ == name_depth_;
  if (is_known && has_arguments() && !(is_flat && is_beside)) return refuse(kStray);
  if (!is_beside) return Answer::proceed;
  if (!is_known || (other_depths_ & 1U << depth_) != 0) {
    return refuse("what stands beside the name is not an argument of the tool");
  }
  if (!slot_.must_fit && !is_announced() && !announce()) return Answer::refuse;
  unread_.reset();
  std::string member;
  begin_member(key_, !is_flat, member);
  put_arguments(member);
  arguments_ = Arguments::flat;
  key_kind_ = Key::flat;
  return Answer::proceed;
}

JsonCall::Answer JsonCall::on_value_end(std::size_t depth, std::size_t end) {
  if (marks_members()) members_->on_value_end(depth, end);
  if (part_ != Part::structure) {
    return depth == part_depth_ ? end_part(end) : Answer::proceed;
  }
  if (depth_ == 2) {
    depth_ = 1;
    return Answer::proceed;
  }
  if (depth_ == 1) return end_object();
  return is_tentative_ && list_ == List::empty ? refuse("the list has no calls") : Answer::proceed;
}

JsonCall::Answer JsonCall::end_part(std::size_t end) {
  const Part part = part_;
  take({});
  if (*problem_ != '\0') return Answer::refuse;
  part_ = Part::structure;
  mark_end(part, end);
  if (part == Part::name) return end_name(end);
  if (part == Part::no_arguments) put_arguments("{}");
  if (part == Part::arguments || part == Part::encoded || part == Part::no_arguments) {
    arguments_ = Arguments::whole;
  }
  return part == Part::encoded ? Answer::stop : Answer::proceed;
}

// A string's closing quote is markup.
void JsonCall::mark_end(Part part, std::size_t end) {
  switch (part) {
    case Part::name: return mark(CallMark::Kind::name_end, end - 1);
    case Part::encoded: return mark(CallMark::Kind::arguments_end, end - 1);
    case Part::arguments:
    case Part::no_arguments: return mark(CallMark::Kind::arguments_end, end);
    case Part::flat: return mark(CallMark::Kind::parameter_end, end);
    default: return;
  }
}

JsonCall::Answer JsonCall::end_name(std::size_t end) {
  if (name_.empty()) return refuse("the tool's name is empty");
  if (has_stray()) return refuse(kStray);
  stage_ = Stage::named;
  name_depth_ = depth_;
  if (slot_.must_fit || (is_tentative_ && !has_arguments())) return Answer::proceed;
  if (!announce()) return Answer::refuse;
  if (has_arguments()) return Answer::proceed;
  unread_.emplace();  // the arguments may be in the wrong place
  unread_from_ = place_ + end;
  return Answer::proceed;
}

JsonCall::Answer JsonCall::end_object() {
  if (!has_name()) {
    if (!names_by_type()) return refuse("the call has no name");
    if (has_stray()) return refuse(kStray);
  }
  if (is_tentative_ && !has_arguments() && !sink_->knows_tools()) {
    return refuse("the object is not a call");
  }
  if (!has_arguments() && (other_depths_ & 1U << name_depth_) != 0) {
    return refuse("the call's arguments are not where they belong");
  }
  if (!has_arguments()) put_arguments("{}");
  if (arguments_ == Arguments::flat) put_arguments("}");
  if (slot_.must_fit && (tool() == nullptr || !fits_schema(held_arguments_, *tool()))) {
    return refuse("the object is not a call");
  }
  if (!is_announced() && !announce()) return Answer::refuse;
  unread_.reset();
  end_call();
  depth_ = 0;
  return list_ != List::none ? Answer::stop : Answer::proceed;
}

// A tool of the request is named where the kind of the call belongs: {"type": "f", …}.
bool JsonCall::names_by_type() {
  name_ = type_;
  if (tool() == nullptr) return false;
  stage_ = Stage::named;
  name_depth_ = depth_;
  return true;
}

void JsonCall::end_call() {
  sink_->end_call();
  has_ended_ = true;
  if (list_ == List::empty) list_ = List::has_calls;
}

// The schema of the tool, if it is known.
const ToolSchema* JsonCall::tool() const {
  return sink_->knows_tools() ? sink_->tools()->find(name_) : nullptr;
}

// Whether an argument of the tool stands before the name.
bool JsonCall::has_stray() const {
  if (tool() == nullptr) return false;
  for (std::string_view rest = others_; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    if (tool()->find(rest.substr(0, end)) != nullptr) return true;
    rest.remove_prefix(end + 1);
  }
  return false;
}

bool JsonCall::announce() {
  if (!sink_->begin_call(name_, id_)) {
    problem_ = "the tool is not one of the request's";
    return false;
  }
  stage_ = Stage::announced;
  if (!held_arguments_.empty()) sink_->put_arguments(held_arguments_);
  held_arguments_.clear();
  return true;
}

void JsonCall::put_arguments(std::string_view text) {
  if (text.empty()) return;
  if (is_announced()) {
    sink_->put_arguments(text);
  } else {
    held_arguments_ += text;
  }
}

BodyResult JsonCall::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (reader_.in_string()) return put(literal, sink);
  problem_ = mends_ ? kNotMended : "a marker stands inside the call's JSON";
  return {0, ScanStatus::failed, {}, false, unread()};
}

bool JsonCall::may_end_here(CallSink&) {
  const std::string_view open = reader_.unwritten();
  const bool is_comma = open.starts_with(',');
  if (part_ != Part::structure || !reader_.is_after_value() || (!open.empty() && !is_comma)) {
    return false;
  }
  // A call without its brace, or a list without its bracket.
  const bool is_whole =
      depth_ > 0 ? is_announced() && arguments_ == Arguments::whole : list_ == List::has_calls;
  if (is_whole && is_comma) repairs_ |= kTrailingComma;
  return is_whole;
}

void JsonCall::complete(CallSink& sink) {
  if (!mends_) return;
  sink_ = &sink;
  out_.clear();
  from_ = 0;
  problem_ = "";
  reader_.close(out_);
}

// An object whose first key is a call's.
std::size_t JsonCall::find_next(std::string_view text, const ToolSchemas* tools) const {
  if (list_ == List::none) return kNoCall;
  const std::size_t begin = text.find_first_not_of(kBetweenCalls);
  if (begin == std::string_view::npos) return text.size();
  if (text[begin] != '{') return kNoCall;
  const std::size_t quote = text.find_first_not_of(kSpace, begin + 1);
  if (quote == std::string_view::npos) return text.size();
  if (text[quote] != '"' && text[quote] != '\'') return kNoCall;
  const std::size_t end = text.find(text[quote], quote + 1);
  if (end == std::string_view::npos) return text.size();
  const std::string_view key = text.substr(quote + 1, end - quote - 1);
  const bool is_calls = slot_.name_is_key ? tools == nullptr || tools->find(key) != nullptr
                                          : kind_of(key) != Key::other || key == "type";
  return is_calls ? begin : kNoCall;
}

void JsonCall::visit(Archive& archive) {
  archive.given(slot_, is_tentative_, mends_, marks_, members_, sink_);
  archive.scratch(from_, place_, out_, has_ended_, unread_from_);
  archive(reader_, at_, part_depth_);
  if (members_) archive(*members_);
  archive.choice(part_, Part::skipped);
  archive.choice(key_kind_, Key::flat);
  archive.choice(list_, List::has_calls);
  archive.choice(stage_, Stage::announced);
  archive.choice(arguments_, Arguments::flat);
  archive(depth_, name_depth_, other_depths_, name_, id_, type_, key_, others_, held_arguments_);
  archive(decoder_, unread_, inner_, repairs_);
  archive.literal(problem_);
  archive.expect(depth_ <= 2 && name_depth_ <= 2);
}

}  // namespace unspool
