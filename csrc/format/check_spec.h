// Whether a format's description says enough to be read.
#pragma once

#include "format/format_spec.h"

namespace unspool {

/// Throws FormatError: a part is missing, or there are too many.
void check_spec(const FormatSpec& spec);

}  // namespace unspool
