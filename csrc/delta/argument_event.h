// Events about a call's arguments before the call ends: values as they are written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace unspool {

/// A path in the arguments: its last step, and the path before it. The root is null.
struct ArgumentPath {
  std::shared_ptr<const ArgumentPath> parent;
  std::string key;          // of a member
  std::int64_t index = -1;  // of an element; -1: it is a member
};

enum class ArgumentKind : std::uint8_t { object, array, string, number, boolean, null };

const char* to_string(ArgumentKind kind);

/// An object or array has two events: opened, and closed with `is_final`. A string has one event
/// per fragment; the last one is final. Any other value has one event, which is final.
struct ArgumentEvent {
  std::int32_t call = -1;
  std::shared_ptr<const ArgumentPath> path;
  ArgumentKind kind = ArgumentKind::object;
  bool is_final = false;
  std::string text;         // of a string: decoded; of a number, true, false or null: its JSON
  std::uint64_t begin = 0;  // byte range in the call's arguments
  std::uint64_t end = 0;
};

/// The path as an RFC 6901 JSON Pointer: "/days/0".
std::string to_json_pointer(const ArgumentPath* path);

/// The path as an RFC 9535 JSONPath: "$.days[0]".
std::string to_json_path(const ArgumentPath* path);

}  // namespace unspool
