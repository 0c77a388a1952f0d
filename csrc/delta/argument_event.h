// What is known of a call's arguments before the call ends: values as they are written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace unspool {

/// A place in the arguments: the last step to it, and the place before that. The root is null.
struct ArgumentPath {
  std::shared_ptr<const ArgumentPath> parent;
  std::string key;          // of a member
  std::int64_t index = -1;  // of an element; -1: it is a member
};

enum class ArgumentKind : std::uint8_t { object, array, string, number, boolean, null };

const char* to_string(ArgumentKind kind);

/// An object or array comes twice: opened, and closed with `is_final`. A string comes in fragments,
/// the last one final. Any other value comes once, final.
struct ArgumentEvent {
  std::int32_t call = -1;
  std::shared_ptr<const ArgumentPath> path;
  ArgumentKind kind = ArgumentKind::object;
  bool is_final = false;
  std::string text;         // of a string: decoded; of a number, true, false or null: as written
  std::uint64_t begin = 0;  // bytes of the call's arguments that it comes from
  std::uint64_t end = 0;
};

/// The path as RFC 6901 writes it: "/days/0".
std::string to_json_pointer(const ArgumentPath* path);

/// The path as RFC 9535 writes it: "$.days[0]".
std::string to_json_path(const ArgumentPath* path);

}  // namespace unspool
