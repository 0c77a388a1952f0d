#include "format/toml_document.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "text/error.h"

namespace unspool {
namespace {

/// toml++ uses asserts that some texts violate, such as `[(]`. Here they are errors in every build.
struct TomlFault {};
constexpr void check_toml(bool holds) {
  if (!holds) throw TomlFault();
}

}  // namespace
}  // namespace unspool

#undef NDEBUG  // otherwise toml++ lets the compiler assume what it asserts
#define TOML_ASSERT(expr) ::unspool::check_toml(static_cast<bool>(expr))
#define TOML_ENABLE_FORMATTERS 0
#define TOML_EXCEPTIONS 1
#define TOML_MAX_NESTED_VALUES 16
#include <toml.hpp>

namespace unspool {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::ptrdiff_t kMaxDotsInLine = 100;

// toml++ bounds the depth of values, but not of keys: a.a.a.… would overflow its stack.
void check_dots(std::string_view text, std::string_view source) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '.') >
        kMaxDotsInLine) {
      throw FormatError(std::string(source) + ":" + std::to_string(line) +
                        ":1: the line has more than 100 dots; break it up");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string at(std::string_view source, toml::source_position position) {
  return std::string(source) + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column) + ": ";
}

// A table's header without a key, the only text for which toml++'s asserts fail.
std::string place_of_fault(std::string_view text, std::string_view source) {
  toml::source_position position{1, 1};
  for (; !text.empty(); ++position.line) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
    const std::size_t first = line.find_first_not_of(" \t");
    const std::size_t key = line.find_first_not_of(" \t[");
    const bool is_key = key != std::string_view::npos &&
                        (std::isalnum(static_cast<unsigned char>(line[key])) != 0 ||
                         std::string_view("_-\"'").find(line[key]) != std::string_view::npos);
    if (first != std::string_view::npos && line[first] == '[' && !is_key) {
      position.column = static_cast<toml::source_index>(first + 1);
      return at(source, position);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return at(source, {1, 1});
}

/// Converts toml++'s nodes to values, and records their positions.
class Walk {
 public:
  Walk(TomlDocument& document, std::string_view source) : document_(document), source_(source) {}

  JsonValue read(const toml::node& node, const std::string& path) {
    document_.places.try_emplace(path, place(node.source().begin));
    if (const toml::table* table = node.as_table()) return read_table(*table, path);
    if (const toml::array* array = node.as_array()) {
      JsonValue value;
      value.kind = JsonValue::Kind::array;
      for (std::size_t i = 0; i < array->size(); ++i)
        value.items.push_back(read(*array->get(i), path + "[" + std::to_string(i) + "]"));
      return value;
    }
    if (const auto* text = node.as_string()) return JsonValue::of_string(text->get());
    if (const auto* flag = node.as_boolean()) return JsonValue::of(flag->get());
    if (const auto* number = node.as_integer())
      return JsonValue::of_number(std::to_string(number->get()));
    if (const auto* number = node.as_floating_point())
      return JsonValue::of_number(std::to_string(number->get()));
    throw FormatError(at(source_, node.source().begin) + path + " is a date; write text");
  }

 private:
  // toml++ sorts the keys; the file's order is the order of their positions.
  JsonValue read_table(const toml::table& table, const std::string& path) {
    struct Member {
      const toml::key* key;
      const toml::node* node;
    };
    std::vector<Member> members;
    for (const auto& [key, node] : table) members.push_back({&key, &node});
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return a.key->source().begin < b.key->source().begin;
    });
    JsonValue value = JsonValue::object();
    for (const Member& member : members) {
      const std::string name(member.key->str());
      const std::string inner = path.empty() ? name : path + "." + name;
      document_.places.try_emplace(inner, place(member.key->source().begin));
      value.members.emplace_back(name, read(*member.node, inner));
    }
    return value;
  }

  static TomlDocument::Place place(toml::source_position position) {
    return {position.line, position.column};
  }

  TomlDocument& document_;
  std::string_view source_;
};

}  // namespace

// toml++ gives each value its place; the errors of a format file have line and column from it.
TomlDocument TomlDocument::read(std::string_view text, std::string_view source) {
  if (text.size() > kMaxFileBytes)
    throw FormatError(std::string(source) + ":1:1: the file has more than 1 MiB");
  check_dots(text, source);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw FormatError(at(source, error.source().begin) +
                      "not TOML: " + std::string(error.description()));
  } catch (const TomlFault&) {
    throw FormatError(place_of_fault(text, source) + "not TOML: the table's header has no key");
  }
  TomlDocument document;
  document.value = Walk(document, source).read(table, "");
  return document;
}

}  // namespace unspool
