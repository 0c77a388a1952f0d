// One call: its opener and closer, the end of its name, and the form of its arguments.
#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

using Kind = HoleKind;

constexpr std::string_view kSeparators = ",;";
constexpr std::string_view kNameStarts = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

/// Drops a bracket at the literal's end, and the white space after it.
bool drop_last(std::string_view& literal, char bracket) {
  const std::size_t last = literal.find_last_not_of(kSpace);
  if (last == std::string_view::npos || literal[last] != bracket) return false;
  literal = literal.substr(0, last);
  return true;
}

bool drop_first(std::string_view& literal, char bracket) {
  const std::size_t first = literal.find_first_not_of(kSpace);
  if (first == std::string_view::npos || literal[first] != bracket) return false;
  literal = literal.substr(first + 1);
  return true;
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
  CallReader(const PatternFile& file, const Pattern& pattern, bool has_section)
      : file_(file),
        pattern_(pattern),
        has_section_(has_section),
        first_(pattern.first()),
        last_(pattern.last()) {}

  CallRegion read() {
    if (pattern_.has(Kind::object)) {
      read_object();
    } else if (pattern_.has(Kind::key)) {
      read_python();
    } else {
      read_named();
    }
    call_.start.after_header ? read_message_end() : read_edges();
    return std::move(call_);
  }

 private:
  // <tool_call>${object}</tool_call>
  void read_object() {
    is_list_ = drop_last(first_, '[');
    if (is_list_) drop_first(last_, ']');
    ObjectSlot slot;
    slot.python = pattern_.hole(Kind::object).has("python");
    call_.start.after_header = file_.opens_message(first_);
    if (!file_.object.empty()) read_keys(slot);
    call_.body = std::move(slot);
    read_separators();
    if (is_blank(first_)) {
      call_.start.place = has_section_               ? BarePlace::section
                          : first_.starts_with('\n') ? BarePlace::line
                                                     : BarePlace::start;
      call_.start.letters = "[{";
      call_.start.known_tools = known_tools(call_.start.place);
    } else if (is_word(trim(first_))) {
      call_.start.may_be_text = true;
      call_.start.letters.assign(1, is_list_ ? '[' : '{');
      if (is_list_) call_.start.second.assign(1, '{');
    }
  }

  void read_separators() {
    std::string& separators = call_.separators;
    if (pattern_.has(Kind::repeats) && !is_list_) separators = trim(pattern_.after(Kind::object));
    if (is_blank(last_) && !is_blank(first_)) return;
    for (const char byte : kSeparators) {
      if (separators.find(byte) == std::string::npos) separators += byte;
    }
  }

  // {"tool_name": ${name}, "parameters": ${arguments}}; or {${name}: ${arguments}}
  void read_keys(ObjectSlot& keys) const {
    Texts names, arguments, ids;
    for (const Pattern& object : file_.object) {
      keys.name_is_key = object.holes[0].kind == Kind::name && trim(object.first()) == "{";
      if (keys.name_is_key) return;
      for (std::size_t i = 0; i < object.holes.size(); ++i) {
        const Kind kind = object.holes[i].kind;
        add_new(kind == Kind::name ? names
                : kind == Kind::id ? ids
                                   : arguments,
                last_quoted(object.texts[i]));
      }
    }
    add_new(names, "name");
    add_new(arguments, Texts{"arguments", "parameters"});
    keys.name_keys = names;
    keys.arguments_keys = arguments;
    if (!ids.empty()) keys.id_keys = ids;
  }

  // [${name}(${key}=${value}, ${...}), ${...}]
  void read_python() {
    is_list_ = drop_last(first_, '[');
    drop_first(last_, ')');
    drop_first(last_, ']');
    call_.body = PythonSlot{};
    if (!is_blank(last_)) call_.separators = kSeparators;
    if (!is_blank(first_)) return;
    call_.start.place = is_list_ ? BarePlace::start : BarePlace::line;
    call_.start.letters = is_list_ ? "[" : kNameStarts;
    call_.start.known_tools = known_tools(call_.start.place);
  }

  // A bare call has no marker, so its name must be a tool's.
  static KnownTools known_tools(BarePlace place) {
    if (place == BarePlace::line) return KnownTools::required;
    return place == BarePlace::start ? KnownTools::if_given : KnownTools::any;
  }

  // The name is outside the arguments, or in a message's header.
  void read_named() {
    if (!pattern_.has(Kind::name) && !pattern_.has(Kind::id))
      throw PatternError("call", "a call has no ${name}, ${id} or ${object}");
    const std::string_view after = without_quote(read_name());
    read_body();
    const std::string_view opener = without_quote_at_end(first_);
    call_.start.after_header = file_.opens_message(first_) && !opener.ends_with("name=");
    if (call_.start.after_header) {
      call_.name.prefix = split_recipient(first_).prefix;
    } else {
      read_name_close(after);
    }
    first_ = opener;
  }

  /// The text after the name and after what belongs to the name.
  std::string_view read_name() {
    if (!pattern_.has(Kind::name)) {
      call_.name.is_id = true;
      if (!file_.id.empty()) call_.name.prefix = file_.id.front().first();
      return pattern_.after(pattern_.has(Kind::index) ? Kind::index : Kind::id);
    }
    std::string_view after = pattern_.after(Kind::name);
    if (pattern_.has(Kind::id) && pattern_.index(Kind::id) < pattern_.index(Kind::name)) {
      call_.name.id_close = trim(pattern_.after(Kind::id));
      if (call_.name.id_close.empty())
        throw PatternError("call", "nothing stands between a call's ${id} and ${name}");
    } else if (pattern_.has(Kind::id)) {
      call_.name.id_open = trim(after);
      after = pattern_.after(Kind::id);
    }
    call_.name.is_twice = pattern_.count(Kind::name) == 2;
    if (call_.name.is_twice) after = pattern_.texts[pattern_.index(Kind::name) + 2];
    return pattern_.has(Kind::index) ? pattern_.after(Kind::index) : after;
  }

  void read_body() {
    if (pattern_.has(Kind::arguments)) {
      call_.body = ArgumentsSlot{};
      if (!file_.string.empty()) call_.body = LiteralSlot{{{file_.string.front().first()}, {}, {}}};
    } else if (pattern_.has(Kind::value)) {
      read_keyless(pattern_, call_);
    } else if (pattern_.has(Kind::parameters)) {
      read_parameters(file_, call_);
    } else {
      throw PatternError("call",
                         "a call has no ${arguments}, ${parameters}, ${value} or ${object}");
    }
  }

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
      const auto* parameters = call_.body_as<ParametersSlot>();
      if (parameters != nullptr) add_new(closers, parameters->open.texts);
    }
  }

  // A header opens it; it ends with its message.
  void read_message_end() {
    add_new(call_.close.texts, trim(last_));
    for (const Pattern& reasoning : file_.reasoning)
      add_new(call_.close.texts, trim(reasoning.last()));
  }

  void read_edges() {
    call_.open = to_marker({first_}, KeepSpace::before);
    call_.close = to_marker({last_}, has_section_ ? KeepSpace::none : KeepSpace::after);
    Texts& closers = call_.close.texts;
    if (!call_.is(BodyKind::json_arguments) || closers.empty() || !closers[0].starts_with("```")) {
      return;
    }
    add_new(closers, trim(std::string_view(closers[0]).substr(3)));  // the fence may be missing
    call_.close.before.assign(1, '\n');
  }

  const PatternFile& file_;
  const Pattern& pattern_;
  bool has_section_;
  bool is_list_ = false;
  std::string_view first_, last_;  // the pattern's edges without list brackets
  CallRegion call_;
};

}  // namespace

CallRegion read_call(const PatternFile& file, const Pattern& pattern, bool has_section) {
  return CallReader(file, pattern, has_section).read();
}

}  // namespace unspool
