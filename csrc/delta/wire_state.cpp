// Serializes a response writer's state with an Archive.
#include <string>
#include <utility>

#include "delta/wire_writer.h"
#include "text/error.h"

namespace unspool {

namespace {

// All options except `id` and `created`, which the writer may have chosen itself.
std::uint64_t fingerprint_of(const WireOptions& options) {
  std::uint64_t hash = unspool::fingerprint_of(options.model);
  hash = unspool::fingerprint_of(options.extra, hash);
  for (const std::string& name : options.custom_tools) hash = unspool::fingerprint_of(name, hash);
  std::string rest;
  Archive archive(rest);
  std::int32_t n = options.n;
  bool stream = options.stream, sse = options.sse, include_usage = options.include_usage,
       stream_arguments = options.stream_arguments;
  std::uint64_t prompt_tokens = options.prompt_token_count;
  archive(n, stream, sse, include_usage, stream_arguments, prompt_tokens);
  rest += static_cast<char>(options.reasoning_field);
  rest += static_cast<char>(options.reasoning_events);
  rest += static_cast<char>(options.incomplete_calls);
  return unspool::fingerprint_of(rest, hash);
}

}  // namespace

void WireWriter::visit(Archive& archive) {
  archive.given(options_, framing_, extra_, extra_names_);
  // Nothing of a half write is saved: between two writes no frame is open.
  archive.scratch(next_orders_, whole_, last_, frame_);  // the first write is a whole one
  archive.choice(state_, State::ended);
  const std::size_t count = answers_.size();
  archive(orders_, answers_);
  archive.expect(orders_.size() == count && answers_.size() == count);
  for (const Order& order : orders_) {
    // A forged count would overflow at the next call.
    archive.expect(order.call_count >= 0 && order.call_count < (1 << 30));
  }
  visit_own(archive);
}

std::string WireWriter::snapshot() const {
  std::string state;
  Archive archive(state);
  // First, and readable without the writer: the id is needed to create it.
  std::string id = options_.id;
  std::int64_t created = options_.created;
  archive(id, created);
  archive.same("choice of options", fingerprint_of(options_));
  const_cast<WireWriter*>(this)->visit(archive);  // writing changes nothing
  return state;
}

std::unique_ptr<WireWriter> restore_wire_writer(std::string_view state, WireProtocol protocol,
                                                WireOptions options) {
  Archive archive(state);
  std::string id;
  std::int64_t created = 0;
  archive(id, created);
  archive.same("choice of options", fingerprint_of(options));
  if ((!options.id.empty() && options.id != id) ||
      (options.created != 0 && options.created != created)) {
    throw ArgumentError("id or created is not that of the snapshot; leave them out");
  }
  options.id = std::move(id);
  options.created = created;
  std::unique_ptr<WireWriter> writer = make_wire_writer(protocol, std::move(options));
  writer->visit(archive);
  archive.end();
  return writer;
}

}  // namespace unspool
