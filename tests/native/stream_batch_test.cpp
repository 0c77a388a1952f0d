// A batch over several threads writes what it writes in one, and a step costs no allocation.
#include "check.h"
#include "count_allocations.h"
#include "unspool.h"

namespace {

using namespace unspool;

constexpr std::string_view kFormat = R"(name = "test"
reasoning = "<think>${reasoning}</think>\n"
call = "<call>${object}</call>"
)";
constexpr std::size_t kStreams = 100;

StreamRecipe make_recipe() {
  VocabularySource source;
  source.is_bytes = true;
  for (TokenId id = 0; id < 256; ++id)
    source.tokens.emplace_back(id, std::string(1, static_cast<char>(id)));
  StreamRecipe recipe;
  recipe.options.stream.vocabulary = std::make_shared<const Vocabulary>(std::move(source));
  recipe.options.stream.parser.id_seed = 1;
  recipe.format = read_format(kFormat, {recipe.options.stream.vocabulary});
  return recipe;
}

std::string text_of(std::size_t stream) {
  const std::string number = std::to_string(stream);
  return "<think>" + number +
         "</think>\nI look.<call>{\"name\": \"f\", \"arguments\": {\"a\": \"ü" + number +
         "\"}}</call>";
}

WireOptions wire_options() {
  WireOptions options;
  options.model = "model";
  options.id = "r";
  options.created = 1;
  options.n = 2;
  return options;
}

/// Every two streams are answers of one response.
std::vector<std::string> run() {
  const StreamRecipe recipe = make_recipe();
  StreamBatch batch;
  std::shared_ptr<WireWriter> writer;
  for (std::size_t i = 0; i < kStreams; ++i) {
    SlotOptions options;
    if (i % 2 == 0) writer = make_wire_writer(WireProtocol::chat_completions, wire_options());
    options.writer = i % 5 == 0 ? nullptr : writer;
    options.choice = static_cast<std::int32_t>(i % 2);
    CHECK(batch.add(recipe, std::move(options)) == static_cast<Slot>(i));
  }
  std::vector<std::string> written(kStreams);
  const std::size_t longest = text_of(kStreams - 1).size();
  for (std::size_t place = 0; place < longest; ++place) {
    std::vector<Slot> slots;
    std::vector<TokenId> ids;
    for (std::size_t i = 0; i < kStreams; ++i) {
      const std::string text = text_of(i);
      if (place >= text.size()) continue;
      slots.push_back(static_cast<Slot>(i));
      ids.push_back(static_cast<unsigned char>(text[place]));
    }
    const auto result = batch.step(slots, ids);
    for (const Slot slot : slots) {
      std::string& out = written[static_cast<std::size_t>(slot)];
      out += result->bytes_of(slot);
      for (const Delta& delta : result->deltas_of(slot)) out += delta.text;
    }
  }
  for (std::size_t i = 0; i < kStreams; ++i) {
    const auto result = batch.finish(static_cast<Slot>(i), FinishReason::stop);
    written[i] += result->bytes_of(static_cast<Slot>(i));
    CHECK(batch.stream(static_cast<Slot>(i)).message().tool_calls.size() == 1);
  }
  return written;
}

void test_a_step_feeds_every_stream() {
  const std::vector<std::string> alone = run();
  CHECK(alone[1].find("I look.") == std::string::npos);  // a byte a chunk
  CHECK(alone[1].find("\"tool_calls\"") != std::string::npos);
}

void test_a_result_is_used_again_once_it_is_free() {
  const StreamRecipe recipe = make_recipe();
  StreamBatch batch;
  const Slot slot = batch.add(recipe, {});
  const std::vector<Slot> slots = {slot};
  const std::vector<TokenId> ids = {'a'};
  const auto kept = batch.step(slots, ids);
  const std::string text = kept->deltas_of(slot)[0].text;
  const BatchResult* used = batch.step(slots, ids).get();
  CHECK(used != kept.get());
  CHECK(batch.step(slots, ids).get() == used);
  CHECK(kept->deltas_of(slot)[0].text == text);
}

/// In content and in a call's string, once the first steps have found their memory.
void test_a_step_costs_no_allocation() {
  StreamRecipe recipe = make_recipe();
  recipe.options.stream.keeps_message = false;
  StreamBatch batch;
  std::vector<Slot> slots;
  for (int i = 0; i < 100; ++i) {
    SlotOptions options;
    if (i % 3 != 0)
      options.writer = make_wire_writer(WireProtocol::chat_completions, wire_options());
    slots.push_back(batch.add(recipe, std::move(options)));
  }
  const std::string call = "I look.<call>{\"name\": \"f\", \"arguments\": {\"a\": \"";
  std::vector<TokenId> ids(slots.size());
  std::size_t before = 0;
  for (std::size_t place = 0; place < call.size() + 5000; ++place) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool calls = i % 2 == 0 && place < call.size();
      ids[i] = calls ? static_cast<unsigned char>(call[place]) : TokenId{'x'};
    }
    if (place == call.size() + 4000) before = test::allocations;
    batch.step(slots, ids);
  }
  CHECK_EQUAL(test::allocations - before, 0U);
}

}  // namespace

int main() {
  test_a_step_feeds_every_stream();
  test_a_result_is_used_again_once_it_is_free();
  test_a_step_costs_no_allocation();
  return TEST_RESULT();
}
