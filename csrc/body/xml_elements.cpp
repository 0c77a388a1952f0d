// Elements within a value are a tree (`XmlElement`), and the schema decides what it becomes:
//
//   <tags><item>a</item><item>b</item></tags>     ["a", "b"]
//   <where><city>Paris</city></where>             {"city": "Paris"}
//   <n><x>1</x><x>2</x></n>                       {"x": [1, 2]}, since the name repeats
//
// Tags are found by their brackets, in two steps: the cursor finds `<` and the call's own markers;
// `State::tag` reads on to `>`. Everything that may turn out to be text again is kept as letters:
// `tag_`, `held_`, and `maybe_closer_`, the call's closer within a value, which is text unless
// another call or the section's end follows.
#include "body/xml_elements.h"

#include <algorithm>
#include <map>
#include <utility>

#include "body/names.h"
#include "body/scalar.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer white space after a closing tag is not markup; bounds the held text.
constexpr std::size_t kMaxCloserSpace = 256;
constexpr std::size_t kMaxQuoted = 256;  // open tags in a string

TypeSet types_of(const ValueSchema* schema) {
  // A schema without types allows all of them.
  return schema == nullptr || schema->types.is_empty() ? TypeSet::any() : schema->types;
}

// Whether one letter opens a tag.
bool has_weak_opener(const CallRegion& call) {
  const auto* slot = call.body_as<ElementsSlot>();
  return slot != nullptr && std::all_of(slot->open.texts.begin(), slot->open.texts.end(),
                                        [](const std::string& text) { return text.size() == 1; });
}

const ValueSchema* property_of(const ValueSchema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  const auto it = schema->properties.find(name);
  return it == schema->properties.end() ? nullptr : &it->second;
}

const ValueSchema* items_of(const ValueSchema* schema) {
  return schema == nullptr || schema->items.empty() ? nullptr : &schema->items[0];
}

// Children are a list if the schema says so, or if all are called <item>.
bool is_list_of(const XmlElement& element, TypeSet types) {
  const auto is_item = [](const XmlElement& child) { return child.name == "item"; };
  return types.has(TypeSet::array) &&
         (!types.has(TypeSet::object) ||
          std::all_of(element.children.begin(), element.children.end(), is_item));
}

void write_element(const XmlElement& element, const ValueSchema* schema, std::string& out);

using Elements = std::vector<const XmlElement*>;

void write_list(const Elements& elements, const ValueSchema* items, std::string& out) {
  out += '[';
  for (const XmlElement* element : elements) {
    if (element != elements[0]) out += ", ";
    write_element(*element, items, out);
  }
  out += ']';
}

// Repeated names become a list.
void write_object(const XmlElement& element, const ValueSchema* schema, std::string& out) {
  std::map<std::string_view, Elements> same;
  std::vector<std::string_view> names;  // in the order of their first occurrence
  for (const XmlElement& child : element.children) {
    auto& elements = same[child.name];
    if (elements.empty()) names.push_back(child.name);
    elements.push_back(&child);
  }
  for (const std::string_view name : names) {
    begin_member(name, name.data() == names[0].data(), out);
    const ValueSchema* inner = property_of(schema, name);
    const Elements& elements = same[name];
    if (elements.size() > 1) {
      write_list(elements, items_of(inner), out);
    } else {
      write_element(*elements[0], inner, out);
    }
  }
  if (!is_blank(element.text)) {
    // Text beside elements has no name of its own; it must not get lost.
    begin_member("$text", false, out);
    append_json_string(trim(element.text), out);
  }
  out += '}';
}

void write_element(const XmlElement& element, const ValueSchema* schema, std::string& out) {
  const TypeSet types = types_of(schema);
  // An empty element is an empty string, if one is allowed, and else an empty container.
  const bool is_text = !is_blank(element.text) || types.has(TypeSet::string);
  if (!element.children.empty() && !is_list_of(element, types)) {
    write_object(element, schema, out);
  } else if (!element.children.empty()) {
    Elements children;
    for (const XmlElement& child : element.children) children.push_back(&child);
    write_list(children, items_of(schema), out);
  } else if (!is_text && types.has(TypeSet::array)) {
    out += "[]";
  } else if (!is_text && types.has(TypeSet::object)) {
    out += "{}";
  } else {
    append_typed(element.text, types, out);
  }
}

}  // namespace

XmlElements::XmlElements(const CallRegion& call, const CallMarkers& markers,
                         const BodyOptions& options)
    : TagBody(markers, options),
      call_(call),
      section_close_(options.section_close),
      is_weak_(has_weak_opener(call)) {
  cursor_.reset(&markers_.element);
}

BodyResult XmlElements::put(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  read_ = 0;
  while (i < text.size() && !is_done() && !has_failed()) i += read_some({text.substr(i)});
  return finish_put(i, is_done(), sink);
}

BodyResult XmlElements::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  const Letter letter{literal, symbol};
  read_ = 0;
  if (state_ == State::tag && is_weak_ && !open_.empty()) take_opener_as_text();
  if (has_failed()) {
    unread_.put(letter);
  } else if (state_ == State::text) {
    read_run(letter);
  } else {
    tag_.put(letter);
    fail("a tag holds markup", tag_);
  }
  return finish_put(literal.size(), is_done(), sink);
}

void XmlElements::fail(const char* problem, const Letters& unread) {
  if (!has_failed()) problem_ = problem;
  unread_.put(raw_);
  unread_.put(maybe_closer_);
  unread_.put(unread);
  raw_.clear();
  maybe_closer_.clear();
}

std::size_t XmlElements::read_some(const Letter& letter) {
  const std::string_view text = letter.text;
  // Where text is a fault, its first byte is: what was consumed must not depend on the chunk.
  const bool may_fail = open_.empty() || !maybe_closer_.is_empty();
  if (state_ == State::text) return read_run({may_fail ? text.substr(0, 1) : text});
  if (is_weak_ && !open_.empty()) return read_tag_in_value(text);
  // A tag is held until its `>`, so its length is bounded.
  const std::size_t room = opener_ + kMaxNameBytes - tag_.size();
  const std::string_view run = text.substr(0, std::min(text.find_first_of("<>"), room) + 1);
  tag_.put(run);
  pass(run.size());
  if (run.size() > room) {
    fail("a tag is longer than 1,024 bytes", tag_);
  } else if (run.back() == '<') {
    fail("a tag holds markup", tag_);
  } else if (run.back() == '>') {
    state_ = State::text;
    on_tag();
  }
  return run.size();
}

// Text up to a tag, or a token.
std::size_t XmlElements::read_run(const Letter& run) {
  const auto match = find_marker(run, [&](std::string_view piece) { read_text(piece); });
  pass(match.consumed);
  const Letter letter{run.text.substr(0, match.consumed), run.symbol};
  // The cursor holds text without its tokens; this copy has them too.
  held_.follow(letter, match.marker != nullptr ? match.text : cursor_.held());
  if (has_failed()) {
    unread_.put(held_);
    unread_.end_with(letter);
  } else if (match.marker != nullptr) {
    tag_ = std::exchange(held_, {});
    opener_ = tag_.size();
    tag_part_ = TagPart::opener;
    const bool is_opener = static_cast<Role>(match.marker->role) == Role::tag_open;
    is_opener ? void(state_ = State::tag) : on_tag();  // or a closing tag that is a single token
  }
  return match.consumed;
}

void XmlElements::on_tag() { maybe_closer_.is_empty() ? read_tag() : on_tag_after_closer(); }

void XmlElements::read_tag() {
  if (tag_.size() == opener_) return close_element({});
  const std::string name(trim(tag_.text().substr(opener_, tag_.size() - opener_ - 1)));
  name.starts_with('/') ? close_element(trim(std::string_view(name).substr(1)))
                        : open_element(name);
}

bool XmlElements::is_closer_of(const MarkerTexts& marker) const { return marker.has(tag_.text()); }

bool XmlElements::opens_call() const {
  const auto& openers = call_.open.texts;
  return std::any_of(openers.begin(), openers.end(),
                     [this](const std::string& text) { return tag_.text().starts_with(text); });
}

// A tag after the call's closer inside a value: another call's opener or the section's end proves
// that the value ended there.
void XmlElements::on_tag_after_closer() {
  if (is_closer_of(call_.close) && closer_size_ < kMaxCloserSpace) {  // written again
    maybe_closer_.put(tag_);
    closer_size_ = maybe_closer_.size();
    return;
  }
  const bool ends_section = section_close_ != nullptr && is_closer_of(*section_close_);
  if (!ends_section && !opens_call()) {
    take_closer_as_text();
    if (has_failed()) {
      unread_.put(tag_);
    } else {
      read_tag();
    }
    return;
  }
  // Which tags were text is unclear then, so the value is not certain.
  if (holds_tag_ || !open_[0].children.empty()) return fail("a parameter is not closed", tag_);
  // White space after the closer, and the tag, belong to what follows the call.
  unread_ = maybe_closer_.from(closer_size_);
  unread_.put(tag_);
  closer_ = maybe_closer_.text().substr(0, closer_size_);
  end_value();
  end_call();
}

// The call's closer in a value is text, or has nothing to close.
void XmlElements::take_closer_as_text() {
  // A value that is a tree has no place for a tag without a meaning.
  if (!is_string_ && !may_be_text()) return fail("a closing tag closes nothing", {});
  put_value(maybe_closer_.text());
  maybe_closer_.clear();
  holds_tag_ = true;
}

void XmlElements::put_value(std::string_view text) {
  if (is_string_) return append_json_escaped(text, value_out());
  open_.back().text += text;
  // The source, in case the value cannot be read: nothing of it has been written yet.
  raw_ += text;
}

void XmlElements::read_text(std::string_view text) {
  if (!maybe_closer_.is_empty() && !has_failed()) {
    // White space does not decide; the tag after it does.
    if (is_blank(text) && maybe_closer_.size() + text.size() <= closer_size_ + kMaxCloserSpace) {
      return maybe_closer_.put(text);
    }
    take_closer_as_text();
  }
  if (has_failed()) {
    unread_.put(text);
  } else if (open_.empty()) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    // Between parameters white space is markup.
    if (begin == std::string_view::npos) return;
    fail("text stands between the parameters", {});
    unread_.put(text.substr(begin));
  } else {
    put_value(text);
  }
}

// Markup inside text is text.
void XmlElements::take_tag_as_text() {
  put_value(tag_.text());
  holds_tag_ = true;
}

void XmlElements::open_element(const std::string& name) {
  if (name.empty() || open_.size() == kMaxDepth) return fail("a tag has no name", tag_);
  if (open_.empty() && opens_call()) {  // this call's closer is missing
    // A call within a call: without a parameter there is none that could end here.
    if (given_.empty()) return fail("the call is not closed", tag_);
    unread_ = tag_;
    closer_.clear();
    return end_call();
  }
  if (open_.empty()) return begin_parameter(name);
  if (is_string_) return quote_opener(name);
  raw_ += tag_.text();
  // A key has no attributes.
  const bool is_text =
      (may_be_text() || (is_weak_ && name.find('=') != std::string::npos)) && !opens_call();
  open_.push_back({name, {}, {}, raw_.size(), is_text});
}

void XmlElements::begin_parameter(const std::string& name) {
  const bool is_first = given_.empty();
  if (!take_name(name)) return fail("a parameter is written twice", tag_);
  mark_parameter(name, tag_.text().substr(opener_), ValueTrim::none);
  // A second parameter of one name may be dropped with repair; its value is read aside.
  if (!is_doubled_) begin_member(name, is_first, out_);
  is_string_ = types_of(schema_of(name)).is_only(TypeSet::string);
  holds_tag_ = false;
  quoted_.clear();
  if (is_string_) value_out() += '"';
  open_.push_back({name, {}, {}, 0, false});
}

// A string may contain HTML, or a call as an example.
void XmlElements::quote_opener(const std::string& name) {
  if (quoted_.size() < kMaxQuoted) quoted_.push_back(name.substr(0, name.find_first_of(kSpace)));
  take_tag_as_text();
}

bool XmlElements::closes_quoted() const {
  return is_string_ && std::find(quoted_.begin(), quoted_.end(), tag_name()) != quoted_.end();
}

// The name in a closing tag, which may be a single token.
std::string XmlElements::tag_name() const {
  const std::string_view text = tag_.text();
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return {};
  return std::string(trim(text.substr(slash + 1, text.size() - slash - 2)));
}

void XmlElements::close_element(std::string_view name) {
  if (closes_quoted()) {
    while (quoted_.back() != tag_name()) quoted_.pop_back();
    quoted_.pop_back();
    return take_tag_as_text();
  }
  if (open_.empty()) {
    if (!name.empty() && name == closed_) return;  // written again
    closed_section_ = section_close_ != nullptr && is_closer_of(*section_close_);
    if (!closed_section_ && !is_closer_of(call_.close)) {
      return fail("a closing tag closes nothing", tag_);
    }
    closer_ = tag_.text();
    return end_call();
  }
  if (name != open_.back().name) {
    if (open_.size() == 1 && is_closer_of(call_.close)) {
      // The parameter's own closer is missing, or the value mentions the call's.
      maybe_closer_ = tag_;
      closer_size_ = tag_.size();
      return;
    }
    if (!take_closer_of_outer(name)) {
      const bool is_text = is_string_ || (may_be_text() && !is_own_markup());
      return is_text ? take_tag_as_text() : fail("a closing tag closes nothing", tag_);
    }
  }
  if (open_.size() == 1) return end_value();
  raw_ += tag_.text();
  close_innermost();
}

void XmlElements::close_innermost() {
  XmlElement element = std::move(open_.back());
  open_.pop_back();
  open_.back().children.push_back(std::move(element));
}

// Ends a parameter, with all elements that are open in it.
void XmlElements::end_value() {
  mark(CallMark::Kind::parameter_end, maybe_closer_.size() + tag_.size());
  // Only if the call's closer ends them all.
  while (open_.size() > 1) close_innermost();
  closed_ = open_[0].name;
  if (is_string_) {
    value_out() += '"';
  } else {
    write_element(open_[0], schema_of(open_[0].name), value_out());
  }
  open_.clear();
  aside_.clear();
  raw_.clear();
  is_string_ = is_doubled_ = false;
}

void XmlElements::end_call() {
  out_ += given_.empty() ? "{}" : "}";
  maybe_closer_.clear();
  state_ = State::done;
}

// The certain part of a value that was cut off: a prefix of its JSON.
void XmlElements::write_open(std::size_t depth, const ValueSchema* schema) {
  const XmlElement& element = open_[depth];
  const XmlElement* inner = depth + 1 < open_.size() ? &open_[depth + 1] : nullptr;
  const TypeSet types = types_of(schema);
  if (element.children.empty() && inner == nullptr) {
    if (!is_blank(element.text)) append_typed_beginning(element.text, types, out_);
    return;
  }
  // The open element would be the next child, so it counts as one here.
  const bool may_be_list = inner == nullptr || !types.has(TypeSet::object) || inner->name == "item";
  const bool is_list = may_be_list && is_list_of(element, types);
  bool is_first = true;
  const auto begin_child = [&](const std::string& name) {
    const bool was_first = std::exchange(is_first, false);
    if (!is_list) {
      begin_member(name, was_first, out_);
      return property_of(schema, name);
    }
    out_ += was_first ? "[" : ", ";
    return items_of(schema);
  };
  for (const XmlElement& child : element.children) {
    write_element(child, begin_child(child.name), out_);
  }
  if (inner != nullptr) write_open(depth + 1, begin_child(inner->name));
}

bool XmlElements::may_end_here(CallSink& sink) {
  if (!maybe_closer_.is_empty()) return !holds_tag_;
  const bool is_between = state_ == State::text && open_.empty() && cursor_.is_idle();
  if (!is_between || !has_required() || has_failed()) return false;
  end_call();
  sink.put_written(out_);
  return true;
}

// A held possible tag does not belong to the value.
void XmlElements::end(CallSink& sink) {
  if (!maybe_closer_.is_empty() && !holds_tag_) {
    end_value();
    out_ += '}';
  } else if (!open_.empty() && !is_string_ && !is_doubled_) {
    write_open(0, schema_of(open_[0].name));
  }
  sink.put_written(out_);
}

void XmlElements::complete(CallSink& sink) {
  // The tag may have been the end of the value, so what completes it is not certain.
  if (holds_tag_ && !open_.empty()) return;
  if (!open_.empty()) end_value();
  end_call();
  repairs_ |= kClosed;
  sink.put_written(out_);
  sink.end_call();
}

std::size_t XmlElements::undecided_bytes() const {
  return raw_.size() + maybe_closer_.size() +
         (state_ == State::tag ? tag_.size() : cursor_.held().size());
}

void XmlElements::add_held(Held& out) const {
  out.add(HeldReason::value, raw_);
  out.add(HeldReason::closing_tag, maybe_closer_.text());
  if (state_ == State::tag) {
    out.add(HeldReason::key, tag_.text());
  } else {
    out.add(cursor_);
  }
}

void XmlElements::visit(Archive& archive) {
  TagBody::visit(archive);
  archive.given(call_, section_close_, is_weak_);
  archive.choice(state_, State::done);
  archive.choice(tag_part_, TagPart::after_name);
  archive(held_, tag_, opener_, raw_, open_, is_string_, maybe_closer_, closer_size_, holds_tag_,
          quoted_, closed_);
}

}  // namespace unspool
