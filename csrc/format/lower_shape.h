// Lowers a shape to the program that the parser runs. No text is looked at here.
#pragma once

#include <vector>

#include "format/program.h"
#include "format/shape.h"

namespace unspool {

/// Throws PatternError if the calls of the shape make no program.
Program lower_shape(const Shape& shape);

/// The slot of all alternatives of a parameter.
BodySlot lower_parameters(const std::vector<ParameterShape>& parameters);

/// The regions of all calls: alternatives that differ only in their markers are one region.
std::vector<CallRegion> lower_calls(const Shape& shape);

}  // namespace unspool
