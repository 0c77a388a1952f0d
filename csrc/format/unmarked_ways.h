// How a family writes a call without the markers around it: the tool's name, then the arguments
// (`unmarked_calls`).
//
//   <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>
//                      functions.f:0{…}      f{…}      f⏎{…}
//
// A parser of the family reads such a text once it has been given the opener.
#pragma once

#include <string>
#include <vector>

#include "format/program.h"

namespace unspool {

struct UnmarkedWay {
  Program program;         // its only call is this one
  std::string opener;      // what is missing
  std::string prefix;      // may precede the tool's name
  std::string after_name;  // the bytes that may follow it, behind white space
};

/// A call whose name is inside its body, or in the tag that opens it, is none of these.
std::vector<UnmarkedWay> unmarked_ways(const Program& program);

}  // namespace unspool
