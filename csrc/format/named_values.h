// The names of choices and types in files, options and host APIs.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "format/program.h"

namespace unspool {

template <typename Value>
struct Word {
  std::string_view name;
  Value value;
};

inline constexpr Word<BarePlace> kPlaces[] = {
    {"start", BarePlace::start}, {"line", BarePlace::line}, {"section", BarePlace::section}};
inline constexpr Word<BodyKind> kBodies[] = {{"json_call", BodyKind::json_call},
                                             {"json_arguments", BodyKind::json_arguments},
                                             {"literal_arguments", BodyKind::literal_arguments},
                                             {"pythonic", BodyKind::pythonic},
                                             {"xml_parameters", BodyKind::xml_parameters},
                                             {"xml_elements", BodyKind::xml_elements}};
inline constexpr Word<CallIdStyle> kCallIds[] = {{"random", CallIdStyle::random},
                                                 {"nine", CallIdStyle::nine},
                                                 {"functions", CallIdStyle::functions}};
inline constexpr Word<CallsInReasoning> kCallsInReasoning[] = {
    {"auto", CallsInReasoning::wait_and_see},
    {"keep", CallsInReasoning::keep},
    {"end", CallsInReasoning::end}};

/// All JSON types except text. Text is the fallback for values that are not JSON.
inline constexpr TypeSet kJsonTypes(static_cast<std::uint8_t>(TypeSet::any().bits() &
                                                              ~TypeSet::string));
inline constexpr TypeSet kNumberTypes = TypeSet(TypeSet::integer) | TypeSet(TypeSet::number);

/// The types of JSON Schema.
inline constexpr Word<TypeSet> kTypes[] = {
    {"string", TypeSet(TypeSet::string)},   {"number", kNumberTypes},
    {"integer", TypeSet(TypeSet::integer)}, {"boolean", TypeSet(TypeSet::boolean)},
    {"null", TypeSet(TypeSet::null)},       {"object", TypeSet(TypeSet::object)},
    {"array", TypeSet(TypeSet::array)}};

/// The word with this name, or null.
template <typename Value, std::size_t Size>
const Word<Value>* find_word(const Word<Value> (&words)[Size], std::string_view name) {
  const auto found = std::find_if(std::begin(words), std::end(words),
                                  [&](const Word<Value>& word) { return word.name == name; });
  return found == std::end(words) ? nullptr : found;
}

/// The name of a value; empty if it has none.
template <typename Value, std::size_t Size>
std::string_view name_of(const Word<Value> (&words)[Size], Value value) {
  const auto found = std::find_if(std::begin(words), std::end(words),
                                  [&](const Word<Value>& word) { return word.value == value; });
  return found == std::end(words) ? std::string_view{} : found->name;
}

}  // namespace unspool
