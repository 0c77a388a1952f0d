// An edge: a literal text between two holes of a pattern, with its white space decided.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unspool {

/// "\n<tool_call>\n" has the text "<tool_call>", with white space before and after it.
///
/// The white space beside a tag is free: a model may omit it. A word keeps its own.
class Edge {
 public:
  Edge() = default;
  explicit Edge(std::string_view literal);

  /// All of it, as the pattern writes it.
  const std::string& literal() const { return literal_; }
  /// The white space before the text. All of a blank literal is `after`.
  std::string before() const { return literal_.substr(0, begin_); }
  std::string text() const { return literal_.substr(begin_, end_ - begin_); }
  std::string after() const { return literal_.substr(end_); }
  bool is_blank() const { return begin_ == end_; }

  /// Whether the text begins, or ends, with the sign of a tag.
  bool begins_tag() const;
  bool ends_tag() const;
  /// Whether the literal begins with a line break.
  bool begins_line() const { return literal_.starts_with('\n'); }
  /// The number of line breaks that the literal begins with.
  std::size_t line_breaks() const;
  bool is_fence() const { return text().starts_with("```"); }
  /// The text after ```, where the fence is missing.
  std::string without_fence() const;
  /// Letters without a bracket are not a marker: they may occur in any text.
  bool is_word() const;
  /// Whether the text is one token, such as <|im_end|>.
  bool is_token() const;
  /// The first letter of the text; empty if there is none.
  std::string sign() const;
  /// The text, split at the line breaks between two tags.
  std::vector<std::string> tags() const;
  /// The same, and where no white space is between them, if it begins with a closing tag.
  std::vector<std::string> closing_tags() const;

  /// The literal without the white space before its text.
  Edge rest() const { return Edge(is_blank() ? std::string() : literal_.substr(begin_)); }
  /// The literal without this text at its beginning.
  Edge without(std::string_view prefix) const;
  /// The literal without what one of these texts has written of it already.
  Edge after_any(const std::vector<std::string>& written) const;
  /// Whether the written text begins as this closer does, for more than one tag.
  bool is_begun_by(std::string_view written) const;

  bool operator==(const Edge&) const = default;

 private:
  std::string literal_;
  std::size_t begin_ = 0, end_ = 0;  // of the text in the literal
};

/// Whether a marker is more than a word of plain text.
bool is_structural(std::string_view marker);

/// The first letter of a text, which may have several bytes.
std::string_view first_letter(std::string_view text);

}  // namespace unspool
