// Properties of a format for hosts: its markers, and how calls and reasoning begin and end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/program.h"

namespace unspool {

struct ReasoningFacts {
  std::vector<std::string> openers, closers;
  std::string label;         // optional markup after an opener
  bool starts_open = false;  // the output starts inside reasoning if the prompt is unknown
  CallsInReasoning calls{};  // handling of a call inside reasoning
};

/// Markup with its own end; its text may decide what follows.
struct HeaderFacts {
  std::vector<std::string> openers, closers;
  bool names_tool = false;  // its text is the name of the called tool
  bool is_inline = false;   // it occurs within a text, which continues after it
};

/// One form of a call.
struct CallFacts {
  std::vector<std::string> openers, closers;
  BarePlace bare{};               // where the call may begin without an opener
  std::string first_letters;      // of a call without an opener; empty: any
  bool after_header = false;      // a header announces the call
  bool may_be_content = false;    // the text is a call only if it parses as one
  bool needs_known_tool = false;  // the call must name one of the request's tools
  BodyKind body{};                // the notation of the arguments
};

struct FormatFacts {
  std::vector<std::string> markers;  // all texts that open or close something, sorted
  std::vector<std::string>
      marker_tokens;  // the markers that a tokenizer for this format would have as single tokens
  std::vector<std::string> ends;  // the markers that end an answer
  std::optional<ReasoningFacts> reasoning;
  std::vector<HeaderFacts> headers;
  std::vector<std::string> dropped;  // markup that is dropped wherever it occurs
  std::vector<std::string> section_openers, section_closers;  // around all calls
  std::vector<CallFacts> calls;
  CallIdStyle call_ids{};
};

FormatFacts facts_of(const Program& program);

}  // namespace unspool
