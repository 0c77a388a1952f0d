// A header in the output: what it may say, and what it says of the text that follows it.
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

  /// Starts to read one.
  void open(std::size_t markup) {
    markup_ = static_cast<std::uint8_t>(markup);
    search_.reset();
  }

  std::size_t index() const { return markup_; }
  const MarkupRegion& markup() const { return format_.program().markup[markup_]; }

  /// Whether a header may say `text`, or begin with it if it is not whole. The text of one header
  /// only grows.
  bool fits(std::string_view text, bool is_whole);

  /// Whether the text opens another header, or may do so if it is not whole. A name may repeat what
  /// opened its header.
  bool opens_another(std::string_view text, bool is_whole) const;

  /// Whether it names someone to call whom the request does not offer. A name alone opens an
  /// answer's first call only if it is one of `tools`, where these are known.
  bool names_stranger(std::string_view text, const ToolSchemas* tools, bool has_calls) const;

  /// The tool that it calls; empty where it calls none.
  std::string_view tool(std::string_view text) const;

  bool announces_reasoning(std::string_view text) const;
  bool announces_calls(std::string_view text) const;

  /// The kind of call that a header opens; -1 if the format has none.
  int call() const;

  /// Where the parser splits reasoning off: the header's marker, until it says what it opens.
  std::string opener;

  void visit(Archive& archive);

 private:
  std::string_view recipient(std::string_view text) const;

  const Format& format_;
  std::uint8_t markup_ = 0;
  ClonedPtr<RegexSearch> search_;
};

}  // namespace unspool
