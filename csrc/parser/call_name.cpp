#include "parser/call_name.h"

#include <algorithm>

#include "body/entities.h"
#include "body/names.h"
#include "body/slips.h"
#include "text/has_word.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// `name:3` without its number.
std::string_view without_number(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const bool is_numbered =
      colon != std::string_view::npos && colon + 1 < name.size() &&
      name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return is_numbered ? name.substr(0, colon) : name;
}

// Shortens `name.name` to `name`.
void halve(std::string& name) {
  const std::size_t half = name.size() / 2;
  // Some models write the tool's name as its own namespace.
  const bool is_twice =
      name.size() % 2 == 1 && name[half] == '.' && name.substr(0, half) == name.substr(half + 1);
  if (is_twice) name.resize(half);
}

// Without white space and quotes, such as the partial quotes around an attribute's value.
std::string_view bare(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\"'");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n\"'") + 1 - begin);
}

struct TagSpan {
  std::size_t begin = std::string_view::npos, end = 0;
  bool is_empty() const { return begin == std::string_view::npos; }
};

// Where the marker is in the text. White space between its tags is free.
TagSpan find_tags(std::string_view text, std::string_view marker) {
  const std::size_t tag_end = marker.find('>');
  const std::string_view first = marker.substr(0, tag_end == marker.npos ? tag_end : tag_end + 1);
  const std::string_view second = trim(marker.substr(first.size()));
  const std::size_t at = marker.empty() ? text.npos : text.find(first);
  if (at == text.npos) return {};
  const std::size_t begin = text.find_first_not_of(kSpace, at + first.size());
  if (second.empty()) return {at, at + first.size()};
  if (begin == text.npos || !text.substr(begin).starts_with(second)) return {};
  return {at, begin + second.size()};
}

// The name without the id that the model writes before or after it.
std::string_view cut_id(const CallRegion& call, std::string_view name, std::string& id) {
  const auto cut = [&](std::string_view between, bool is_after) {
    const TagSpan at = find_tags(name, between);
    if (at.is_empty()) return;
    const std::string_view first = bare(name.substr(0, at.begin));
    const std::string_view second = bare(name.substr(at.end));
    id = is_after ? second : first;
    name = is_after ? first : second;
  };
  cut(call.name.id_open, true);
  cut(call.name.id_close, false);
  return name;
}

// The name without its closer, if its tags had other white space between them than the marker.
std::string_view cut_close(const CallRegion& call, std::string_view name) {
  for (const std::string& close : call.name.close.texts) {
    const TagSpan at = find_tags(name, close);
    if (!at.is_empty() && at.end == name.size()) return trim(name.substr(0, at.begin));
  }
  return name;
}

// What an id may look like: letters, digits and at least one of these.
bool is_id(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::any_of(text.begin(), text.end(), is_digit) &&
         std::all_of(text.begin(), text.end(), continues_name);
}

// Whether the text is the tool's name with a separator too many, the family's prefix misspelled
// before it, or the call's id directly after it.
bool holds_name(const CallRegion& call, std::string_view text, std::string_view tool) {
  if (tool.empty() || text.size() < tool.size()) return false;
  if (has_word(text, tool, [](char c) { return !continues_name(c) && c != '-'; })) return true;
  const std::size_t rest = text.size() - tool.size();
  const std::size_t prefix = call.name.prefix.size();
  if (prefix > 0 && text.ends_with(tool) && rest + 1 >= prefix && rest <= prefix + 1) {
    return ends_with_slip(text.substr(0, rest), call.name.prefix);
  }
  const bool has_id = call.name.is_id || !call.name.id_open.empty();
  return has_id && text.starts_with(tool) && is_id(text.substr(tool.size()));
}

// The tools whose names the text holds.
std::vector<std::string> names_inside(const CallRegion& call, std::string_view text,
                                      const ToolSchemas& tools) {
  std::vector<std::string> found;
  for (const auto& [name, schema] : tools.tools) {
    if (holds_name(call, text, name)) found.push_back(name);
  }
  return found;
}

// A tag that closes itself, with more than the name in it: `<invoke name="city" value="Paris" />`.
// As a call it would be one without arguments, and what the model wrote would be lost.
bool holds_values(std::string_view attributes) {
  attributes = trim(attributes);
  return attributes.ends_with('/') && attributes.find('=') != std::string_view::npos;
}

}  // namespace

std::string_view without_prefix(const CallRegion& call, std::string_view name) {
  // `functions.f`, but also `ions.f`: the prompt may have written the beginning.
  for (std::string_view prefix = call.name.prefix; !prefix.empty(); prefix.remove_prefix(1)) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

bool is_call_name(std::string_view name, const ToolSchemas* tools) {
  if (tools != nullptr && tools->find(name) != nullptr) return true;
  // Markup, brackets, quotes and spaces are of a misplaced marker, or of prose.
  return !name.empty() && !has_control(name) &&
         name.find_first_of(" <>()[]{}\"'`") == std::string_view::npos;
}

CallName read_call_name(const CallRegion& call, std::string_view written,
                        const ToolSchemas* tools) {
  CallName read;
  std::string_view attributes;
  std::string_view name =
      unquote(cut_close(call, cut_id(call, trim(written), read.id)), attributes);
  // `functions.get_weather:0` is the call's id and contains the name.
  if (call.name.is_id) read.id = name;
  name = without_prefix(call, name);
  read.name = call.name.is_id ? without_number(name) : name;
  // What stands in the place of the id is a name only if a tool has it.
  const bool may_be_id =
      (call.name.is_id && tools != nullptr && read.name == name) ||
      (!call.name.id_close.empty() && find_tags(written, call.name.id_close).is_empty());
  if (call.name.skips_id) read.id.clear();
  const auto* parameters = call.body_as<ParametersSlot>();
  if (parameters != nullptr && parameters->key_entities) read.name = without_entities(read.name);
  if (call.name.is_twice) halve(read.name);
  if (read.id == read.name) read.id.clear();  // a bare name is not an id
  const bool is_offered = tools != nullptr && tools->find(read.name) != nullptr;
  const bool is_broken = attributes.find_first_of("{<") != std::string_view::npos ||
                         (parameters != nullptr && holds_values(attributes));
  read.is_name = is_call_name(read.name, tools) && (is_offered || !may_be_id) && !is_broken;
  if (is_offered || tools == nullptr) return read;
  // Misspelled markup around a tool's name does not make another name of it.
  const std::vector<std::string> inside = names_inside(call, trim(written), *tools);
  if (!inside.empty()) read.is_name = false;
  if (inside.size() == 1) read.inside = inside[0];
  return read;
}

}  // namespace unspool
