// Snapshots of streams of every shipped format, and of response templates: a restored stream goes
// on as the other does, and its snapshot is the same. Changed bytes are refused, or make a stream
// that harms nothing.
//
// The wires take every delta of a stream.
//
// An input: which format (two bytes), options, how the output comes, where the snapshot is taken,
// tools, how many bytes of it change; for each of these its place (two bytes) and its value; the
// output.
#include <exception>

#include "families.h"
#include "fuzz.h"
#include "template/response_template.h"
#include "unspool.h"

using namespace unspool;
using namespace unspool::fuzz;

namespace {

std::vector<Family> with_templates() {
  std::vector<Family> all = families();
  std::ifstream file(UNSPOOL_SEEDS "/templates.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto templates = parse_json(text);
  expect(templates.has_value(), "templates.json is JSON");
  for (const JsonValue& one : templates->items) {
    const auto format = make_format(ResponseTemplate::compile(one), "template", {});
    Family& family = all.emplace_back();
    family.vocabulary = family.few_tokens = make_vocabulary({});
    family.response_template = format;
  }
  return all;
}

struct Case {
  const Family* family;
  TokenStreamerOptions options;
  Use use;

  std::unique_ptr<TokenStreamer> make() const {
    return std::make_unique<TokenStreamer>(family->format(use), options);
  }
};

template <typename Take>
void put(const Case& one, TokenStreamer& stream, std::string_view text, Take&& take) {
  if (!one.use.is_by_id) return take(stream.parse_chunk(text));
  const auto& added = one.family->tokens(one.use)->added_tokens();
  while (!text.empty()) {
    TokenId id = static_cast<std::uint8_t>(text[0]);
    std::size_t size = 1;
    for (const auto& token : added) {
      if (token.content.size() > size && text.starts_with(token.content)) {
        id = token.id;
        size = token.content.size();
      }
    }
    take(stream.put(id));
    text.remove_prefix(size);
  }
}

void put(const Case& one, TokenStreamer& stream, std::string_view text, std::string& said) {
  put(one, stream, text, [&](std::span<const Delta> deltas) {
    for (const Delta& delta : deltas) said += delta.text + delta.name + delta.id + delta.reason;
  });
}

// A writer refuses deltas that are out of order; a stream gives none.
void check_wires(const Case& one, std::string_view output) {
  std::vector<std::unique_ptr<WireWriter>> writers;
  for (std::uint8_t protocol = 0; protocol < 6; ++protocol) {
    WireOptions options;
    options.model = "m";
    options.id = "id";
    options.created = 1;
    writers.push_back(make_wire_writer(static_cast<WireProtocol>(protocol), options));
  }
  const auto take = [&](std::span<const Delta> deltas) {
    std::string wire;
    for (const auto& writer : writers) {
      for (const Delta& delta : deltas) writer->write(delta, wire);
    }
  };
  const auto stream = one.make();
  put(one, *stream, output, take);
  take(stream->end());
}

std::string go_on(const Case& one, TokenStreamer& stream, std::string_view rest) {
  std::string said;
  put(one, stream, rest.substr(0, rest.size() / 2), said);
  put(one, stream, rest.substr(rest.size() / 2), said);
  for (const Delta& delta : stream.end()) said += delta.text + delta.reason;
  const Message& message = stream.stream().message();
  for (const ToolCall& call : message.tool_calls) said += call.id + call.name + call.arguments;
  if (const TokenLabels* labels = stream.stream().labels()) {
    for (const auto& [token, is_inside, label] : labels->runs()) {
      for (const auto number : {token, static_cast<std::uint64_t>(label.region),
                                static_cast<std::uint64_t>(label.path)}) {
        said += std::to_string(number) + ' ';
      }
    }
  }
  return said + message.content + message.reasoning;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 7 || size > 4096) return -1;
  Input input(data, size);
  const std::size_t which = input.byte() + 256U * input.byte();
  const std::uint8_t flags = input.byte();
  const std::uint8_t how = input.byte();
  const std::size_t fraction = input.byte();
  const std::uint8_t tools = input.byte();
  const std::size_t changes = input.below(8);
  std::vector<std::pair<std::size_t, char>> changed;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t place = input.byte() + 256U * input.byte();
    changed.emplace_back(place, static_cast<char>(input.byte()));
  }
  static const std::vector<Family> formats = with_templates();
  Use use{(how & 1) != 0, (how & 128) != 0, tools, static_cast<std::uint8_t>(flags >> 6)};
  if (!use.is_by_id) use.tools &= 0xF8;
  Case one{&formats[which % formats.size()], {}, use};
  ChunkParserOptions& stream = one.options.stream;
  if (use.is_by_id) stream.vocabulary = one.family->tokens(use);
  stream.labels = use.is_by_id && (how & 2) != 0;
  stream.keeps_message = (how & 4) == 0;
  if ((how & 8) != 0 || use.needs_tools()) stream.parser.tools = some_tools();
  if ((how & 16) != 0) stream.detokenizer.stop = {"stop", "\n\n"};
  if ((how & 32) != 0) stream.stop_in = StopIn::content;
  if ((how & 64) != 0) one.options.incomplete_calls = IncompleteCalls::withhold;
  stream.parser.audit = (flags & 1) != 0;
  stream.parser.repair = (flags & 2) != 0;
  stream.parser.parallel_calls = (flags & 4) == 0;
  stream.parser.unknown_tools = static_cast<UnknownTools>((flags >> 3) % 3);
  stream.parser.id_seed = 1;

  const std::string_view output = input.rest();
  check_wires(one, output);
  const std::size_t cut = output.size() * fraction / 256;
  const auto first = one.make();
  std::string said;
  put(one, *first, output.substr(0, cut), said);
  std::string state = first->snapshot();
  const auto restored = one.make();
  restored->restore(state);
  expect(restored->snapshot() == state, "a restored stream has the same snapshot");
  for (const auto& [place, value] : changed) state[place % state.size()] ^= value;
  try {
    const auto other = one.make();
    other->restore(state);
    go_on(one, *other, output.substr(cut));
  } catch (const std::exception&) {
  }
  const std::string_view rest = output.substr(cut);
  expect_equal(go_on(one, *first, rest), go_on(one, *restored, rest),
               "a restored stream goes on as the other does");
  return 0;
}
