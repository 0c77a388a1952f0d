// A description as JSON: what format files hold whose keys say how to read, not what is written.
#pragma once

#include "format/format_spec.h"
#include "text/json_value.h"

namespace unspool {

/// What `read_format_spec` reads; defaults are left out.
JsonValue describe(const FormatSpec& spec);

}  // namespace unspool
