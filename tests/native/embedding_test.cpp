// What a host without Python does: files in, ids to deltas over two threads; broken files are
// errors.
#include <thread>

#include "check.h"
#include "text/error.h"
#include "unspool.h"

namespace {

using namespace unspool;

constexpr std::string_view kFormat = R"(name = "test"
reasoning = "<think>${reasoning}</think>\n"
call = "<call>${object}</call>"
end = "<|end|>"
)";

// What `unspool export-format --reasoning` writes: the same reasoning, from another format.
constexpr std::string_view kExported = R"({"unspool_format": 2,
  "format": {"name": "test", "call": ["<call>${object}</call>"], "end": ["<|end|>"]},
  "reasoning": {"name": "other", "reasoning": ["<think>${reasoning}</think>\n"]},
  "tool_calls_in_reasoning": "end"})";

std::shared_ptr<const Vocabulary> bytes_and_markers() {
  VocabularySource source;
  source.is_bytes = true;
  for (TokenId id = 0; id < 256; ++id)
    source.tokens.emplace_back(id, std::string(1, static_cast<char>(id)));
  TokenId id = 256;
  for (const char* text : {"<call>", "</call>", "<|end|>"})
    source.added.push_back({id++, text, text, true});
  return std::make_shared<const Vocabulary>(std::move(source));
}

std::vector<TokenId> bytes_of(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::vector<TokenId> answer() {
  std::vector<TokenId> ids = bytes_of("<think>Zürich</think>\nI look.");
  ids.push_back(256);
  for (const TokenId id : bytes_of(R"({"name": "f", "arguments": {"a": "ü"}})")) ids.push_back(id);
  ids.push_back(257);
  ids.push_back(258);
  return ids;
}

TokenStreamerOptions options_for(std::shared_ptr<const Vocabulary> vocabulary) {
  TokenStreamerOptions options;
  options.stream.vocabulary = std::move(vocabulary);
  options.stream.parser.id_seed = 1;
  return options;
}

void test_what_a_format_says() {
  const auto format = read_format(kFormat);
  const FormatFacts facts = facts_of(format->program());
  CHECK(facts.ends == std::vector<std::string>{"<|end|>"});
  CHECK(facts.reasoning && facts.reasoning->closers == std::vector<std::string>{"</think>"});
  CHECK_EQUAL(facts.markers.size(), 5U);
  CHECK_EQUAL(explain(format->program()).front(), "Reasoning is between `<think>` and `</think>`.");
}

void test_two_threads() {
  const auto vocabulary = bytes_and_markers();
  const auto format = read_format(kFormat, {vocabulary});
  for (const std::size_t size : {0U, 1U, 7U}) {
    auto options = options_for(vocabulary);
    options.channel = std::make_shared<DeltaChannel>(size);
    TokenStreamer streamer(format, options);
    std::jthread model([&] {
      for (const TokenId id : answer()) {
        if (streamer.wants_more()) streamer.put(id);
      }
      streamer.end();
    });
    std::string content, reasoning, arguments;
    Delta delta;
    FinishReason reason = FinishReason::error;
    while (options.channel->get(delta) == DeltaChannel::Got::item) {
      if (delta.kind == EventKind::content) content += delta.text;
      if (delta.kind == EventKind::reasoning) reasoning += delta.text;
      if (delta.kind == EventKind::tool_call_arguments) arguments += delta.text;
      if (delta.kind == EventKind::finish) reason = delta.finish_reason;
    }
    CHECK_EQUAL(content, "I look.");
    CHECK_EQUAL(reasoning, "Zürich");
    CHECK_EQUAL(arguments, R"({"a": "ü"})");
    CHECK(reason == FinishReason::tool_calls);
  }
}

void test_a_reader_that_goes() {
  const auto vocabulary = bytes_and_markers();
  auto options = options_for(vocabulary);
  options.channel = std::make_shared<DeltaChannel>(2);
  TokenStreamer streamer(read_format(kFormat, {vocabulary}), options);
  std::size_t put = 0;
  std::jthread model([&] {
    for (; streamer.wants_more(); ++put) streamer.put('a');  // until the reader is gone
    streamer.end();
  });
  Delta delta;
  for (int i = 0; i < 5; ++i) CHECK(options.channel->get(delta) == DeltaChannel::Got::item);
  options.channel->cancel();
  model.join();
  CHECK(put >= 5 && put < 10);
  CHECK(options.channel->get(delta) == DeltaChannel::Got::cancelled);
}

void test_returned_deltas_and_errors() {
  const auto vocabulary = bytes_and_markers();
  TokenStreamer streamer(read_format(kFormat, {vocabulary}), options_for(vocabulary));
  std::string content;
  for (const Delta& delta : streamer.parse_chunk("Hel")) content += delta.text;
  for (const Delta& delta : streamer.parse_chunk("lo", std::nullopt, FinishReason::length))
    content += delta.text;
  CHECK_EQUAL(content, "Hello");
  CHECK(streamer.message().finish_reason == FinishReason::length);
  try {
    streamer.put(1);
    CHECK(false);
  } catch (const StreamError&) {
  }
  try {
    TokenStreamer without(nullptr, options_for(vocabulary));
    CHECK(false);
  } catch (const ArgumentError&) {
  }
}

void test_stop_strings_and_tools() {
  const auto vocabulary = bytes_and_markers();
  auto options = options_for(vocabulary);
  options.stream.detokenizer.stop = {"STOP"};
  TokenStreamer streamer(read_format(kFormat, {vocabulary, {.is_on = false}}), options);
  streamer.put(bytes_of("a <call>{} STO"));
  CHECK(streamer.wants_more());
  streamer.put('P');
  CHECK(!streamer.wants_more());
  streamer.end();
  CHECK_EQUAL(streamer.message().content, "a <call>{} ");

  const auto tools = read_tools(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {
        "a": {"type": ["string", "null"]}, "b": {"$ref": "#/$defs/c~1d"}, "e": {"items": {"const": 1}}},
        "$defs": {"c/d": {"enum": [1.5, true]}}}}}, {"name": "g"}])");
  const ToolSchema& f = *tools->find("f");
  CHECK_EQUAL(int{f.types_of("a")->bits()}, int{TypeSet::string | TypeSet::null});
  CHECK_EQUAL(int{f.types_of("b")->bits()}, int{TypeSet::number | TypeSet::boolean});
  CHECK_EQUAL(int{f.types_of("e")->bits()}, int{TypeSet::array});
  CHECK_EQUAL(int{f.find("e")->items[0].types.bits()}, int{TypeSet::integer});
  CHECK(tools->find("g") != nullptr);
  for (const char* bad :
       {"", "{}", "[{}]", "[1]", R"([{"name": ""}])", R"([{"name": "f", "parameters": "{"}])"}) {
    try {
      read_tools(bad);
      CHECK(false);
    } catch (const ArgumentError&) {
    }
  }
  // Refers to itself at every turn: read within a moment, whatever it says.
  read_tools(R"([{"name": "f", "parameters": {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"},
    "c": {"$ref": "#"}, "d": {"$ref": "#"}, "e": {"$ref": "#"}, "f": {"$ref": "#"}},
    "anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}}])");
}

// A host that waits in its own way: what a full channel has no room for goes first next time.
void test_steps_with_a_full_channel() {
  using Put = DeltaChannel::Put;
  constexpr auto kNow = DeltaChannel::Clock::time_point::min();
  const auto vocabulary = bytes_and_markers();
  auto options = options_for(vocabulary);
  options.channel = std::make_shared<DeltaChannel>(1);
  TokenStreamer streamer(read_format(kFormat, {vocabulary}), options);
  CHECK(!streamer.has_unsent());
  streamer.read("a", std::nullopt, std::nullopt);
  CHECK(streamer.has_unsent() && streamer.send(kNow) == Put::accepted);
  streamer.read("b", std::nullopt, FinishReason::length);
  CHECK(streamer.send(kNow) == Put::timed_out);
  CHECK(streamer.has_unsent_end());
  std::string seen;
  std::jthread reader([&] {
    Delta delta;
    while (options.channel->get(delta) == DeltaChannel::Got::item)
      seen.append(delta.text).append(delta.kind == EventKind::finish ? "." : "");
  });
  CHECK(streamer.end().empty());  // sends the rest, and is no second end
  reader.join();
  CHECK_EQUAL(seen, "ab.");
  CHECK(!streamer.has_unsent() && options.channel->is_finished());
  try {
    streamer.end();
    CHECK(false);
  } catch (const StreamError&) {
  }
}

void test_unsent_deltas_of_a_closed_channel_are_dropped() {
  auto options = options_for(bytes_and_markers());
  options.channel = std::make_shared<DeltaChannel>();
  TokenStreamer streamer(read_format(kFormat, {options.stream.vocabulary}), options);
  streamer.read("a", std::nullopt, std::nullopt);
  options.channel->close();
  CHECK(streamer.send() == DeltaChannel::Put::closed);
  CHECK(!streamer.has_unsent() && !streamer.wants_more());
}

// Deltas of whole calls only, the fate of every byte, and a first put that is the prompt.
void test_options_of_a_streamer() {
  const auto vocabulary = bytes_and_markers();
  for (const bool keeps_message : {true, false}) {
    auto options = options_for(vocabulary);
    options.incomplete_calls = IncompleteCalls::withhold;
    options.first_put = FirstPut::prompt;
    options.stream.keeps_message = keeps_message;
    options.stream.parser.audit = true;
    TokenStreamer streamer(read_format(kFormat, {vocabulary}), options);
    CHECK(streamer.put(bytes_of("Question?<think>")).empty());
    std::string seen;
    const auto add = [&](std::span<const Delta> deltas) {
      for (const Delta& delta : deltas) seen.append(to_string(delta.kind)).append(" ");
    };
    add(streamer.put(bytes_of("hm</think>\n")));
    CHECK_EQUAL(streamer.audit().size(), 3U);
    add(streamer.put(256));
    add(streamer.put(bytes_of(R"({"name": "f", "arguments": {"a")")));
    add(streamer.end(FinishReason::length));
    CHECK_EQUAL(seen, "reasoning finish ");
    std::string fates;
    for (const auto& piece : streamer.audit()) fates += piece.text;
    const std::string_view whole = "hm</think>\n<call>{\"name\": \"f\", \"arguments\": {\"a\"";
    CHECK(keeps_message ? fates == whole : whole.ends_with(fates) && fates.size() < 40);
  }
  auto options = options_for(vocabulary);
  options.first_put = FirstPut::row_is_prompt;  // a span of ids is no row of a batch
  TokenStreamer streamer(read_format(kFormat, {vocabulary}), options);
  CHECK_EQUAL(streamer.put('a').size(), 1U);
}

void test_options_by_name() {
  TokenStreamerOptions options;
  for (const StreamOption& option : stream_options()) set_option(options, option, option.initial);
  set_option(options, "incomplete_calls", "withhold");
  set_option(options, "unknown_tools", "drop-with-report");
  set_option(options, "stop_in", "everywhere");
  set_option(options, "max_calls", std::uint64_t{20});
  set_option(options, "repair", true);
  set_option(options, "stop", std::vector<std::string>{"STOP"});
  CHECK(options.incomplete_calls == IncompleteCalls::withhold);
  CHECK(options.stream.parser.unknown_tools == UnknownTools::drop);
  CHECK(options.stream.stop_in == StopIn::everywhere);
  CHECK_EQUAL(options.stream.parser.limits.max_calls, 20U);
  CHECK(options.stream.parser.repair);
  CHECK_EQUAL(options.stream.detokenizer.stop.at(0), "STOP");
  const auto refuses = [&](std::string_view name, OptionValue value) {
    try {
      set_option(options, name, std::move(value));
      return false;
    } catch (const ArgumentError&) {
      return true;
    }
  };
  CHECK(refuses("color", true));
  CHECK(refuses("repair", std::uint64_t{1}));
  CHECK(refuses("max_calls", std::uint64_t{0}));
  CHECK(refuses("max_depth", std::uint64_t{513}));
  CHECK(refuses("stop_in", "calls"));
}

std::string run(const std::shared_ptr<const Vocabulary>& vocabulary, std::string_view format) {
  TokenStreamer streamer(read_format(format, {vocabulary}), options_for(vocabulary));
  std::string seen;
  const auto add = [&](std::span<const Delta> deltas) {
    for (const Delta& delta : deltas)
      append_chat_delta(delta, ReasoningField::reasoning_content, seen);
  };
  for (const TokenId id : answer()) {
    if (!vocabulary->is_known(id) && vocabulary->unknown() == UnknownId::refused) continue;
    add(streamer.put(id));
  }
  add(streamer.end());
  return seen;
}

// Cut at every byte, and every byte changed in three ways: an error of ours, or files that work.
template <typename Read>
void damage(const std::string& whole, Read read) {
  int refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      read(bytes);
    } catch (const Error&) {
      ++refused;
    }
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    attempt(whole.substr(0, i));
    for (const int change : {1, 0x20, 0xFF}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      attempt(changed);
    }
  }
  CHECK(refused >= static_cast<int>(whole.size()));  // the cut ones at least
}

void test_broken_files() {
  const auto vocabulary = bytes_and_markers();
  std::string file;
  write_vocabulary(*vocabulary, file);
  std::string again;
  write_vocabulary(*read_vocabulary(file), again);
  CHECK(file == again);
  const std::string expected = run(vocabulary, kFormat);
  CHECK_EQUAL(run(vocabulary, kExported), expected);
  CHECK_EQUAL(run(read_vocabulary(file), kFormat), expected);
  damage(file, [](const std::string& bytes) { run(read_vocabulary(bytes), kFormat); });
  for (const std::string_view text : {kFormat, kExported})
    damage(std::string(text), [&](const std::string& bytes) { run(vocabulary, bytes); });
}

}  // namespace

int main() {
  test_what_a_format_says();
  test_two_threads();
  test_a_reader_that_goes();
  test_returned_deltas_and_errors();
  test_stop_strings_and_tools();
  test_steps_with_a_full_channel();
  test_unsent_deltas_of_a_closed_channel_are_dropped();
  test_options_of_a_streamer();
  test_options_by_name();
  test_broken_files();
  return TEST_RESULT();
}
