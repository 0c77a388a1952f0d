// What a host asks of a format: its markers, and what calls and reasoning begin and end with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/program.h"

namespace unspool {

struct ReasoningFacts {
  std::vector<std::string> openers, closers;
  std::string label;         // may follow an opener, and is markup as a whole
  bool starts_open = false;  // the output starts inside it if the prompt is not known
  CallsInReasoning calls{};  // what becomes of a call inside it
};

/// Markup with an end of its own. What is written in it may decide what follows it.
struct HeaderFacts {
  std::vector<std::string> openers, closers;
  bool names_tool = false;  // what it says is the name of the tool that is called
  bool is_inline = false;   // it stands within a text, which continues after it
};

/// One form of a call.
struct CallFacts {
  std::vector<std::string> openers, closers;
  BarePlace bare{};               // where it may begin without an opener
  std::string first_letters;      // of a call without an opener; empty: any
  bool after_header = false;      // a header announces it
  bool may_be_content = false;    // text there may be content: it is a call only if it reads as one
  bool needs_known_tool = false;  // it must name one of the request's tools
  BodyKind body{};                // how its arguments are written
};

struct FormatFacts {
  std::vector<std::string> markers;        // all that opens or closes something, sorted
  std::vector<std::string> marker_tokens;  // what a tokenizer would hold of them as one token each
  std::vector<std::string> ends;           // what ends an answer
  std::optional<ReasoningFacts> reasoning;
  std::vector<HeaderFacts> headers;
  std::vector<std::string> dropped;                           // markup that stands alone
  std::vector<std::string> section_openers, section_closers;  // around all calls
  std::vector<CallFacts> calls;
  CallIdStyle call_ids{};
};

FormatFacts facts_of(const Program& program);

}  // namespace unspool
