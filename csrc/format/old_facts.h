// A format in the words of old files ([[call]], open = …), for migration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "format/program.h"

namespace unspool {

/// Pairs of a key's path and a value. A key that holds a list has one pair per item.
std::vector<std::pair<std::string, std::string>> old_facts(const Program& program);

}  // namespace unspool
