// The name of a call where it stands outside the body, as the format says that it is written.
#pragma once

#include <string>
#include <string_view>

#include "format/program.h"
#include "format/tool_schemas.h"

namespace unspool {

struct CallName {
  std::string name;
  std::string id;        // empty where none is written
  bool is_name = false;  // false: what is written is no tool's name
};

/// `tools`: the request's, or null. A name that it has may hold a space or a brace.
CallName read_call_name(const CallRegion& call, std::string_view written, const ToolSchemas* tools);

/// The name after the call's prefix, which may have lost its beginning.
std::string_view without_prefix(const CallRegion& call, std::string_view name);

}  // namespace unspool
