// A pattern: what the model writes, with holes where the parts of a message stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unspool {

/// What stands in a hole.
enum class HoleKind : std::uint8_t {
  reasoning,
  content,
  calls,       // all of them
  name,        // the tool's
  id,          // the call's
  index,       // the call's number
  random,      // letters and digits
  arguments,   // all of them, as one JSON object
  object,      // name and arguments, as one JSON object
  parameters,  // each as `parameter` says
  key,
  value,
  type,     // a JSON type's name
  repeats,  // ${...}: what stands before it again, after the text between
  any,      // ${_}
};

struct Hole {
  HoleKind kind;
  std::vector<std::string> options;  // ${value:xml,python}

  bool has(std::string_view option) const;
};

/// Literal text and holes in turn: a text, a hole, a text, …, a text.
struct Pattern {
  std::vector<std::string> texts{std::string()};
  std::vector<Hole> holes;

  /// Throws FormatError: a hole of no kind, an option that is none.
  static Pattern parse(std::string_view text);

  const std::string& first() const { return texts.front(); }
  const std::string& last() const { return texts.back(); }
  std::size_t count(HoleKind kind) const;
  bool has(HoleKind kind) const { return count(kind) > 0; }
  /// The first hole of the kind; there is one.
  std::size_t index(HoleKind kind) const;
  const Hole& hole(HoleKind kind) const { return holes[index(kind)]; }
  const std::string& before(HoleKind kind) const { return texts[index(kind)]; }
  const std::string& after(HoleKind kind) const { return texts[index(kind) + 1]; }
  /// The holes' kinds are the same, in the same order.
  bool has_shape_of(const Pattern& other) const;
};

}  // namespace unspool
