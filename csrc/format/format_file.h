// Formats as JSON: what `unspool export-format` writes, and Python's descriptions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "format/format.h"
#include "text/json_value.h"
#include "vocabulary/vocabulary.h"

namespace unspool {

/// How a request's tools bear on how its output is read.
struct ToolUse {
  bool is_on = true;         // false: calls are content
  bool is_required = false;  // some tool must be called: the output may be the bare list of calls
  std::string name = {};     // the tool that must be called: the output may be its bare arguments
};

struct FormatOptions {
  std::shared_ptr<const Vocabulary> vocabulary;  // of the ids to come; null: text only
  ToolUse tools = {};
  MarkerTrust trust = MarkerTrust::by_id;
};

/// A description as a format file holds it. Throws FormatError where a key has a value of another
/// type, or a choice is unknown; a key that is not there leaves the default, others are ignored.
FormatSpec read_format_spec(const JsonValue& description);

/// The same, for a request that uses its tools so.
FormatSpec for_tools(FormatSpec spec, const ToolUse& tools);

/// Reads what `unspool export-format` wrote. Throws FormatError: it is no such file, or of another
/// version, or cannot be compiled.
std::shared_ptr<const Format> read_format(std::string_view json, const FormatOptions& options = {});

/// The vocabulary's tokens that may be markers.
std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary);

}  // namespace unspool
