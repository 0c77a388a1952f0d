#include "parser/call_writer.h"

namespace unspool {

void CallWriter::begin(std::string_view name, std::string_view id, const ToolSchema* schema,
                       std::uint64_t token_end, Events& out) {
  ++place_.index;
  is_open_ = true;
  guard_.reset(schema);
  id_ = id;
  if (id_.empty()) ids_.append(name, static_cast<std::uint32_t>(place_.index), id_);
  out.add_begin(place_.index, name, id_, token_end);
}

void CallWriter::end(std::uint16_t repairs, std::uint64_t token_end, Events& out) {
  if (!guard_.is_whole() && !guard_.has_failed()) {
    out.add_text(EventKind::malformed, place_.index, {}, token_end, guard_.problem());
  }
  end(guard_.is_whole() ? CallStatus::complete : CallStatus::malformed, repairs, token_end, out);
}

void CallWriter::end(CallStatus status, std::uint16_t repairs, std::uint64_t token_end,
                     Events& out) {
  if (guard_.has_failed()) status = CallStatus::malformed;
  const bool is_complete = status == CallStatus::complete;
  const int mended = is_complete ? guard_.repairs() | repairs : 0;
  place_.tally.put(status);
  out.add_end(place_.index, status, token_end, static_cast<std::uint16_t>(mended));
  is_open_ = false;
}

}  // namespace unspool
