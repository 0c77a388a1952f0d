// Reads the name of a call if it is outside the body.
#pragma once

#include <string>
#include <string_view>

#include "format/program.h"
#include "format/tool_schemas.h"

namespace unspool {

struct CallName {
  std::string name;
  std::string id;        // empty if none is written
  bool is_name = false;  // false: the text is not a tool's name
  std::string inside;    // then: the only name of a tool that the text holds, or empty
};

/// Whether a call may have this name. A tool of the request (`tools`, or null) may have any.
bool is_call_name(std::string_view name, const ToolSchemas* tools);

CallName read_call_name(const CallRegion& call, std::string_view written, const ToolSchemas* tools);

/// The name without the call's prefix, whose beginning may be missing.
std::string_view without_prefix(const CallRegion& call, std::string_view name);

}  // namespace unspool
