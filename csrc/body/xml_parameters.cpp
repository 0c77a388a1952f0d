#include "body/xml_parameters.h"

#include <algorithm>
#include <utility>

#include "body/names.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// If the tag and the schema disagree, the schema counts if the text matches it.
TypeSet agreed_types(TypeSet tag, TypeSet schema) {
  if ((tag | schema) == schema) return tag;
  if (tag == TypeSet::any() || schema.has(TypeSet::string)) return schema;
  const bool may_stream = schema.has(TypeSet::object) || schema.has(TypeSet::array);
  return tag.is_only(TypeSet::string) && !may_stream ? schema : schema | tag;
}

constexpr std::string_view kWrapper = "arguments";
constexpr std::size_t kMaxSpace = 256;  // longer white space is the value's; bounds what is held
constexpr std::string_view kOnlyKey = "input";  // of a tool's only parameter if no schema names it

}  // namespace

XmlParameters::XmlParameters(const ParametersSlot& slot, const CallMarkers& markers,
                             const BodyOptions& options)
    : TagBody(markers, options),
      slot_(slot),
      value_(slot, options.repairs),
      max_held_(options.max_held),
      tries_(options.tries) {
  link(options.marks);
  if (options.in_parameter) {
    open_parameter();
  } else {
    enter(State::parameter);
  }
}

void XmlParameters::link(CallMarks* marks) {
  TagBody::link(marks);
  if (marks == nullptr) return;
  if (!members_) members_ = std::make_unique<ValueMarks>();
  members_->link(*marks, reader_);
  // Of JSON in a string, the inner text has members, not the string.
  reader_.set_listener(inner_ ? nullptr : &*members_);
  if (inner_) inner_->link(marks);
}

void XmlParameters::enter(State state) {
  state_ = state;
  held_.clear();
  switch (state) {
    case State::parameter:
    case State::after_tag:
    case State::call_name:
    case State::quoted: cursor_.reset(&markers_.parameter); break;
    case State::key:
    case State::next_key:
    case State::key_end: cursor_.reset(&markers_.key); break;
    case State::value: cursor_.reset(&markers_.value); break;
    case State::next_call: cursor_.reset(&markers_.header); break;
    case State::json:
    case State::done: break;
  }
}

BodyResult XmlParameters::put(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  read_ = 0;
  while (i < text.size() && !is_done() && !has_failed()) {
    i += read_some({text.substr(i)});
  }
  return finish_put(i, is_done(), sink);
}

BodyResult XmlParameters::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  if (state_ == State::json) {
    if (reader_.in_string()) return put(literal, sink);
    fail("a marker stands inside the call's JSON");
    return finish_put(0, false, sink);
  }
  read_ = 0;
  read_some({literal, symbol});
  return finish_put(literal.size(), is_done(), sink);
}

// Text since the last tag that counted is left unread, for others to read.
void XmlParameters::fail(const char* problem) {
  if (!has_failed()) problem_ = problem;
  unread_.put(std::exchange(slip_, {}));
  unread_.put(tail_);
  tail_.clear();
}

// Reads a run of text that changes no state, or a token; returns how many bytes.
std::size_t XmlParameters::read_some(const Letter& run) {
  if (state_ == State::value) return read_value(run);
  if (state_ == State::quoted) return read_quoted(run);
  if (state_ == State::json) return read_json(run.text);
  if (run.symbol == 0 && cursor_.is_idle()) {
    const std::size_t size = read_plain(run.text);
    pass(size);
    if (size > 0 || state_ == State::json) return size;
  }
  const MarkerCursor::Found match = look(run);
  switch (state_) {
    case State::parameter: read_between(match); break;
    case State::key: read_key(match); break;
    case State::after_tag: read_after_tag(match); break;
    case State::next_key: read_next_key(match); break;
    case State::key_end: read_key_end(match); break;
    case State::next_call: read_next_call(match); break;
    case State::call_name: read_call_name(match); break;
    default: break;
  }
  return match.consumed;
}

// Reads white space around tags, or plain bytes of a name, which need no marker search.
std::size_t XmlParameters::read_plain(std::string_view text) {
  const std::size_t space = std::min(text.find_first_not_of(kSpace), text.size());
  switch (state_) {
    case State::parameter:
      if (slot_.json_body && written_ == Written::nothing && (text[0] == '{' || text[0] == '"')) {
        written_ = Written::json;
        reader_.reset();
        if (text[0] == '"') inner_ = std::make_unique<JsonInString>();
        link(marks_);
        enter(State::json);
      }
      return slot_.is_keyless ? 0 : space;
    case State::after_tag:
    case State::call_name: return hold_space(text.substr(0, space));
    case State::key:
    case State::next_key: return read_plain_name(text);
    default: return 0;
  }
}

std::size_t XmlParameters::read_plain_name(std::string_view text) {
  if (key_end_ != std::string::npos || key_.starts_with('"') || key_.starts_with('\'')) return 0;
  const std::size_t room = kMaxNameBytes - key_.size();
  text = text.substr(0, std::min({cursor_.plain_run(text), text.find_first_of("<\n\"'"), room}));
  if (!slot_.key_end.empty()) text = text.substr(0, text.find(slot_.key_end[0][0]));
  key_ += text;
  tail_.put(text);
  return text.size();
}

// Looks for a marker, and keeps the text until its meaning is known.
MarkerCursor::Found XmlParameters::look(const Letter& run) {
  released_.clear();
  const auto release = [this](std::string_view piece) { released_ += piece; };
  const auto match = run.symbol != 0 ? cursor_.put_token(run.symbol, run.text, release)
                                     : cursor_.put_some(run.text, release);
  if (match.marker != nullptr && match.marker->is_slip) repairs_ |= kMarkup;
  tail_.put({run.text.substr(0, match.consumed), run.symbol});
  pass(match.consumed);
  return match;
}

void XmlParameters::read_between(const MarkerCursor::Found& match) {
  if (slot_.is_keyless) return read_only_value(match);
  if (!released_.empty() && slot_.open.is_empty() && written_ != Written::json) {
    // Nothing but its line opens a parameter.
    const Letters line = std::exchange(tail_, {});
    open_parameter();
    return read_again(line);
  }
  if (!released_.empty()) return fail("text stands between the parameters");
  if (match.marker != nullptr) on_marker_between(match);
}

void XmlParameters::on_marker_between(const MarkerCursor::Found& match) {
  switch (static_cast<Role>(match.marker->role)) {
    case Role::parameter_open:
      if (written_ == Written::json) return fail("a parameter follows the call's JSON");
      return open_parameter();
    case Role::json_open:
      if (written_ != Written::nothing) return fail("JSON follows the parameters");
      is_wrapped_ = true;
      return tail_.clear();
    case Role::json_close:
      if (written_ != Written::json && !is_wrapped_) return fail("a closing tag closes nothing");
      is_wrapped_ = false;
      return tail_.clear();
    case Role::section_close: closed_section_ = true; [[fallthrough]];
    case Role::body_close: tail_.clear(); return end_call(match.text);
    case Role::ignore: return tail_.clear();
    case Role::value_close: return fail("a closing tag closes nothing");
    case Role::key_end:
    case Role::value_begin:
    case Role::bare_tag: return fail("text stands between the parameters");
    default: return end_without_closer();
  }
}

// Another call, or its opener, is in the place of this call's closer.
void XmlParameters::end_without_closer() {
  if (written_ == Written::nothing) return fail("the call is not closed");
  unread_ = std::exchange(tail_, {});
  end_call({});
}

void XmlParameters::end_call(std::string_view closer) {
  if (written_ == Written::wrapper && aside_.starts_with('{')) {
    out_ += aside_;
  } else {
    write_wrapper();
    if (written_ == Written::nothing) out_ += '{';
    if (written_ != Written::json) out_ += '}';
  }
  written_ = Written::all;
  closer_ = closer;
  state_ = State::done;
}

std::size_t XmlParameters::read_json(std::string_view text) {
  if (members_) {
    if (!reader_.has_begun()) mark(CallMark::Kind::arguments, 0);
    members_->begin(read_);
  }
  const ScanResult result = inner_ ? read_encoded(text) : reader_.put(text, out_);
  if (result.status == ScanStatus::failed) {
    tail_.put(text.substr(result.consumed, 1));
    fail("the arguments are not valid JSON");
    return result.consumed + 1;
  }
  pass(result.consumed);
  if (result.status == ScanStatus::done) {
    mark(CallMark::Kind::arguments_end, 0);
    enter(State::parameter);
  }
  return result.consumed;
}

// A string that holds the object: its text is JSON too.
ScanResult XmlParameters::read_encoded(std::string_view text) {
  const bool is_opening = !reader_.has_begun();
  std::string piece;
  const ScanResult result =
      reader_.put(is_opening ? text.substr(0, 1) : reader_.text_run(text), piece);
  if (is_opening || result.status == ScanStatus::failed) return result;
  const auto inside =
      inner_->put(piece, static_cast<std::size_t>(std::max<std::int64_t>(read_, 0)), out_);
  if (*inside.problem != '\0') return {inside.consumed, ScanStatus::failed};
  return {result.consumed, inside.is_end ? ScanStatus::done : ScanStatus::more};
}

void XmlParameters::open_parameter() {
  key_.clear();
  key_end_ = std::string::npos;
  tail_.clear();
  enter(State::key);
}

// Only white space up to the call's closer: there are no arguments.
void XmlParameters::read_only_value(const MarkerCursor::Found& match) {
  const bool is_text = !is_blank(released_) || tail_.size() > kMaxSpace;
  if (match.marker == nullptr && !is_text) return;
  if (!is_text && static_cast<Role>(match.marker->role) == Role::body_close) {
    tail_.clear();
    return end_call(match.text);
  }
  const Letters value = std::exchange(tail_, {});
  open_only_parameter(value.size());
  has_failed() ? unread_.put(value) : read_again(value);
}

// A value without a key is the tool's only parameter.
void XmlParameters::open_only_parameter(std::size_t behind) {
  if (schema_ != nullptr && schema_->parameters.size() > 1) {
    return fail("the tool has several parameters, and the call names none");
  }
  const bool is_known = schema_ != nullptr && !schema_->parameters.empty();
  key_ = is_known ? schema_->parameters.begin()->first : std::string(kOnlyKey);
  types_ = types_of_key({});
  begin_value(behind);
}

void XmlParameters::read_key(const MarkerCursor::Found& match) {
  switch (add_to_key(released_)) {
    case KeyFit::fits: break;
    case KeyFit::text_after:
      if (mends_) {
        begin_value_without_opener();
        return;
      }
      return fail("text stands between a parameter's name and its value");
    case KeyFit::broken: return fail("a parameter's name holds markup");
  }
  const bool is_broken = slot_.key_end.empty() && is_broken_key();
  const bool is_marker = match.marker != nullptr;
  if (is_broken || (is_marker && static_cast<Role>(match.marker->role) != Role::value_begin)) {
    return fail("a parameter's name holds markup");
  }
  if (is_marker && take_key()) begin_value();
}

// Whether the last text cannot belong to a name or to attributes after it.
bool XmlParameters::is_broken_key() const {
  if (released_.empty()) return false;
  const char quote = key_[0];
  if (quote != '"' && quote != '\'') return released_.find_first_of("<\n") != std::string::npos;
  const std::size_t end = key_.find(quote, 1);
  return slot_.types.empty() && end != std::string::npos && !is_space(key_.back()) &&
         end + 1 < key_.size();
}

// If a separate tag ends names, only white space, the tag again and attributes may follow a name.
XmlParameters::KeyFit XmlParameters::add_to_key(std::string_view text) {
  for (const char byte : text) {
    if (key_.size() == kMaxNameBytes) return KeyFit::broken;
    key_ += byte;
    if (slot_.key_end.empty()) continue;
    if (key_end_ == std::string::npos) {
      if (byte == slot_.key_end[0][0]) key_end_ = key_.size() - 1;
      continue;
    }
    const std::string_view end = std::string_view(key_).substr(key_end_);
    const std::string_view rest = after_key_end(end);
    const bool begins_tag = std::any_of(slot_.key_end.begin(), slot_.key_end.end(),
                                        [&](const auto& tag) { return tag.starts_with(rest); });
    if (begins_tag) continue;
    if (rest.size() == end.size()) return KeyFit::broken;
    if (slot_.types.empty()) return KeyFit::text_after;
  }
  return KeyFit::fits;
}

// What follows the tags that end a name, and white space after each.
std::string_view XmlParameters::after_key_end(std::string_view text) const {
  const auto is_next = [&](const std::string& tag) { return text.starts_with(tag); };
  auto tag = std::find_if(slot_.key_end.begin(), slot_.key_end.end(), is_next);
  while (tag != slot_.key_end.end()) {
    text.remove_prefix(tag->size());
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    tag = std::find_if(slot_.key_end.begin(), slot_.key_end.end(), is_next);
  }
  return text;
}

// `<parameter=city type="string">`: a name without quotes, and attributes.
void XmlParameters::cut_attributes(Key& key) const {
  if (schema_ != nullptr && schema_->find(key.name) != nullptr) return;
  const std::size_t end = std::min(key.name.find_first_of(kSpace), key.name.size());
  const std::string_view rest = trim(key.name.substr(end));
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos ||
      rest.substr(0, equals).find_first_of(kSpace) != rest.npos) {
    return;
  }
  const std::string_view value = rest.substr(equals + 1);
  if (value.size() < 2 || value.back() != value[0] || (value[0] != '"' && value[0] != '\'')) return;
  key.attributes = rest;
  key.name = key.name.substr(0, end);
}

XmlParameters::Key XmlParameters::split_key(std::string_view text) const {
  Key key{text, {}, {}};
  for (const std::string& separator : slot_.key_end) {
    const std::size_t end = key.name.find(separator);
    if (end == std::string_view::npos) continue;
    key.attributes = key.name.substr(end + separator.size());
    key.name = key.name.substr(0, end);
  }
  key.name = unquote(trim(key.name), key.after);
  if (key.attributes.empty()) key.attributes = key.after;
  if (slot_.key_end.empty() && key.after.empty()) cut_attributes(key);
  return key;
}

// Extracts the name from the text before the value; returns false if there is none.
bool XmlParameters::take_key() {
  const auto [name, attributes, after] = split_key(key_);
  if (name.empty()) {
    fail("a parameter has no name");
    return false;
  }
  const bool is_half_quoted = name[0] == '"' || name[0] == '\'';
  if (is_half_quoted || name.find_first_of("<>\n") != std::string_view::npos ||
      after.find('<') != std::string_view::npos) {
    fail("a parameter's name holds markup");
    return false;
  }
  const std::string copy = slot_.key_entities ? without_entities(name) : std::string(name);
  const std::string rest(attributes);
  key_ = copy;
  types_ = types_of_key(rest);
  return true;
}

TypeSet XmlParameters::types_of_key(std::string_view attributes) const {
  const ValueSchema* value = schema_ == nullptr ? nullptr : schema_->find(key_);
  const bool is_known = value != nullptr && !value->types.is_empty();
  for (const auto& [text, types] : slot_.types) {
    if (attributes.find(text) == std::string_view::npos) continue;
    return is_known ? agreed_types(types, value->types) : types;
  }
  if (is_known) return value->types;
  return slot_.guess_types ? TypeSet::any() : TypeSet(TypeSet::string);
}

void XmlParameters::begin_value(std::size_t behind) {
  if (!take_name(key_)) return fail("a parameter is written twice");
  holds_tag_ = holds_closer_ = is_unopened_ = false;
  const ValueSchema* const wanted = schema_ == nullptr ? nullptr : schema_->find(key_);
  forbids_text_ =
      wanted != nullptr && !wanted->types.is_empty() && !wanted->types.has(TypeSet::string);
  has_text_ = is_damaged_ = false;
  quoted_.clear();
  slip_.clear();
  closes_ = Closes::nothing;
  write_wrapper();
  if (!is_doubled_) begin_parameter();
  const std::size_t before_key = state_ == State::next_key ? tail_tag_ : 0;
  mark_parameter(written_ == Written::wrapper ? std::string_view() : std::string_view(key_),
                 tail_.text().substr(before_key), slot_.trim, behind);
  tail_.clear();
  value_.begin(types_, value_out());
  enter(State::value);
  const std::string_view closer =
      slot_.close.texts.empty() ? std::string_view() : trim(slot_.close.texts.front());
  if (!closer.empty()) end_.begin(closer[0], cursor_.is_start(closer[0]) && !mends_);
}

// The first parameter may hold all arguments: `arguments`, if the tool has none of that name.
void XmlParameters::begin_parameter() {
  const bool is_first = written_ == Written::nothing;
  const bool is_wrapper = is_first && key_ == kWrapper && schema_ != nullptr &&
                          !schema_->parameters.empty() && schema_->find(kWrapper) == nullptr;
  if (is_wrapper) {
    types_ = types_ | TypeSet(TypeSet::object | TypeSet::string);
  } else {
    begin_member(key_, is_first, out_);
  }
  written_ = is_wrapper ? Written::wrapper : Written::members;
}

// The value's opener is missing: the text after the name is the value.
void XmlParameters::begin_value_without_opener() {
  const std::size_t begin =
      key_.size() - after_key_end(std::string_view(key_).substr(key_end_)).size();
  const Letters value = tail_.from(begin);
  key_.resize(begin);
  repairs_ |= kMarkup;
  if (!take_key()) return;
  begin_value(value.size());
  is_unopened_ = true;
  if (!has_failed()) read_again(value);
}

void XmlParameters::end(CallSink& sink) {
  cut_off();
  if (is_in_value()) value_.end_word(value_out());
  sink.put_written(out_);
}

bool XmlParameters::may_end_here(CallSink& sink) {
  const bool is_whole_json =
      state_ == State::parameter && written_ == Written::json && cursor_.is_idle();
  if (is_whole_json || ends_call()) return true;
  if (!has_required() || !cursor_.is_idle() || has_failed()) return false;
  if (may_end_value()) cut_off();
  if (state_ != State::parameter || has_failed()) return false;
  end_call({});
  sink.put_written(out_);
  return true;
}

// The output ends here. A held possible tag does not belong to the value.
void XmlParameters::cut_off() {
  if (may_end_value()) {
    end_value();
    if (ends_call()) {
      end_call({});
      state_ = State::after_tag;
    } else if (cursor_.is_idle()) {
      enter(State::parameter);
    }
  } else if (is_in_value()) {
    value_.cut_off(value_out());
  }
}

void XmlParameters::complete(CallSink& sink) {
  const bool is_certain = !holds_tag_ || is_cut_in_closer();
  cut_off();
  sink.put_written(out_);
  if (has_failed()) return;
  if (state_ == State::json && (inner_ || !reader_.close(out_))) return;
  if (state_ == State::key) {  // text after the name belongs to a value
    const std::string_view after = split_key(key_).after;
    if (!after.empty() && !is_space(after[0])) return;
  }
  if (is_in_value()) {
    if (!is_certain || ends_with_slip() || written_ == Written::wrapper) return;
    if (!value_.close(value_out())) return;
    repairs_ |= value_.repairs();
  }
  repairs_ |= kClosed;
  if (written_ != Written::all) end_call({});
  sink.put_written(out_);
  sink.end_call();
}

std::size_t XmlParameters::undecided_bytes() const {
  return slip_.size() + tail_.size() + (state_ == State::value ? cursor_.held().size() : 0) +
         (state_ >= State::value ? value_.undecided_bytes() : 0);
}

void XmlParameters::add_held(Held& out) const {
  if (state_ != State::key && state_ != State::parameter) value_.add_held(out);
  out.add(HeldReason::closing_tag, slip_);
  if (state_ == State::key) {
    out.add(HeldReason::key, tail_.text());
  } else if (state_ == State::value || state_ == State::parameter) {
    out.add(cursor_);
  } else {
    out.add(HeldReason::closing_tag, tail_.text());
  }
}

void XmlParameters::visit(Archive& archive) {
  TagBody::visit(archive);
  archive.given(slot_, members_, max_held_);
  archive.scratch(is_token_);
  archive.choice(state_, State::quoted);
  archive.choice(tag_role_, Role::bare_tag);
  archive.choice(written_, Written::all);
  archive.choice(closes_, Closes::call);
  archive(reader_, key_, key_end_, types_, value_);
  if (members_) archive(*members_);
  archive(is_wrapped_);
  // Linked first: it has marks to read.
  archive.part(inner_, [this] {
    auto inner = std::make_unique<JsonInString>();
    inner->link(marks_);
    return inner;
  });
  archive(holds_tag_, holds_closer_, is_unopened_, forbids_text_, has_text_, end_, slip_, tail_,
          tail_tag_, tail_end_, tail_count_);
  archive(tag_is_token_, is_amid_line_, is_mention_, is_closed_twice_, released_, held_, quoted_,
          is_damaged_, tries_);
}

}  // namespace unspool
