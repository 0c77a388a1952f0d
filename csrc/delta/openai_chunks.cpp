#include "delta/openai_chunks.h"

#include <utility>

#include "text/json_escape.h"

namespace unspool {

OpenaiChunks::OpenaiChunks(WireOptions options, std::string_view id_prefix, std::string_view object)
    : WireWriter(std::move(options), id_prefix,
                 {"id", "object", "created", "model", "choices", "usage"}) {
  // Written once: it is the same in every chunk of the response.
  append_head(object, chunk_head_);
}

void OpenaiChunks::append_head(std::string_view object, std::string& out) const {
  out += "{\"id\":";
  append_json_line_string(options().id, out);
  append_field("object", object, out);
  append_field("created", options().created, out);
  append_field("model", options().model, out);
  out += extra();
}

void OpenaiChunks::do_end(const Ending& ending, std::string& out) {
  if (options().include_usage) {
    framing().open({}, out);
    // It belongs to no choice: a chunk of a choice after its finish would be joined to the answer.
    out.append(chunk_head_).append(",\"choices\":[],\"usage\":");
    append_openai_usage(ending.usage, out);
    out += '}';
    framing().close(out);
  }
  framing().done(out);
}

void OpenaiChunks::do_fail(const WireError& error, std::string& out) {
  framing().open({}, out);
  do_fail_whole(error, out);
  framing().close(out);
}

}  // namespace unspool
