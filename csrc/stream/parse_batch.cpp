#include "stream/parse_batch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

// How many outputs a thread takes at a time: enough to amortize that, few enough to share the work.
constexpr std::size_t kBlock = 32;

ParsedOutput parse_output(const StreamRecipe& recipe, const Output& output, Events& events) {
  events.restart();
  // One per output: no state of an answer can reach the next one.
  ChunkParser parser(recipe.format, recipe.options.stream);
  put_prompt(recipe, parser);
  if (output.has_ids && recipe.options.stream.parser.audit) {
    parser.put_ids(output.ids, events);  // so that the audit has the pieces of a stream
  } else if (output.has_ids) {
    parser.put_output(output.ids, events);
  } else {
    parser.put_text(output.text, events);
  }
  parser.finish(output.finish_reason, events);
  ParsedOutput parsed;
  parsed.message = parser.take_message();
  parsed.token_counts = parser.token_counts();
  parsed.extra = parser.extra();
  if (recipe.options.stream.parser.audit) append_audit(events.audit(), parsed.audit);
  parsed.labels = parser.take_labels();
  return parsed;
}

}  // namespace

void check_ids(const StreamRecipe& recipe, std::span<const Output> outputs) {
  const auto& vocabulary = recipe.options.stream.vocabulary;
  for (std::size_t i = 0; recipe.format->is_strict() && i < outputs.size(); ++i) {
    if (!outputs[i].has_ids)
      throw ArgumentError("outputs[" + std::to_string(i) + "]: " + strict_text_message());
  }
  // Then every id is readable.
  if (vocabulary && vocabulary->unknown() == UnknownId::ignored) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!vocabulary && !outputs[i].ids.empty()) {
      throw ArgumentError("outputs[" + std::to_string(i) + "]: " + lone_ids_message());
    }
    for (const TokenId id : outputs[i].ids) {
      if (vocabulary->is_known(id)) continue;
      throw ArgumentError("outputs[" + std::to_string(i) +
                          "]: " + unknown_id_message(id, *vocabulary));
    }
  }
}

std::vector<ParsedOutput> parse_batch(const StreamRecipe& recipe, std::span<const Output> outputs,
                                      unsigned thread_count) {
  std::vector<ParsedOutput> parsed(outputs.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      Events events;
      for (std::size_t begin = next.fetch_add(kBlock); begin < outputs.size();
           begin = next.fetch_add(kBlock)) {
        const std::size_t end = std::min(begin + kBlock, outputs.size());
        for (std::size_t i = begin; i < end; ++i) {
          parsed[i] = parse_output(recipe, outputs[i], events);
        }
      }
    } catch (...) {
      // Any of several failures will do: they are all out of memory.
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  // No more threads than there is work for.
  const std::size_t block_count = (outputs.size() + kBlock - 1) / kBlock;
  const std::size_t worker_count = std::min<std::size_t>(thread_count, block_count);
  std::vector<std::thread> threads;  // Apple's libc++ has no jthread
  threads.reserve(worker_count);     // so that a start fails with system_error only
  for (std::size_t i = 1; i < worker_count; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the system allows no more: the existing threads do the work
    }
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return parsed;
}

}  // namespace unspool
