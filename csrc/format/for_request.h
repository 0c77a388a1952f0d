// Adapts a format's program to a request: its tools, and the reasoning that is read.
#pragma once

#include <optional>
#include <string>

#include "format/program.h"

namespace unspool {

/// How a request's tools affect parsing.
struct ToolUse {
  bool is_on = true;         // false: calls are content
  bool is_required = false;  // some tool must be called: the output may be a bare list of calls
  std::string name = {};     // the tool that must be called: the output may be its bare arguments
  bool unmarked = false;     // a call without markers is one if it names a tool
};

/// The reasoning that is read.
struct ReasoningUse {
  bool is_on = true;                  // false: reasoning tags are content
  std::optional<Program> other = {};  // another format's reasoning, in place of its own
  std::optional<CallsInReasoning> calls =
      {};  // handling of calls inside it; nullopt: the format decides
};

/// Adapts a format to a request's tools and reasoning.
Program for_tools(Program program, const ToolUse& tools);
Program with_reasoning(Program program, const ReasoningUse& reasoning);

}  // namespace unspool
