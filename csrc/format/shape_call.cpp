// One call: its opener and closer, the end of its name, and the form of its arguments.
#include "format/file_words.h"
#include "format/lower_shape.h"
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

using Kind = HoleKind;

constexpr std::string_view kSeparators = ",;";
constexpr std::string_view kNameStarts = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

/// Takes a bracket at the literal's end, with the white space after it.
std::optional<Edge> take_last(std::string_view& literal, char bracket) {
  const std::size_t last = literal.find_last_not_of(kSpace);
  if (last == std::string_view::npos || literal[last] != bracket) return std::nullopt;
  const Edge taken(literal.substr(last));
  literal = literal.substr(0, last);
  return taken;
}

/// Takes a bracket at the literal's beginning, with the white space before it.
std::optional<Edge> take_first(std::string_view& literal, char bracket) {
  const std::size_t first = literal.find_first_not_of(kSpace);
  if (first == std::string_view::npos || literal[first] != bracket) return std::nullopt;
  const Edge taken(literal.substr(0, first + 1));
  literal = literal.substr(first + 1);
  return taken;
}

/// The word in the last quotes of a literal, or empty.
std::string_view last_quoted(std::string_view literal) {
  const std::size_t end = literal.rfind('"');
  if (end == std::string_view::npos || end == 0) return {};
  const std::size_t begin = literal.rfind('"', end - 1);
  if (begin == std::string_view::npos) return {};
  return literal.substr(begin + 1, end - begin - 1);
}

class CallReader {
 public:
  CallReader(const PatternFile& file, const Alternative& alternative, const Shape& shape)
      : file_(file),
        alternative_(alternative),
        pattern_(alternative.pattern),
        shape_(shape),
        first_(pattern_.first()),
        last_(pattern_.last()) {
    call_.author = alternative.author;
    call_.is_begun = alternative.is_begun;
    call_.opens_message = file_.opens_message(first_);
  }

  CallShape read() {
    if (pattern_.has(Kind::object)) {
      read_object();
    } else if (pattern_.has(Kind::key)) {
      read_python();
    } else {
      read_named();
    }
    return std::move(call_);
  }

 private:
  // The parser looks for the call's own markers. A writer also writes the tags around all calls.
  void read_edges() {
    call_.own_open = Edge(first_);
    call_.own_close = Edge(last_);
    call_.open = Edge(alternative_.outer_open + std::string(first_));
    call_.close = Edge(std::string(last_) + alternative_.outer_close);
  }

  // <tool_call>${object}</tool_call>
  // The name and the arguments are members of one object, so only the opener and the closer are
  // markers. Without an opener the object itself begins the call, and only in certain places.
  void read_object() {
    call_.list_open = take_last(first_, '[');
    if (call_.list_open) call_.list_close = take_first(last_, ']').value_or(Edge());
    read_edges();
    const Hole& hole = pattern_.hole(Kind::object);
    ObjectSlot slot;
    slot.python = hole.has("python");
    call_.inside.emplace_back(hole);
    if (pattern_.has(Kind::repeats)) call_.separator.emplace(pattern_.after(Kind::object));
    call_.start.after_header = call_.opens_message;
    read_keys(slot);
    for (const auto& [key, kind] : shape_.objects.front().keys) {
      if (kind == Kind::id) call_.holds_id = true;
      if (kind == Kind::id || kind == Kind::arguments) break;
    }
    call_.body = std::move(slot);
    read_separators();
    if (is_blank(first_)) {
      call_.start.place = shape_.has_section()       ? BarePlace::section
                          : first_.starts_with('\n') ? BarePlace::line
                                                     : BarePlace::start;
      call_.start.letters = "[{";
      call_.start.known_tools = known_tools(call_.start.place);
    } else if (call_.open.is_word()) {
      call_.start.may_be_text = true;
      call_.start.letters.assign(1, call_.list_open ? '[' : '{');
      if (call_.list_open) call_.start.second.assign(1, '{');
    }
  }

  // Models write "},{" and "};{" whatever the template has between two calls. After a call that
  // nothing closes, a comma may be the next sentence's.
  void read_separators() {
    std::string& separators = call_.separators;
    if (call_.separator && !call_.list_open) separators = call_.separator->text();
    if (is_blank(last_) && !is_blank(first_)) return;
    for (const char byte : kSeparators) {
      if (separators.find(byte) == std::string::npos) separators += byte;
    }
  }

  // {"tool_name": ${name}, "parameters": ${arguments}}; or {${name}: ${arguments}}
  // All alternatives' keys count, and the usual ones too: models of other families are distilled
  // into this one and write theirs.
  void read_keys(ObjectSlot& slot) const {
    Texts names, arguments, ids;
    for (const ObjectShape& object : shape_.objects) {
      slot.name_is_key = object.name_is_key;
      if (slot.name_is_key) return;
      for (const auto& [key, kind] : object.keys)
        add_new(kind == Kind::name ? names : kind == Kind::id ? ids : arguments, key);
    }
    add_new(names, "name");
    add_new(arguments, Texts{"arguments", "parameters"});
    slot.name_keys = names;
    slot.arguments_keys = arguments;
    if (!ids.empty()) slot.id_keys = ids;
  }

  // [${name}(${key}=${value}, ${...}), ${...}]
  // A Python call ends with its bracket. The markers around it may be missing in the output; then
  // the list's bracket, or the beginning of a line, shows where calls begin.
  void read_python() {
    call_.list_open = take_last(first_, '[');
    Edge end = take_first(last_, ')').value_or(Edge());
    call_.list_close = take_first(last_, ']');
    read_edges();
    if (pattern_.count(Kind::repeats) > 1) {
      std::string_view between = pattern_.texts[pattern_.texts.size() - 2];
      end = take_first(between, ')').value_or(Edge());
      call_.separator.emplace(between);
    }
    Repeat members{
        {pattern_.hole(Kind::key), Edge(pattern_.after(Kind::key)), Hole{Kind::value, {}}},
        Edge(pattern_.has(Kind::value) ? pattern_.after(Kind::value) : std::string())};
    call_.inside = {Hole{Kind::name, {}}};
    if (pattern_.has(Kind::name)) call_.inside.emplace_back(Edge(pattern_.after(Kind::name)));
    call_.inside.emplace_back(std::move(members));
    call_.inside.emplace_back(end);
    call_.body = PythonSlot{};
    if (!is_blank(last_)) {
      call_.separators = kSeparators;
    } else if (call_.separator && !call_.list_open) {
      call_.separators = call_.separator->literal();
    }
    if (!is_blank(first_)) {
      call_.start.may_be_text = call_.open.is_word();
      return;
    }
    call_.start.place = call_.list_open ? BarePlace::start : BarePlace::line;
    call_.start.letters = call_.list_open ? "[" : kNameStarts;
    call_.start.known_tools = known_tools(call_.start.place);
  }

  // A bare call has no marker, so its name must be a tool's.
  static KnownTools known_tools(BarePlace place) {
    if (place == BarePlace::line) return KnownTools::required;
    return place == BarePlace::start ? KnownTools::if_given : KnownTools::any;
  }

  // The name stands before the arguments, and something must end it. In a message's header it ends
  // with the header; otherwise the text after it does, or the first letter of the arguments.
  void read_named() {
    if (!pattern_.has(Kind::name) && !pattern_.has(Kind::id))
      throw PatternError("call", "a call has no ${name}, ${id} or ${object}");
    read_edges();
    for (std::size_t i = 0; i < pattern_.holes.size(); ++i) {
      if (i > 0) call_.inside.emplace_back(Edge(pattern_.texts[i]));
      call_.inside.emplace_back(pattern_.holes[i]);
    }
    for (const Hole& hole : pattern_.holes) {
      if (hole.kind == Kind::id) call_.holds_id = true;
      if (hole.kind == Kind::id || hole.kind == Kind::arguments || hole.kind == Kind::parameters)
        break;
    }
    const std::string_view after = without_quote(read_name());
    read_body();
    const std::string_view opener = without_quote_at_end(first_);
    // A message's text may hold a name too, in a tag of its own.
    call_.start.after_header = file_.ends_in_header(first_);
    if (call_.start.after_header) {
      call_.name.prefix = split_recipient(first_).prefix;
    } else {
      read_name_close(after);
    }
    call_.own_open = Edge(opener);
  }

  /// The text after the name and after what belongs to the name.
  // An id may stand on either side of the name. What separates the two is the name's marker, and
  // the text after both ends the name.
  std::string_view read_name() {
    if (!pattern_.has(Kind::name)) {
      call_.name.is_id = true;
      if (!file_.id.empty()) {
        call_.name.prefix = file_.id.front().first();
        if (file_.id.front().has(Kind::name)) set_stop(file_.id.front().after(Kind::name));
      }
      return pattern_.after(pattern_.has(Kind::index) ? Kind::index : Kind::id);
    }
    for (const Kind kind : {Kind::arguments, Kind::parameters, Kind::value}) {
      if (pattern_.has(kind) && pattern_.index(kind) < pattern_.index(Kind::name))
        throw PatternError("call", "${name} stands after ${" + std::string(name_of(kind)) +
                                       "}; a call is announced by its name, so write it first");
    }
    std::string_view after = pattern_.after(Kind::name);
    set_stop(after);
    const Kind before = pattern_.has(Kind::any) ? Kind::any : Kind::id;
    call_.name.skips_id = before == Kind::any;
    if (pattern_.has(before) && pattern_.index(before) < pattern_.index(Kind::name)) {
      call_.name.id_close = trim(pattern_.after(before));
      if (call_.name.id_close.empty())
        throw PatternError("call", "nothing stands between a call's ${" +
                                       std::string(name_of(before)) + "} and ${name}");
    } else if (call_.name.skips_id) {
      throw PatternError("call",
                         "${_} stands after ${name}; in a call, only text before the name "
                         "is skipped");
    } else if (pattern_.has(Kind::id)) {
      call_.name.id_open = trim(after);
      after = pattern_.after(Kind::id);
    }
    call_.name.is_twice = pattern_.count(Kind::name) == 2;
    if (call_.name.is_twice) after = pattern_.texts[pattern_.index(Kind::name) + 2];
    return pattern_.has(Kind::index) ? pattern_.after(Kind::index) : after;
  }

  // A tool whose name has this letter in it could not be called: a grammar refuses it with a
  // reason.
  void set_stop(std::string_view after) {
    call_.name_stop = Edge(after).sign();
    if (call_.name_stop.empty()) call_.name_stop = "\n";
  }

  void read_body() {
    if (pattern_.has(Kind::arguments)) {
      call_.body = ArgumentsSlot{};
      if (shape_.quote) call_.body = LiteralSlot{{{shape_.quote->open.literal()}, {}, {}}};
    } else if (pattern_.has(Kind::value)) {
      call_.body = read_keyless(pattern_);
    } else if (pattern_.has(Kind::parameters)) {
      if (file_.parameter.empty())
        throw PatternError("call", "${parameters} needs a key 'parameter'");
      call_.body = lower_parameters(shape_.parameters);
    } else {
      throw PatternError("call",
                         "a call has no ${arguments}, ${parameters}, ${value} or ${object}");
    }
  }

  // A fence after the name is one marker with its word, ```json, and the line break before it may
  // be missing. Where only white space is left, the line ends the name, or the first parameter
  // does.
  void read_name_close(std::string_view literal) {
    Texts& closers = call_.name.close.texts;
    const bool has_arguments = pattern_.has(Kind::arguments);
    if (has_arguments) call_.name.stops.assign(1, '{');
    if (has_arguments && literal.find("```") != std::string_view::npos) {
      add_new(closers, literal);
      add_new(closers, literal.substr(literal.find_first_not_of('\n')));
    } else if (!is_blank(literal)) {
      add_new(closers, trim(literal));
    } else if (!has_arguments) {
      closers = {"\n"};
      const auto* parameters = std::get_if<ParametersSlot>(&call_.body);
      if (parameters != nullptr) add_new(closers, parameters->open.texts);
    }
  }

  const PatternFile& file_;
  const Alternative& alternative_;
  const Pattern& pattern_;
  const Shape& shape_;
  std::string_view first_, last_;  // the pattern's edges without list brackets
  CallShape call_;
};

}  // namespace

// A hole without a key would be a member that nothing can find again.
ObjectShape read_object(const Pattern& pattern) {
  ObjectShape shape;
  shape.items = items_of(pattern);
  shape.name_is_key = pattern.holes[0].kind == Kind::name && trim(pattern.first()) == "{";
  for (std::size_t i = 0; i < pattern.holes.size(); ++i) {
    if (pattern.texts[i].ends_with('"') && pattern.texts[i + 1].starts_with('"'))
      throw PatternError("object",
                         "write ${" + std::string(name_of(pattern.holes[i].kind)) +
                             "} without quotes; it stands for a JSON value, quotes included");
    const std::string_view key = last_quoted(pattern.texts[i]);
    if (key.empty() && !shape.name_is_key)
      throw PatternError("object",
                         "a hole has no key; write it in quotes, as in \"name\": ${name}");
    shape.keys.emplace_back(key, pattern.holes[i].kind);
  }
  return shape;
}

CallShape read_call(const PatternFile& file, const Alternative& alternative, const Shape& shape) {
  return CallReader(file, alternative, shape).read();
}

}  // namespace unspool
