// A step of an engine brings one id for each running request. The streams are independent, so a
// step is a loop; all that is here beyond the loop saves time or keeps a step whole:
//
//   check       all slots and ids, before any stream changes: a step happens or it does not
//   run         feeds each slot in turn; bytes and deltas of all slots are in one result
//   feed_plain  the path of nearly every id: no event, and the frame of the one before it
//   deliver     a lone fragment goes to the writer without a Delta
//
// A step is short: 4,096 streams take less time than an engine needs to choose their next ids. Two
// threads make it longer, since both write to what the other one reads.
#include "stream/stream_batch.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

std::string named(Slot slot) { return "slot " + std::to_string(slot); }

/// The tokens that end an answer: the format's, and the caller's.
std::vector<TokenId> end_ids(const Format& format, std::vector<TokenId> ids) {
  // Only as tokens: a text that spells an end token does not end the answer.
  const std::vector<std::string>& ends = format.program().ends;
  for (const MarkerToken& token : format.symbols()) {
    if (std::find(ends.begin(), ends.end(), token.text) != ends.end()) ids.push_back(token.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

/// The arguments of a step.
struct StreamBatch::Step {
  std::span<const Slot> slots;
  std::span<const TokenId> ids;
  std::optional<std::span<const std::int64_t>> offsets;

  std::span<const TokenId> ids_of(std::size_t i) const {
    if (!offsets) return ids.subspan(i, 1);
    const auto begin = static_cast<std::size_t>((*offsets)[i]);
    return ids.subspan(begin, static_cast<std::size_t>((*offsets)[i + 1]) - begin);
  }
  void check_shape() const;
};

void StreamBatch::Step::check_shape() const {
  if (!offsets) {
    if (slots.size() == ids.size()) return;
    throw ArgumentError("there are " + std::to_string(slots.size()) + " slots and " +
                        std::to_string(ids.size()) +
                        " ids; pass an id for each slot, or offsets too");
  }
  // Before they are used: the arrays come from the host as they are.
  if (offsets->size() != slots.size() + 1) {
    throw ArgumentError("there are " + std::to_string(slots.size()) + " slots and " +
                        std::to_string(offsets->size()) +
                        " offsets; pass one more offset than slots");
  }
  std::int64_t last = 0;
  for (const std::int64_t offset : *offsets) {
    if (offset < last) throw ArgumentError("offsets go down; each is where a slot's ids begin");
    last = offset;
  }
  if (offsets->front() != 0 || static_cast<std::size_t>(last) != ids.size()) {
    throw ArgumentError("offsets go from " + std::to_string(offsets->front()) + " to " +
                        std::to_string(last) + ", and there are " + std::to_string(ids.size()) +
                        " ids; pass 0 first, and the number of ids last");
  }
}

StreamBatch::Stream& StreamBatch::at(Slot slot) const {
  if (slot < 0 || static_cast<std::size_t>(slot) >= streams_.size() ||
      !streams_[static_cast<std::size_t>(slot)]) {
    throw ArgumentError(named(slot) + " is free; `add` makes a stream in a slot");
  }
  return *streams_[static_cast<std::size_t>(slot)];
}

const TokenStreamer& StreamBatch::stream(Slot slot) const { return at(slot).streamer; }

void StreamBatch::check_writer(const SlotOptions& options) const {
  if (options.writer->has_ended())
    throw StreamError("this writer's response has ended; create a new WireWriter");
  if (options.choice >= options.writer->options().n) {
    throw ArgumentError("choice is " + std::to_string(options.choice) + ", and the writer's n is " +
                        std::to_string(options.writer->options().n));
  }
  for (const auto& stream : streams_) {
    if (!stream || stream->writer != options.writer) continue;
    // Two slots of one choice would write their deltas into one answer.
    if (stream->streamer.choice() != options.choice) continue;
    throw ArgumentError("another slot has this writer and choice " +
                        std::to_string(options.choice) + "; give each answer a choice of its own");
  }
}

Slot StreamBatch::add(const StreamRecipe& recipe, SlotOptions options) {
  if (options.writer) check_writer(options);
  if (options.writer && options.writer->has_answer(options.choice)) {
    throw ArgumentError("the writer has deltas of choice " + std::to_string(options.choice) +
                        " already; give each answer a choice of its own");
  }
  TokenStreamerOptions streamer_options = recipe.options;
  if (!streamer_options.stream.vocabulary)
    throw ArgumentError("a batch of token ids needs a tokenizer; pass tokenizer=");
  streamer_options.stream.parser.choice = options.choice;
  options.end_ids = end_ids(*recipe.format, std::move(options.end_ids));
  TokenStreamer streamer(recipe.format, std::move(streamer_options));
  // Before a slot is taken: it throws for a prompt that cannot be read.
  put_prompt(recipe, streamer);
  return place(std::move(streamer), std::move(options));
}

Slot StreamBatch::fork(Slot slot, SlotOptions options) {
  if (options.writer) check_writer(options);
  const Stream& stream = at(slot);
  options.end_ids = stream.end_ids;
  return place(stream.streamer.fork(nullptr, options.choice), std::move(options));
}

// `options.end_ids` are complete and sorted.
Slot StreamBatch::place(TokenStreamer streamer, SlotOptions options) {
  const bool keeps_deltas = options.keeps_deltas || !options.writer;
  std::unique_ptr<Stream> stream(new Stream{.writer = std::move(options.writer),
                                            .keeps_deltas = keeps_deltas,
                                            .streamer = std::move(streamer),
                                            .end_ids = std::move(options.end_ids)});
  const auto is_text = [&](TokenId id) { return stream->streamer.stream().is_text(id); };
  stream->feeds_plain = !keeps_deltas && stream->streamer.passes_plain() &&
                        std::none_of(stream->end_ids.begin(), stream->end_ids.end(), is_text);
  // The lowest one, so that slots stay as dense as the requests.
  auto free = std::find(streams_.begin(), streams_.end(), nullptr);
  if (free == streams_.end()) free = streams_.emplace(free);
  *free = std::move(stream);
  ++size_;
  return static_cast<Slot>(free - streams_.begin());
}

void StreamBatch::remove(Slot slot) {
  static_cast<void>(at(slot));
  streams_[static_cast<std::size_t>(slot)] = nullptr;
  --size_;
}

void StreamBatch::check_one(Slot slot, const Stream& stream) const {
  if (stream.streamer.stream().is_finished())
    throw StreamError(named(slot) + " has finished; remove it, and add the next request");
  if (stream.writer && stream.writer->has_ended())
    throw StreamError("the response of " + named(slot) + " has ended; remove it");
}

void StreamBatch::check(const Step& step) {
  step.check_shape();
  ++step_count_;
  for (std::size_t i = 0; i < step.slots.size(); ++i) {
    const Slot slot = step.slots[i];
    Stream& stream = at(slot);
    // A number per step finds a slot that is named twice, without a set.
    if (std::exchange(stream.last_step, step_count_) == step_count_) {
      throw ArgumentError(named(slot) +
                          " is in this step twice; pass its ids together, with offsets");
    }
    const std::span<const TokenId> ids = step.ids_of(i);
    stream.is_plain = stream.feeds_plain && ids.size() == 1 &&
                      stream.streamer.stream().is_plain(ids.front()) && !stream.writer->has_ended();
    if (stream.is_plain) continue;
    check_one(slot, stream);
    try {
      stream.streamer.stream().check_ids(ids, false);
    } catch (const ArgumentError& error) {
      throw ArgumentError(named(slot) + ": " + error.what());
    }
  }
}

std::shared_ptr<BatchResult> StreamBatch::new_result() {
  std::shared_ptr<BatchResult>* place = &results_.back();  // any other holder keeps it
  for (std::shared_ptr<BatchResult>& result : results_) {
    // A host reads the result of a step while the next one runs, so two are enough, and no step
    // allocates.
    if (!result || result.use_count() == 1) place = &result;
  }
  if (!*place || place->use_count() > 1) *place = std::make_shared<BatchResult>();
#ifndef __SANITIZE_THREAD__                             // which does not support fences
  std::atomic_thread_fence(std::memory_order_acquire);  // another thread may have read it last
#endif
  return *place;
}

std::shared_ptr<BatchResult> StreamBatch::step(
    std::span<const Slot> slots, std::span<const TokenId> ids,
    std::optional<std::span<const std::int64_t>> offsets) {
  const Step step{slots, ids, offsets};
  check(step);
  std::shared_ptr<BatchResult> result = new_result();
  run(step, *result);
  return result;
}

std::shared_ptr<BatchResult> StreamBatch::finish(Slot slot, FinishReason reason) {
  Stream& stream = at(slot);
  check_one(slot, stream);
  stream.streamer.read(std::nullopt, std::nullopt, reason);
  std::shared_ptr<BatchResult> result = result_of(slot, stream);
  result->ended_.push_back(slot);
  return result;
}

std::shared_ptr<BatchResult> StreamBatch::rollback(Slot slot, std::size_t count) {
  Stream& stream = at(slot);
  check_one(slot, stream);
  if (stream.writer) {
    throw ArgumentError(named(slot) +
                        " has a writer, whose bytes are not taken back; add it without a writer");
  }
  stream.streamer.read_rollback(count);
  return result_of(slot, stream);
}

// The result of one slot that has been read.
std::shared_ptr<BatchResult> StreamBatch::result_of(Slot slot, Stream& stream) {
  std::shared_ptr<BatchResult> result = new_result();
  result->restart(std::span(&slot, 1));
  deliver(stream, *result);
  result->end_slot(0);
  return result;
}

void StreamBatch::run(const Step& step, BatchResult& result) {
  result.restart(step.slots);
  const std::size_t count = step.slots.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Slot slot = step.slots[i];
    Stream& stream = *streams_[static_cast<std::size_t>(slot)];
    if (i + 1 < count) prefetch(*streams_[static_cast<std::size_t>(step.slots[i + 1])]);
    const std::span<const TokenId> ids = step.ids_of(i);
    if (stream.is_plain) {
      feed_plain(stream, ids.front(), result);
    } else if (feed(stream, ids, result)) {
      result.ended_.push_back(slot);
    }
    result.end_slot(i);
  }
}

// Prefetches a stream from memory while the one before it is fed.
void StreamBatch::prefetch([[maybe_unused]] const Stream& stream) {
#if defined(__GNUC__)
  const char* const bytes = reinterpret_cast<const char*>(&stream);
  constexpr std::size_t kOfPlainIds = std::min<std::size_t>(sizeof(Stream), 384);
  for (std::size_t i = 0; i < kOfPlainIds; i += 64) __builtin_prefetch(bytes + i, 1);
#endif
}

// Returns whether the answer has ended. Ids after an end token are read like any others: the host
// decides what becomes of the slot.
bool StreamBatch::feed(Stream& stream, std::span<const TokenId> ids, BatchResult& result) {
  stream.streamer.read_put(ids, false);
  deliver(stream, result);
  return stream.streamer.stream().is_stopped() ||
         std::any_of(ids.begin(), ids.end(), [&](TokenId id) {
           return std::find(stream.end_ids.begin(), stream.end_ids.end(), id) !=
                  stream.end_ids.end();
         });
}

void StreamBatch::feed_plain(Stream& stream, TokenId id, BatchResult& result) {
  const TextFragment fragment = stream.streamer.put_plain(id);
  if (!stream.writer->write_next(fragment, result.bytes_) && !fragment.text.empty())
    write(stream, fragment, result);
}

// Without a frame, or with text that has to be escaped first.
void StreamBatch::write(Stream& stream, const TextFragment& fragment, BatchResult& result) {
  result.written_.clear();
  if (!stream.writer->write_next(fragment, result.written_)) {
    Delta delta;
    fill(delta, fragment);
    stream.writer->write(delta, result.written_);
  }
  result.bytes_.append(result.written_);
}

void StreamBatch::deliver(Stream& stream, BatchResult& result) {
  result.written_.clear();
  // No Delta, no token ids.
  if (!stream.keeps_deltas) {
    const std::optional<TextFragment> fragment = stream.streamer.only_fragment();
    if (fragment && stream.writer->write_next(*fragment, result.written_)) {
      result.bytes_.append(result.written_);
      return stream.streamer.release();
    }
  }
  const std::size_t first = result.delta_count_;
  const std::size_t count = stream.streamer.delta_count();
  // Never smaller: the entries keep the memory of their texts for the next step.
  if (result.deltas_.size() < first + count) result.deltas_.resize(first + count);
  result.used_count_ = std::max(result.used_count_, first + count);
  const std::span<Delta> deltas = std::span(result.deltas_).subspan(first, count);
  for (std::size_t i = 0; i < count; ++i)
    stream.streamer.take_into(i, deltas[i], stream.keeps_deltas);
  if (stream.writer) stream.writer->write_many(std::span<const Delta>(deltas), result.written_);
  result.bytes_.append(result.written_);
  // Deltas that only the writer needed are overwritten by the next slot's.
  if (stream.keeps_deltas) result.delta_count_ = first + count;
  stream.streamer.release();
}

}  // namespace unspool
