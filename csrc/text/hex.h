// Hexadecimal digits.
#pragma once

namespace unspool {

/// The digit's value, or -1 if it is not a digit.
inline int hex_value(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

}  // namespace unspool
