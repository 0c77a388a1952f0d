// A compiled Hugging Face response template, version 1: its fields and their openers and closers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/format.h"
#include "text/json_value.h"
#include "text/regex.h"

namespace unspool {

/// How to convert a region's text to a value.
struct ContentSpec {
  enum class Kind : std::uint8_t { text, integer, number, boolean, json, xml_inline, kv_lines };

  Kind kind = Kind::text;
  bool strips = true;
  // json:
  std::vector<std::pair<std::string, std::string>> string_delims = {};
  bool unquoted_keys = false;
  bool allows_other = false;  // text that is not JSON is kept as text
  // xml-inline:
  std::shared_ptr<const Regex> tag = nullptr;
  int key_group = -1;
  int value_group = -1;
  bool merges = false;  // repeated keys become a list
  // kv-lines:
  std::string line_separator = "\n";
  std::string key_separator = ":";
  // both: how to read a value; null: as text
  std::shared_ptr<const ContentSpec> value = nullptr;
};

/// A name or a place in a transform: a literal, or a dotted path that starts at a capture or at
/// `content`.
struct TemplatePath {
  std::string literal = {};
  std::vector<std::string> keys = {};  // empty: the literal is used
};

/// Where a transform gets a call's name and arguments from, if that is known before the region
/// ends.
struct CallKeys {
  TemplatePath name;
  std::vector<std::string> arguments;  // path within the content
};

struct TemplateField {
  enum class Channel : std::uint8_t { content, reasoning, tool_calls, extra };

  std::string name;
  Channel channel = Channel::extra;
  std::shared_ptr<const Regex> open = nullptr;   // null: for text that no other field claims
  std::shared_ptr<const Regex> close = nullptr;  // null: up to the end
  ContentSpec content = {};
  bool repeats = false;
  std::optional<std::string> join = {};
  bool is_optional = true;
  std::optional<JsonValue> transform = {};
  bool transforms_each = false;
  std::optional<CallKeys> call = {};

  /// Whether its value is its text, apart from surrounding white space.
  bool is_plain() const { return content.kind == ContentSpec::Kind::text && !transform; }
};

struct ResponseTemplate {
  std::vector<TemplateField> fields;
  int implicit = -1;  // index of the field without an opener
  std::shared_ptr<const Regex> start_anchor;
  std::vector<std::pair<std::string, JsonValue>> defaults;
  std::uint64_t fingerprint = 0;  // of its JSON

  /// The part of a prompt that belongs to the message: after the last anchor, or all of it.
  std::string_view message_part(std::string_view prompt) const;

  /// Throws FormatError with the field and the remedy.
  static std::shared_ptr<const ResponseTemplate> compile(const JsonValue& spec);
};

/// The format that parses with a template. `tokens`: the vocabulary's added tokens.
std::shared_ptr<const Format> make_format(std::shared_ptr<const ResponseTemplate> response_template,
                                          std::string name, const std::vector<MarkerToken>& tokens);

/// The part of a message that a field of this name fills.
TemplateField::Channel channel_of(std::string_view name);

/// The path in `{name}` or `{content.key}`; nullopt if the text is a literal.
std::optional<std::vector<std::string>> read_placeholder(std::string_view text);

}  // namespace unspool
