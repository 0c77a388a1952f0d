#include "body/xml_elements.h"

#include <algorithm>
#include <map>
#include <utility>

#include "body/scalar.h"
#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A longer name is none, and so much behind a closing tag is not markup; it bounds what is held.
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxBehind = 256;

TypeSet types_of(const ValueSchema* schema) {
  return schema == nullptr || schema->types.is_empty() ? TypeSet::any() : schema->types;
}

const ValueSchema* property(const ValueSchema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  const auto it = schema->properties.find(name);
  return it == schema->properties.end() ? nullptr : &it->second;
}

template <typename Node>
bool is_list_of(const Node& node, TypeSet types) {
  const bool all_items = std::all_of(node.children.begin(), node.children.end(),
                                     [](const Node& child) { return child.name == "item"; });
  return types.has(TypeSet::array) && (!types.has(TypeSet::object) || all_items);
}

template <typename Node>
void write_node(const Node& node, const ValueSchema* schema, std::string& out);

template <typename Node>
void write_list(const std::vector<const Node*>& nodes, const ValueSchema* schema,
                std::string& out) {
  const ValueSchema* items =
      schema == nullptr || schema->items.empty() ? nullptr : &schema->items[0];
  out += '[';
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) out += ", ";
    write_node(*nodes[i], items, out);
  }
  out += ']';
}

// Children are a list where the schema says so, or where all are called <item>; else an object in
// which names that come again make a list.
template <typename Node>
void write_node(const Node& node, const ValueSchema* schema, std::string& out) {
  const TypeSet types = types_of(schema);
  if (node.children.empty()) {
    const bool is_empty_container = is_blank(node.text) && !types.has(TypeSet::string);
    if (is_empty_container && types.has(TypeSet::array)) {
      out += "[]";
    } else if (is_empty_container && types.has(TypeSet::object)) {
      out += "{}";
    } else {
      append_typed(node.text, types, out);
    }
    return;
  }
  if (is_list_of(node, types)) {
    std::vector<const Node*> nodes;
    for (const Node& child : node.children) nodes.push_back(&child);
    write_list(nodes, schema, out);
    return;
  }
  std::map<std::string_view, std::vector<const Node*>> same;
  std::vector<std::string_view> names;  // in the order in which they first came
  for (const Node& child : node.children) {
    auto& nodes = same[child.name];
    if (nodes.empty()) names.push_back(child.name);
    nodes.push_back(&child);
  }
  out += '{';
  for (const std::string_view name : names) {
    if (name.data() != names[0].data()) out += ", ";
    append_json_string(name, out);
    out += ": ";
    const ValueSchema* inner = property(schema, name);
    const auto& nodes = same[name];
    if (nodes.size() > 1) {
      write_list(nodes, inner, out);
    } else {
      write_node(*nodes[0], inner, out);
    }
  }
  if (!is_blank(node.text)) {
    out += ", \"$text\": ";
    append_json_string(trim(node.text), out);
  }
  out += '}';
}

}  // namespace

XmlElements::XmlElements(const CallSpec& call, const CallMarkers& markers,
                         const BodyOptions& options)
    : call_(call),
      markers_(markers),
      schema_(options.schema),
      section_close_(options.section_close),
      mends_(options.repairs) {
  cursor_.reset(&markers_.element);
}

BodyResult XmlElements::put(std::string_view text, CallSink& sink) {
  out_.clear();
  std::size_t i = 0;
  while (i < text.size() && state_ != State::done && !has_failed()) i += read_some(text.substr(i));
  return finish_put(i, sink);
}

BodyResult XmlElements::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  out_.clear();
  const Letter letter{literal, symbol};
  if (state_ == State::text) {
    const auto found =
        cursor_.put_token(symbol, literal, [&](std::string_view text) { read_text(text); });
    after_text(letter, found);
  } else {
    tag_.put(letter);
    fail("a tag holds markup", tag_);
  }
  return finish_put(literal.size(), sink);
}

BodyResult XmlElements::finish_put(std::size_t consumed, CallSink& sink) {
  if (!out_.empty()) sink.put_arguments(out_);
  if (has_failed()) {
    return {consumed, ScanStatus::failed, {}, false, unread_.text(), &unread_};
  }
  if (state_ != State::done) return {consumed, ScanStatus::more};
  sink.end_call();
  return {consumed, ScanStatus::done, closer_, closed_section_, unread_.text(), &unread_};
}

void XmlElements::fail(const char* problem, const Letters& unread) {
  if (!has_failed()) problem_ = problem;
  unread_.put(raw_);
  unread_.put(behind_);
  unread_.put(unread);
  raw_.clear();
  behind_.clear();
}

std::size_t XmlElements::read_some(std::string_view text) {
  if (state_ == State::text) {
    const auto found = cursor_.put(text, [&](std::string_view piece) { read_text(piece); });
    after_text({text.substr(0, found.consumed)}, found);
    return found.consumed;
  }
  tag_.put(text.substr(0, 1));
  if (text[0] == '<') fail("a tag holds markup", tag_);
  if (tag_.size() > opener_ + kMaxNameBytes) fail("a tag is longer than 1,024 bytes", tag_);
  if (text[0] != '>' || has_failed()) return 1;
  state_ = State::text;
  behind_.is_empty() ? on_tag() : on_tag_behind();
  return 1;
}

void XmlElements::after_text(const Letter& letter, const MarkerCursor::Found& found) {
  held_.follow(letter, found.marker != nullptr ? found.text : cursor_.held());
  if (has_failed()) {
    unread_.put(held_);
    unread_.end_with(letter);
  } else if (found.marker != nullptr) {
    tag_ = std::exchange(held_, {});
    opener_ = tag_.size();
    if (static_cast<Role>(found.marker->role) == Role::tag_open) {
      state_ = State::tag;
    } else {  // a closing tag that is one token
      behind_.is_empty() ? on_tag() : on_tag_behind();
    }
  }
}

void XmlElements::on_tag() {
  if (tag_.size() == opener_) return close_element({});
  const std::string name(trim(tag_.text().substr(opener_, tag_.size() - opener_ - 1)));
  name.starts_with('/') ? close_element(trim(std::string_view(name).substr(1)))
                        : open_element(name);
}

bool XmlElements::is_closer_of(const MarkerSpec& spec) const {
  return std::find(spec.texts.begin(), spec.texts.end(), tag_.text()) != spec.texts.end();
}

bool XmlElements::opens_call() const {
  const auto& openers = call_.open.texts;
  return std::any_of(openers.begin(), openers.end(),
                     [this](const std::string& text) { return tag_.text().starts_with(text); });
}

// A tag after the call's closer inside a value: another call's opener or the section's end tells
// that the value ended there.
void XmlElements::on_tag_behind() {
  const bool ends_section = section_close_ != nullptr && is_closer_of(*section_close_);
  if (!ends_section && !opens_call()) {
    take_closer_as_text();
    if (has_failed()) {
      unread_.put(tag_);
    } else {
      on_tag();
    }
    return;
  }
  if (holds_tag_ || !open_[0].children.empty()) return fail("a parameter is not closed", tag_);
  unread_ = behind_.from(behind_end_);
  unread_.put(tag_);
  closer_ = behind_.text().substr(0, behind_end_);
  end_value();
  end_call();
}

// The call's closer in a value is text, or closes nothing.
void XmlElements::take_closer_as_text() {
  if (!is_string_) return fail("a closing tag closes nothing", {});
  append_json_escaped(behind_.text(), value_out());
  behind_.clear();
  holds_tag_ = true;
}

void XmlElements::read_text(std::string_view text) {
  if (!behind_.is_empty() && !has_failed()) {
    if (is_blank(text) && behind_.size() + text.size() <= behind_end_ + kMaxBehind) {
      return behind_.put(text);
    }
    take_closer_as_text();
  }
  if (has_failed()) {
    unread_.put(text);
  } else if (open_.empty()) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return;
    fail("text stands between the parameters", {});
    unread_.put(text.substr(begin));
  } else if (is_string_) {
    append_json_escaped(text, value_out());
  } else {
    open_.back().text += text;
    raw_ += text;
  }
}

// Markup inside text is text.
void XmlElements::tag_text() {
  append_json_escaped(tag_.text(), value_out());
  holds_tag_ = true;
}

void XmlElements::open_element(const std::string& name) {
  if (name.empty() || open_.size() == kMaxDepth) return fail("a tag has no name", tag_);
  if (open_.empty() && opens_call()) {  // this call's closer is missing
    if (seen_.empty()) return fail("the call is not closed", tag_);
    unread_ = tag_;
    closer_.clear();
    return end_call();
  }
  if (open_.empty()) return begin_parameter(name);
  if (is_string_) return tag_text();
  raw_ += tag_.text();
  open_.push_back({name, {}, {}});
}

void XmlElements::begin_parameter(const std::string& name) {
  const bool is_first = seen_.empty();
  is_doubled_ = !seen_.insert(name).second;
  if (is_doubled_ && !mends_) return fail("a parameter is written twice", tag_);
  if (is_doubled_) {
    repairs_ |= kDuplicateKey;
  } else {
    out_ += is_first ? "{" : ", ";
    append_json_string(name, out_);
    out_ += ": ";
  }
  const ValueSchema* schema = schema_ == nullptr ? nullptr : schema_->find(name);
  is_string_ = types_of(schema).is_only(TypeSet::string);
  holds_tag_ = false;
  if (is_string_) value_out() += '"';
  open_.push_back({name, {}, {}});
}

void XmlElements::close_element(std::string_view name) {
  if (open_.empty()) {
    closed_section_ = section_close_ != nullptr && is_closer_of(*section_close_);
    if (!closed_section_ && !is_closer_of(call_.close)) {
      return fail("a closing tag closes nothing", tag_);
    }
    closer_ = tag_.text();
    return end_call();
  }
  if (name != open_.back().name) {
    if (open_.size() == 1 && is_closer_of(call_.close)) {
      behind_ = tag_;
      behind_end_ = tag_.size();
      return;
    }
    return is_string_ ? tag_text() : fail("a closing tag closes nothing", tag_);
  }
  if (open_.size() == 1) return end_value();
  Node node = std::move(open_.back());
  open_.pop_back();
  raw_ += tag_.text();
  open_.back().children.push_back(std::move(node));
}

// The end of a parameter, with all that is open in it.
void XmlElements::end_value() {
  while (open_.size() > 1) {
    Node node = std::move(open_.back());
    open_.pop_back();
    open_.back().children.push_back(std::move(node));
  }
  if (is_string_) {
    value_out() += '"';
  } else {
    write_node(open_[0], schema_ == nullptr ? nullptr : schema_->find(open_[0].name), value_out());
  }
  open_.clear();
  aside_.clear();
  raw_.clear();
  is_string_ = is_doubled_ = false;
}

void XmlElements::end_call() {
  out_ += seen_.empty() ? "{}" : "}";
  behind_.clear();
  state_ = State::done;
}

// What is certain of a value that was cut off: a beginning of its JSON.
void XmlElements::write_open(std::size_t depth, const ValueSchema* schema) {
  const Node& node = open_[depth];
  const bool has_open_child = depth + 1 < open_.size();
  const TypeSet types = types_of(schema);
  if (node.children.empty() && !has_open_child) {
    if (!is_blank(node.text)) append_typed_beginning(node.text, types, out_);
    return;
  }
  const bool is_list = is_list_of(node, types) && (!has_open_child || !types.has(TypeSet::object) ||
                                                   open_[depth + 1].name == "item");
  out_ += is_list ? '[' : '{';
  const ValueSchema* items =
      schema == nullptr || schema->items.empty() ? nullptr : &schema->items[0];
  for (const Node& child : node.children) {
    if (&child != &node.children[0]) out_ += ", ";
    if (!is_list) {
      append_json_string(child.name, out_);
      out_ += ": ";
    }
    write_node(child, is_list ? items : property(schema, child.name), out_);
  }
  if (!has_open_child) return;
  const std::string& name = open_[depth + 1].name;
  if (!node.children.empty()) out_ += ", ";
  if (!is_list) {
    append_json_string(name, out_);
    out_ += ": ";
  }
  write_open(depth + 1, is_list ? items : property(schema, name));
}

// What is held as a possible tag is not the value's.
void XmlElements::end(CallSink& sink) {
  out_.clear();
  if (!behind_.is_empty() && !holds_tag_) {
    end_value();
    out_ += '}';
  } else if (!open_.empty() && !is_string_ && !is_doubled_) {
    write_open(0, schema_ == nullptr ? nullptr : schema_->find(open_[0].name));
  }
  if (!out_.empty()) sink.put_arguments(out_);
}

void XmlElements::complete(CallSink& sink) {
  out_.clear();
  if (holds_tag_ && !open_.empty()) return;
  if (!open_.empty()) end_value();
  end_call();
  repairs_ |= kClosed;
  sink.put_arguments(out_);
  sink.end_call();
}

std::size_t XmlElements::undecided_bytes() const {
  return raw_.size() + behind_.size() +
         (state_ == State::tag ? tag_.size() : cursor_.held().size());
}

void XmlElements::add_held(Held& out) const {
  out.add(HeldReason::value, raw_);
  out.add(HeldReason::closing_tag, behind_.text());
  if (state_ == State::tag) {
    out.add(HeldReason::key, tag_.text());
  } else {
    out.add(cursor_);
  }
}

}  // namespace unspool
