// Compiles the format for a request, from a format file or the output of `unspool export-format`.
// The latter may contain a response template, so this file is above both compilers.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "format/for_request.h"
#include "format/format.h"
#include "vocabulary/vocabulary.h"

namespace unspool {

struct FormatOptions {
  std::shared_ptr<const Vocabulary> vocabulary;  // of the token ids; null: the input is text only
  ToolUse tools = {};
  MarkerTrust trust = MarkerTrust::by_id;            // strict: not for a response template
  std::shared_ptr<const OtherFamilies> others = {};  // whose calls count too; not for a template
};

/// Reads a format file (TOML) or the output of `unspool export-format` (JSON). Throws FormatError
/// if it is neither, has another version, or cannot be compiled.
std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options = {});

/// The vocabulary's tokens that may be markers.
std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary);

}  // namespace unspool
