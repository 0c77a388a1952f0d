// A pattern: a text as the model writes it, with holes for the parts of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unspool {

/// The kind of a hole.
enum class HoleKind : std::uint8_t {
  reasoning,
  content,
  calls,       // all calls
  name,        // the tool's name
  id,          // the call's id
  index,       // the call's number
  random,      // random letters and digits
  arguments,   // all arguments, as one JSON object
  object,      // name and arguments, as one JSON object
  parameters,  // each in the form of `parameter`
  key,
  value,
  type,     // the name of a JSON type
  repeats,  // ${...}: repeats what precedes it, after the text between
  any,      // ${_}: any text
};

struct Hole {
  HoleKind kind;
  std::vector<std::string> options;  // ${value:xml,python}

  bool has(std::string_view option) const;
  /// The number among the options: a length, or a first index.
  std::optional<int> number() const;
  bool operator==(const Hole&) const = default;
};

/// Alternating texts and holes; begins and ends with a text.
struct Pattern {
  std::vector<std::string> texts{std::string()};
  std::vector<Hole> holes;

  /// Throws FormatError if a hole's kind or an option is unknown.
  static Pattern parse(std::string_view text);

  const std::string& first() const { return texts.front(); }
  const std::string& last() const { return texts.back(); }
  std::size_t count(HoleKind kind) const;
  bool has(HoleKind kind) const { return count(kind) > 0; }
  /// The index of the first hole of the kind, which must exist.
  std::size_t index(HoleKind kind) const;
  const Hole& hole(HoleKind kind) const { return holes[index(kind)]; }
  const std::string& before(HoleKind kind) const { return texts[index(kind)]; }
  const std::string& after(HoleKind kind) const { return texts[index(kind) + 1]; }
  /// The pattern with another text at its end.
  Pattern with_last(std::string text) const;
  bool operator==(const Pattern&) const = default;
  /// Whether both patterns have holes of the same kinds in the same order.
  bool has_shape_of(const Pattern& other) const;
};

}  // namespace unspool
