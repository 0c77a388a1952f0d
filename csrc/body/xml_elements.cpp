#include "body/xml_elements.h"

#include <algorithm>
#include <map>

#include "body/literal_scanner.h"
#include "body/scalar.h"
#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxNameBytes = 1024;

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
      section_close_(options.section_close) {
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
  if (state_ == State::text) {
    const auto found =
        cursor_.put_token(symbol, literal, [&](std::string_view text) { read_text(text); });
    if (has_failed()) {
      unread_ += found.marker != nullptr ? found.text : cursor_.held();
    } else if (found.marker != nullptr) {
      act_on(found);
    }
  } else {
    name_ += literal;
    fail("a tag holds markup", tag());
  }
  return finish_put(literal.size(), sink);
}

BodyResult XmlElements::finish_put(std::size_t consumed, CallSink& sink) {
  if (!out_.empty()) sink.put_arguments(out_);
  if (has_failed()) return {consumed, ScanStatus::failed, {}, false, unread_};
  if (state_ != State::done) return {consumed, ScanStatus::more};
  sink.end_call();
  return {consumed, ScanStatus::done, closer_, closed_section_};
}

void XmlElements::fail(const char* problem, std::string_view unread) {
  if (!has_failed()) problem_ = problem;
  unread_ += raw_;
  unread_ += unread;
  raw_.clear();
}

std::size_t XmlElements::read_some(std::string_view text) {
  if (state_ == State::text) {
    const auto found = cursor_.put(text, [&](std::string_view piece) { read_text(piece); });
    if (has_failed()) {
      unread_ += found.marker != nullptr ? found.text : cursor_.held();
    } else if (found.marker != nullptr) {
      act_on(found);
    }
    return found.consumed;
  }
  if (text[0] != '>') {
    name_ += text[0];
    if (text[0] == '<') fail("a tag holds markup", tag());
    if (name_.size() > kMaxNameBytes) fail("a tag is longer than 1,024 bytes", tag());
    return 1;
  }
  state_ = State::text;
  const std::string_view name = trim(name_);
  if (name.starts_with('/')) {
    closer_ = tag() + '>';
    close_element(trim(name.substr(1)));
  } else {
    open_element(std::string(name));
  }
  return 1;
}

void XmlElements::act_on(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  if (role == Role::tag_open) {
    name_.clear();
    opener_ = found.text;
    state_ = State::tag;
    return;
  }
  closer_ = found.text;  // a closing tag that is one token
  if (open_.empty()) return close_element({});
  if (is_string_) return append_json_escaped(found.text, out_);
  fail("a closing tag closes nothing", found.text);
}

void XmlElements::read_text(std::string_view text) {
  if (has_failed()) {
    unread_ += text;
  } else if (open_.empty()) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin != std::string_view::npos) {
      fail("text stands between the parameters", text.substr(begin));
    }
  } else if (is_string_) {
    append_json_escaped(text, out_);
  } else {
    open_.back().text += text;
    raw_ += text;
  }
}

void XmlElements::open_element(std::string name) {
  if (name.empty() || open_.size() == kMaxDepth) return fail("a tag has no name", tag() + ">");
  if (open_.empty()) return begin_parameter(name);
  if (is_string_) {  // markup inside text is text
    append_json_escaped(tag() + ">", out_);
    return;
  }
  raw_ += tag() + ">";
  open_.push_back({std::move(name), {}, {}});
}

void XmlElements::begin_parameter(const std::string& name) {
  const bool is_first = seen_.empty();
  if (!seen_.insert(name).second) return fail("a parameter is written twice", tag() + ">");
  out_ += is_first ? "{" : ", ";
  append_json_string(name, out_);
  out_ += ": ";
  const ValueSchema* schema = schema_ == nullptr ? nullptr : schema_->find(name);
  is_string_ = types_of(schema).is_only(TypeSet::string);
  if (is_string_) out_ += '"';
  open_.push_back({name, {}, {}});
}

void XmlElements::close_element(std::string_view name) {
  if (open_.empty()) {
    const auto is_one_of = [this](const MarkerSpec& spec) {
      return std::find(spec.texts.begin(), spec.texts.end(), closer_) != spec.texts.end();
    };
    closed_section_ = section_close_ != nullptr && is_one_of(*section_close_);
    if (!closed_section_ && !is_one_of(call_.close)) {
      return fail("a closing tag closes nothing", closer_);
    }
    out_ += seen_.empty() ? "{}" : "}";
    state_ = State::done;
    return;
  }
  if (name != open_.back().name) {
    if (is_string_) {
      append_json_escaped(closer_, out_);
      return;
    }
    return fail("a closing tag closes nothing", closer_);
  }
  Node node = std::move(open_.back());
  open_.pop_back();
  if (!open_.empty()) {
    raw_ += closer_;
    open_.back().children.push_back(std::move(node));
    return;
  }
  if (is_string_) {
    out_ += '"';
  } else {
    write_node(node, schema_ == nullptr ? nullptr : schema_->find(node.name), out_);
  }
  is_string_ = false;
  raw_.clear();
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

void XmlElements::end(CallSink& sink) {
  out_.clear();
  if (is_string_) {
    cursor_.flush([&](std::string_view text) { read_text(text); });
    if (state_ == State::tag) append_json_escaped(tag(), out_);
  } else if (!open_.empty()) {
    write_open(0, schema_ == nullptr ? nullptr : schema_->find(open_[0].name));
  }
  if (!out_.empty()) sink.put_arguments(out_);
}

void XmlElements::complete(CallSink& sink) {
  if (is_string_) end(sink);
  out_.clear();
  state_ = State::text;
  while (!open_.empty()) close_element(std::string(open_.back().name));
  out_ += seen_.empty() ? "{}" : "}";
  repairs_ |= kClosed;
  sink.put_arguments(out_);
  sink.end_call();
}

void XmlElements::add_held(Held& out) const {
  out.add(HeldReason::value, raw_);
  if (state_ == State::tag) {
    out.add(HeldReason::key, opener_);
    out.add(HeldReason::key, name_);
  }
  out.add(cursor_);
}

}  // namespace unspool
