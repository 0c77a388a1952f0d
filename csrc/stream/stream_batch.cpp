// A step of an engine brings one id for each running request. The streams are independent, so a
// step is a loop; all that is here beyond the loop saves time or keeps a step whole:
//
//   check       all slots and ids, before any stream changes: a step happens or it does not
//   run         in the caller's thread, or in shares of adjacent slots among a pool of threads
//   run_share   each share writes its own bytes and deltas, so threads share no memory
//   deliver     a lone fragment goes to the writer without a Delta
//   join        the bytes of all shares in the order of the slots
//
// A writer with several answers is one response: its slots are all fed by the caller's thread,
// after the others.
#include "stream/stream_batch.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

// A thread takes about 30 µs to wake. With fewer ids per thread it is not worth it.
constexpr std::size_t kIdsOfShare = 384;

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

StreamBatch::StreamBatch(unsigned thread_count) : thread_count_(std::max(thread_count, 1U)) {}

StreamBatch::~StreamBatch() {
  if (pool_ && !pool_->is_alive()) WorkerPool::abandon(std::move(pool_));
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
  if (stream->writer && stream->writer->options().n > 1) {
    stream->shares_writer = true;
    ++shared_count_;
  }
  // The lowest one, so that slots stay as dense as the requests.
  auto free = std::find(streams_.begin(), streams_.end(), nullptr);
  if (free == streams_.end()) free = streams_.emplace(free);
  *free = std::move(stream);
  ++size_;
  return static_cast<Slot>(free - streams_.begin());
}

void StreamBatch::remove(Slot slot) {
  if (at(slot).shares_writer) --shared_count_;
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
  result->join();
  return result;
}

std::shared_ptr<BatchResult> StreamBatch::finish(Slot slot, FinishReason reason) {
  Stream& stream = at(slot);
  check_one(slot, stream);
  std::shared_ptr<BatchResult> result = new_result();
  result->restart(std::span(&slot, 1), 1);
  result->entries_.front() = {};
  stream.streamer.read(std::nullopt, std::nullopt, reason);
  deliver(stream, result->parts_[0], result->entries_[0]);
  result->entries_[0].has_ended = true;
  result->join();
  return result;
}

std::shared_ptr<BatchResult> StreamBatch::rollback(Slot slot, std::size_t count) {
  Stream& stream = at(slot);
  check_one(slot, stream);
  if (stream.writer) {
    throw ArgumentError(named(slot) +
                        " has a writer, whose bytes are not taken back; add it without a writer");
  }
  std::shared_ptr<BatchResult> result = new_result();
  stream.streamer.read_rollback(count);
  result->restart(std::span(&slot, 1), 1);
  result->entries_.front() = {};
  deliver(stream, result->parts_[0], result->entries_[0]);
  result->join();
  return result;
}

void StreamBatch::run(const Step& step, BatchResult& result) {
  // By ids and not by slots: a step of speculative decoding may have many ids per slot.
  const std::size_t wanted = std::min<std::size_t>(thread_count_, step.ids.size() / kIdsOfShare);
  if (wanted < 2) {
    result.restart(step.slots, 1);
    run_share(step, 0, 1, result);
  } else {
    if (pool_ && !pool_->is_alive()) WorkerPool::abandon(std::move(pool_));
    // At the first step that is large enough; most batches never need it.
    if (!pool_) pool_ = std::make_unique<WorkerPool>(thread_count_ - 1);
    const unsigned share_count =
        static_cast<unsigned>(std::min<std::size_t>(wanted, pool_->share_count()));
    result.restart(step.slots, share_count);
    const auto work = [&](unsigned share) {
      if (share < share_count) run_share(step, share, share_count, result);
    };
    pool_->run(std::ref(work));  // does not copy it
  }
  for (const BatchResult::Part& part : result.parts_) {
    // After all shares are done: they still use the result.
    if (part.failure) std::rethrow_exception(part.failure);
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

// Adjacent slots belong to one thread. Those that share a writer belong to the caller.
void StreamBatch::run_share(const Step& step, unsigned share, unsigned share_count,
                            BatchResult& result) {
  BatchResult::Part& part = result.parts_[share];
  const std::size_t begin = step.slots.size() * share / share_count;
  const std::size_t end = step.slots.size() * (share + 1) / share_count;
  const auto run_those = [&](std::size_t from, std::size_t to, bool shared) {
    for (std::size_t i = from; i < to; ++i) {
      Stream& stream = *streams_[static_cast<std::size_t>(step.slots[i])];
      if (i + 1 < to) prefetch(*streams_[static_cast<std::size_t>(step.slots[i + 1])]);
      // The first pass leaves out the slots that share a writer, the second one all others.
      if (share_count > 1 && stream.shares_writer != shared) continue;
      result.entries_[i].part = share;
      const std::span<const TokenId> ids = step.ids_of(i);
      if (stream.is_plain) {
        feed_plain(stream, ids.front(), part, result.entries_[i]);
      } else {
        feed(stream, ids, part, result.entries_[i]);
      }
    }
  };
  try {
    run_those(begin, end, false);
    if (share == 0 && share_count > 1 && shared_count_ > 0) run_those(0, step.slots.size(), true);
  } catch (...) {
    // An exception that leaves a worker's function would end the process.
    part.failure = std::current_exception();
  }
}

void StreamBatch::feed(Stream& stream, std::span<const TokenId> ids, BatchResult::Part& part,
                       BatchResult::Entry& entry) {
  stream.streamer.read_put(ids, false);
  deliver(stream, part, entry);
  // Ids after an end token have been read like any others: the host decides what becomes of the
  // slot.
  entry.has_ended =
      stream.streamer.stream().is_stopped() || std::any_of(ids.begin(), ids.end(), [&](TokenId id) {
        return std::find(stream.end_ids.begin(), stream.end_ids.end(), id) != stream.end_ids.end();
      });
}

// The path of nearly every token: no event, and the frame of the one before it.
void StreamBatch::feed_plain(Stream& stream, TokenId id, BatchResult::Part& part,
                             BatchResult::Entry& entry) {
  const TextFragment fragment = stream.streamer.put_plain(id);
  entry.has_ended = false;
  entry.deltas_begin = entry.deltas_end = part.delta_count;
  entry.bytes_begin = part.bytes.size();
  if (!stream.writer->write_next(fragment, part.bytes) && !fragment.text.empty())
    write(stream, fragment, part);
  entry.bytes_end = part.bytes.size();
}

// Without a frame, or with text that has to be escaped first.
void StreamBatch::write(Stream& stream, const TextFragment& fragment, BatchResult::Part& part) {
  part.written.clear();
  if (!stream.writer->write_next(fragment, part.written)) {
    Delta delta;
    fill(delta, fragment);
    stream.writer->write(delta, part.written);
  }
  part.bytes.append(part.written);
}

void StreamBatch::deliver(Stream& stream, BatchResult::Part& part, BatchResult::Entry& entry) {
  const std::size_t first = part.delta_count;
  entry.bytes_begin = part.bytes.size();
  part.written.clear();
  // No Delta, no token ids.
  if (!stream.keeps_deltas) {
    const std::optional<TextFragment> fragment = stream.streamer.only_fragment();
    if (fragment && stream.writer->write_next(*fragment, part.written)) {
      part.bytes.append(part.written);
      entry.bytes_end = part.bytes.size();
      entry.deltas_begin = entry.deltas_end = first;
      return stream.streamer.release();
    }
  }
  const std::size_t count = stream.streamer.delta_count();
  // Never smaller: the entries keep the memory of their texts for the next step.
  if (part.deltas.size() < first + count) part.deltas.resize(first + count);
  part.used_count = std::max(part.used_count, first + count);
  const std::span<Delta> deltas = std::span(part.deltas).subspan(first, count);
  for (std::size_t i = 0; i < count; ++i)
    stream.streamer.take_into(i, deltas[i], stream.keeps_deltas);
  if (stream.writer) stream.writer->write_many(std::span<const Delta>(deltas), part.written);
  part.bytes.append(part.written);
  entry.bytes_end = part.bytes.size();
  entry.deltas_begin = first;
  // Deltas that only the writer needed are overwritten by the next slot's.
  entry.deltas_end = stream.keeps_deltas ? first + count : first;
  part.delta_count = entry.deltas_end;
  stream.streamer.release();
}

}  // namespace unspool
