#include "parser/call_name.h"

#include <algorithm>

#include "body/entities.h"
#include "body/names.h"
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

// The name without the id that the model writes before or after it.
std::string_view cut_id(const CallRegion& call, std::string_view name, std::string& id) {
  const auto cut = [&](std::string_view between, bool is_after) {
    const std::size_t at = between.empty() ? name.npos : name.find(between);
    if (at == name.npos) return;
    const std::string_view first = bare(name.substr(0, at));
    const std::string_view second = bare(name.substr(at + between.size()));
    id = is_after ? second : first;
    name = is_after ? first : second;
  };
  cut(call.name.id_open, true);
  cut(call.name.id_close, false);
  return name;
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
  std::string_view name = unquote(cut_id(call, trim(written), read.id), attributes);
  // `functions.get_weather:0` is the call's id and contains the name.
  if (call.name.is_id) read.id = name;
  name = without_prefix(call, name);
  read.name = call.name.is_id ? without_number(name) : name;
  // What stands in the place of the id is a name only if a tool has it.
  const bool may_be_id = (call.name.is_id && tools != nullptr && read.name == name) ||
                         (!call.name.id_close.empty() && read.id.empty());
  const auto* parameters = call.body_as<ParametersSlot>();
  if (parameters != nullptr && parameters->key_entities) read.name = without_entities(read.name);
  if (call.name.is_twice) halve(read.name);
  if (read.id == read.name) read.id.clear();  // a bare name is not an id
  const bool is_offered = tools != nullptr && tools->find(read.name) != nullptr;
  read.is_name = is_call_name(read.name, tools) && (is_offered || !may_be_id) &&
                 attributes.find_first_of("{<") == std::string_view::npos;
  return read;
}

}  // namespace unspool
