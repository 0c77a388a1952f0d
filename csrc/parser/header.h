// A header in the output: its valid texts, and their meaning for the text after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/format.h"
#include "format/tool_schemas.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/regex.h"

namespace unspool {

class Header {
 public:
  explicit Header(const Format& format) : format_(format) {}

  /// Starts to read a header.
  void open(std::size_t markup) {
    markup_ = static_cast<std::uint8_t>(markup);
    search_.reset();
  }

  std::size_t index() const { return markup_; }
  const MarkupRegion& markup() const { return format_.program().markup[markup_]; }

  /// Whether `text` is a valid header or, if it is not complete, a prefix of one. The text of one
  /// header only grows.
  bool fits(std::string_view text, bool is_whole);

  /// Whether the text opens another header, or may do so if it is not complete. A name may repeat
  /// the opener of its header.
  bool opens_another(std::string_view text, bool is_whole) const;

  /// Whether a header that its message's end cuts holds none of the message: it is one header, or
  /// one word that the family does not have.
  bool is_without_text(std::string_view text, bool fits) const;

  /// Whether it names a recipient that the request does not offer. A name on its own opens an
  /// answer's first call only if it is one of `tools`, if these are known.
  bool names_stranger(std::string_view text, const ToolSchemas* tools, bool has_calls) const;

  /// The tool that the header calls; empty if it calls none.
  std::string_view tool(std::string_view text) const;

  bool announces_reasoning(std::string_view text) const;
  bool announces_calls(std::string_view text) const;
  /// Whether the text after it is for the user, so that it holds no call.
  bool announces_text(std::string_view text) const;

  /// The kind of call that a header opens; -1 if the format has none.
  int call() const;

  /// For splitting off reasoning: the header's marker, until it is known what the header opens.
  std::string opener;

  void visit(Archive& archive);

 private:
  std::string_view recipient(std::string_view text) const;
  /// The text after the last opener in it: a model that writes a channel again means the last one.
  std::string_view last_part(std::string_view text) const;
  /// Whether the word counts in the header: as its recipient, or in its last part.
  bool says(std::string_view text, std::string_view word) const;

  const Format& format_;
  std::uint8_t markup_ = 0;
  ClonedPtr<RegexSearch> search_;
};

}  // namespace unspool
