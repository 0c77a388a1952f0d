// Formats for a request: from a file, or from what `unspool export-format` wrote.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/format.h"
#include "vocabulary/vocabulary.h"

namespace unspool {

/// How a request's tools bear on how its output is read.
struct ToolUse {
  bool is_on = true;         // false: calls are content
  bool is_required = false;  // some tool must be called: the output may be the bare list of calls
  std::string name = {};     // the tool that must be called: the output may be its bare arguments
  bool unmarked = false;     // a JSON object without markers is a call if it fits a tool
};

/// Which reasoning is read.
struct ReasoningUse {
  bool is_on = true;                  // false: its tags are content
  std::optional<Program> other = {};  // another format's, in place of the own
  std::optional<CallsInReasoning> calls =
      {};  // what becomes of calls in it; none: as the format says
};

struct FormatOptions {
  std::shared_ptr<const Vocabulary> vocabulary;  // of the ids to come; null: text only
  ToolUse tools = {};
  MarkerTrust trust = MarkerTrust::by_id;  // strict: not for a response template
};

/// The same format, for a request that uses its tools and its reasoning so.
Program for_tools(Program program, const ToolUse& tools);
Program with_reasoning(Program program, const ReasoningUse& reasoning);

/// Reads a format's file (TOML), or what `unspool export-format` wrote (JSON). Throws FormatError:
/// it is neither, or of another version, or cannot be compiled.
std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options = {});

/// The vocabulary's tokens that may be markers.
std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary);

}  // namespace unspool
