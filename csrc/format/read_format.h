// Compiles the format for a request, from a format file or the output of `unspool export-format`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/format.h"
#include "vocabulary/vocabulary.h"

namespace unspool {

/// How a request's tools affect parsing.
struct ToolUse {
  bool is_on = true;         // false: calls are content
  bool is_required = false;  // some tool must be called: the output may be a bare list of calls
  std::string name = {};     // the tool that must be called: the output may be its bare arguments
  bool unmarked = false;     // a JSON object without markers is a call if it matches a tool
};

/// The reasoning that is read.
struct ReasoningUse {
  bool is_on = true;                  // false: reasoning tags are content
  std::optional<Program> other = {};  // another format's reasoning, in place of its own
  std::optional<CallsInReasoning> calls =
      {};  // handling of calls inside it; nullopt: the format decides
};

struct FormatOptions {
  std::shared_ptr<const Vocabulary> vocabulary;  // of the token ids; null: the input is text only
  ToolUse tools = {};
  MarkerTrust trust = MarkerTrust::by_id;  // strict: not for a response template
};

/// Adapts a format to a request's tools and reasoning.
Program for_tools(Program program, const ToolUse& tools);
Program with_reasoning(Program program, const ReasoningUse& reasoning);

/// Reads a format file (TOML) or the output of `unspool export-format` (JSON). Throws FormatError
/// if it is neither, has another version, or cannot be compiled.
std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options = {});

/// The vocabulary's tokens that may be markers.
std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary);

}  // namespace unspool
