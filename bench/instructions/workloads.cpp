// Workloads for counting instructions: each feeds the same tokens to a part of the core.
//
// Usage: workloads FORMATS WORKLOAD [FOLDER]. FORMATS is the folder of the formats' files, FOLDER
// has what real_text.py writes for real text. It prints how many tokens `measured` has read. All
// setup is outside of `measured`, where callgrind counts (bench/instructions/count.py).
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "unspool.h"
#include "vocabulary/detokenizer.h"
#include "vocabulary/vocabulary_file.h"

namespace {

using namespace unspool;

constexpr std::size_t kTokens = 4096;

constexpr std::array kWords = {"the",    "value",   "index", "total", " name", " path",
                               " left",  " right",  " of",   " node", " text", " token",
                               " count", " größer", " 世界", " -",    " a",    " is",
                               ",",      ".",       " (x)",  " {",    "}",     " \\n"};
constexpr std::array kMarkers = {"<think>", "</think>", "<tool_call>", "</tool_call>",
                                 "<|im_end|>"};

/// Bytes, words, and the markers as tokens.
std::shared_ptr<const Vocabulary> make_vocabulary() {
  VocabularySource source;
  source.is_bytes = true;
  TokenId id = 0;
  for (; id < 256; ++id) source.tokens.emplace_back(id, std::string(1, static_cast<char>(id)));
  for (const char* word : kWords) source.tokens.emplace_back(id++, word);
  for (const char* marker : kMarkers) source.added.push_back({id++, marker, marker, true});
  return std::make_shared<const Vocabulary>(std::move(source));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << "there is no file " << path << "\n";
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What the workloads read.
class Input {
 public:
  explicit Input(std::string folder) : vocabulary(make_vocabulary()), folder_(std::move(folder)) {}

  std::shared_ptr<const Format> format(std::string_view name) const {
    return read_format(read_file(folder_ + "/" + std::string(name) + ".toml"), {vocabulary});
  }

  StreamRecipe recipe(std::string_view name) const {
    StreamRecipe made;
    made.format = format(name);
    made.options.stream.vocabulary = vocabulary;
    made.options.stream.keeps_message = false;
    made.options.stream.parser.id_seed = 1;
    return made;
  }

  /// A text before the words, as markers and bytes.
  std::vector<TokenId> ids(std::string_view before) const {
    std::vector<TokenId> made;
    while (!before.empty()) {
      std::size_t size = 1;
      TokenId id = static_cast<unsigned char>(before[0]);
      for (const AddedToken& token : vocabulary->added_tokens()) {
        if (before.starts_with(token.content)) {
          id = token.id;
          size = token.content.size();
        }
      }
      made.push_back(id);
      before.remove_prefix(size);
    }
    std::uint32_t seed = 1;
    while (made.size() < kTokens) {
      seed = seed * 1664525 + 1013904223;
      made.push_back(256 + (seed >> 16) % static_cast<std::uint32_t>(kWords.size()));
    }
    return made;
  }

  std::shared_ptr<const Vocabulary> vocabulary;

 private:
  std::string folder_;
};

constexpr std::string_view kJsonCall =
    "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"text\": \"";
constexpr std::string_view kTaggedCall = "<tool_call>\n<function=write>\n<parameter=text>\n";

/// Returns how many tokens it has read.
using Work = std::function<std::size_t()>;

Work detokenize(const Input& input) {
  return [ids = input.ids({}), detokenizer = std::make_shared<Detokenizer>(input.vocabulary)] {
    std::string out;
    for (const TokenId id : ids) {
      out.clear();
      detokenizer->put(id, out);
    }
    return ids.size();
  };
}

/// One id a call, deltas out.
Work deltas(const Input& input, std::string_view format, std::string_view before) {
  const StreamRecipe recipe = input.recipe(format);
  auto streamer = std::make_shared<TokenStreamer>(recipe.format, recipe.options);
  return [ids = input.ids(before), streamer] {
    for (const TokenId id : ids) streamer->put(id);
    return ids.size();
  };
}

SlotOptions chat_slot() {
  WireOptions wire;
  wire.model = "model";
  wire.id = "chatcmpl-1";
  wire.created = 1;
  SlotOptions options;
  options.writer = make_wire_writer(WireProtocol::chat_completions, wire);
  return options;
}

/// An engine's steps: bytes of 256 streams.
Work step(const Input& input) {
  constexpr std::size_t kStreams = 256;
  auto batch = std::make_shared<StreamBatch>();
  std::vector<Slot> slots;
  std::vector<std::vector<TokenId>> rows;
  for (std::size_t i = 0; i < kStreams; ++i) {
    const bool calls = i % 2 == 0;
    slots.push_back(batch->add(input.recipe("hermes"), chat_slot()));
    rows.push_back(input.ids(calls ? kJsonCall : ""));
    rows.back().resize(kTokens / kStreams * 16);
  }
  return [=] {
    std::vector<TokenId> ids(kStreams);
    for (std::size_t place = 0; place < rows[0].size(); ++place) {
      for (std::size_t i = 0; i < kStreams; ++i) ids[i] = rows[i][place];
      batch->step(slots, ids);
    }
    return rows[0].size() * kStreams;
  };
}

/// Real text with a real vocabulary: bytes of 64 streams, each at another place of the text.
Work real_step(const std::string& formats, const std::string& folder, const std::string& name) {
  constexpr std::size_t kStreams = 64;
  const auto vocabulary = read_vocabulary(read_file(folder + "/vocabulary"));
  std::istringstream file(read_file(folder + "/" + name));
  std::string format;
  file >> format;
  const std::vector<TokenId> ids{std::istream_iterator<TokenId>(file), {}};
  StreamRecipe recipe;
  recipe.format = read_format(read_file(formats + "/" + format + ".toml"), {vocabulary});
  recipe.options.stream.vocabulary = vocabulary;
  recipe.options.stream.keeps_message = false;
  recipe.options.stream.parser.id_seed = 1;
  auto batch = std::make_shared<StreamBatch>();
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < kStreams; ++i) {
    slots.push_back(batch->add(recipe, chat_slot()));
    // Outside of `measured`: streams are not in step.
    for (std::size_t at = 0; at < 3 * i && at < ids.size(); ++at)
      batch->step({&slots.back(), 1}, {&ids[at], 1});
  }
  return [=] {
    std::vector<TokenId> row(kStreams);
    const std::size_t count = ids.size() - 3 * kStreams;
    for (std::size_t place = 0; place < count; ++place) {
      for (std::size_t i = 0; i < kStreams; ++i) row[i] = ids[place + 3 * i];
      batch->step(slots, row);
    }
    return count * kStreams;
  };
}

Work whole_outputs(const Input& input) {
  auto recipe = std::make_shared<StreamRecipe>(input.recipe("hermes"));
  return [ids = input.ids(kJsonCall), recipe] {
    const Output output{{}, ids, true, FinishReason::stop};
    parse_batch(*recipe, std::vector(4, output), 1);
    return ids.size() * 4;
  };
}

const std::map<std::string_view, std::function<Work(const Input&)>> kWorkloads = {
    {"detokenize", detokenize},
    {"content", [](const Input& input) { return deltas(input, "hermes", ""); }},
    {"json_call", [](const Input& input) { return deltas(input, "hermes", kJsonCall); }},
    {"tagged_call", [](const Input& input) { return deltas(input, "qwen3_coder", kTaggedCall); }},
    {"step", step},
    {"parse_batch", whole_outputs},
};

}  // namespace

/// Where callgrind counts.
extern "C" __attribute__((noinline)) std::size_t measured(const Work& work) { return work(); }

int main(int count, char** arguments) {
  if (count == 4) {
    const Work work = real_step(arguments[1], arguments[3], arguments[2]);
    std::printf("%zu\n", measured(work));
    return 0;
  }
  const auto found = count == 3 ? kWorkloads.find(arguments[2]) : kWorkloads.end();
  if (found == kWorkloads.end()) {
    std::cerr << "usage: workloads FORMATS WORKLOAD, with one of";
    for (const auto& [name, make] : kWorkloads) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  const Input input(arguments[1]);
  const Work work = found->second(input);
  std::printf("%zu\n", measured(work));
  return 0;
}
