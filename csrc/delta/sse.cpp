#include "delta/sse.h"

namespace unspool {

void Framing::open(std::string_view event, std::string& out) const {
  if (!sse_) return;
  if (!event.empty()) out.append("event: ").append(event).append("\n");
  out += "data: ";
}

void Framing::done(std::string& out) const {
  if (sse_) out += "data: [DONE]\n\n";
}

void Framing::comment(std::string& out) const {
  // A list of JSON objects has no comments.
  if (sse_) out += ": keep-alive\n\n";
}

}  // namespace unspool
