// Reads a whole output: ids that only continue the text are read together.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "stream/chunk_parser.h"

namespace unspool {

namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 12;

}  // namespace

void ChunkParser::put_output(std::span<const TokenId> ids, Events& out) {
  // Labels need each token by itself. So does a stop string, after which nothing is read.
  if (!has_vocabulary() || labels_ || content_stop_) return put_ids(ids, out);
  begin(ids.empty() ? Input::none : Input::ids);
  const std::array<bool, 256>& quiet = format_->quiet_bytes();
  const auto is_quiet = [&](std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [&](char byte) { return quiet[static_cast<unsigned char>(byte)]; });
  };
  std::string run;          // the text of ids that are read together
  std::size_t count = 0;    // of them
  bool is_settled = false;  // the last token has changed only the text
  const auto end_run = [&] {
    if (count > 0) put_run(run, count, out);
    run.clear();
    count = 0;
  };
  for (const TokenId id : ids) {
    if (is_stopped()) break;
    if (count == 0 && is_plain(id)) {
      put_plain(id);
      continue;
    }
    leave_rest();
    if (vocabulary().is_added(id)) {
      end_run();
      put_id(id, out);
      is_settled = false;
      continue;
    }
    const std::size_t size = run.size();
    // Into the run itself, so that a token's text is not copied.
    detokenizer_->put(id, run);
    ids_.push_back(id);
    const std::string_view text = std::string_view(run).substr(size);
    // Nothing is held, and these bytes can neither begin a marker nor close anything: the region
    // cannot change, so counting the tokens together gives the same numbers.
    if (is_settled && size < kRunBytes && is_quiet(text)) {
      ++count;
      continue;
    }
    if (count > 0) put_run(std::string_view(run).substr(0, size), count, out);
    // The token that ends a run is read alone, since it may open or close a region.
    is_settled = put_run(text, 1, out);
    run.clear();
    count = 0;
    if (!is_settled) continue;
    // Plain ids add to the message themselves, after what is in it now.
    end_put(out);
    find_rest();
  }
  end_run();
  leave_rest();
  end_put(out);
}

// Reads the text of `count` tokens. Returns whether the region is unchanged and nothing is held.
bool ChunkParser::put_run(std::string_view text, std::size_t count, Events& out) {
  const Region before = parser_->region();
  token_count_ += count;
  if (!text.empty()) {
    end_special(out);
    parser_->put_text(text, token_count_, out);
  }
  this->count(before, count);
  const EventParser::Progress after = parser_->progress();
  return after.region == before && !after.is_undecided && held().bytes() == 0;
}

}  // namespace unspool
