// A row holds all that is said of an option anywhere: its name, default, choices, bounds and
// meaning. Python's signatures, docstrings and the documentation are compared with it by tests, so
// an option cannot mean two things.
#include "stream/stream_options.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

using Options = TokenStreamerOptions;

// `at` returns a reference to the option's member, which holds the default.
template <typename At>
using PlaceOf = std::remove_reference_t<std::invoke_result_t<At, Options&>>;

template <typename At>
PlaceOf<At> initial_of(At at) {
  Options options;
  return at(options);
}

// An option that is stored unchanged: a flag or texts.
template <typename At>
StreamOption plain(std::string_view name, At at, std::string_view meaning) {
  const auto set = [at](Options& options, OptionValue value) {
    at(options) = std::get<PlaceOf<At>>(std::move(value));
  };
  // The default is read from a new options object, so it stands in one place only.
  return {name, meaning, initial_of(at), set};
}

template <typename At>
StreamOption number(std::string_view name, At at, std::uint64_t lowest, std::uint64_t highest,
                    std::string_view meaning) {
  const auto set = [at](Options& options, OptionValue value) {
    at(options) = static_cast<PlaceOf<At>>(std::get<std::uint64_t>(value));
  };
  return {name, meaning, std::uint64_t{initial_of(at)}, set, {}, lowest, highest};
}

// One of several words, in the order of the enumeration.
template <typename At>
StreamOption choice(std::string_view name, At at, const std::vector<std::string_view>& words,
                    std::string_view meaning) {
  const auto set = [at, words](Options& options, OptionValue value) {
    // `check` has refused every other word.
    const auto word = std::find(words.begin(), words.end(), std::get<std::string>(value));
    at(options) = static_cast<PlaceOf<At>>(word - words.begin());
  };
  const auto initial = static_cast<std::size_t>(initial_of(at));
  return {name, meaning, std::string(words[initial]), set, words};
}

// Well below 2^31: sizes and counts of calls are 32 bits in several records.
constexpr std::uint64_t kHighestLimit = std::uint64_t{1} << 30;

// Handling of calls and reasoning.
void add_policies(std::vector<StreamOption>& out) {
  out.push_back(choice(
      "unknown_tools", [](Options& all) -> auto& { return all.stream.parser.unknown_tools; },
      {"forward", "content", "drop-with-report"},
      "Handling of a call to a tool that the request does not offer: \"forward\" emits it, "
      "\"content\" emits its text as content, \"drop-with-report\" only reports it in "
      "`Message.dropped`."));
  out.push_back(choice(
      "calls_in_fences", [](Options& all) -> auto& { return all.stream.parser.calls_in_fences; },
      {"auto", "keep", "call"},
      "Handling of a call that the content quotes: in a fence or backquotes, or on a line that "
      "begins as an item of a list or a quotation. \"auto\": hold it back. It is text if prose "
      "follows, and a call if the output ends or other calls follow. \"keep\": it is text. "
      "\"call\": it is a call."));
  out.push_back(plain(
      "parallel_tool_calls", [](Options& all) -> auto& { return all.stream.parser.parallel_calls; },
      "False: only the first call is emitted; further ones are reported in `Message.dropped`."));
  out.push_back(choice(
      "incomplete_calls", [](Options& all) -> auto& { return all.incomplete_calls; },
      {"forward", "withhold"},
      "Whether the deltas include calls that are cut off or malformed. \"forward\": yes, up "
      "to the end or the fault. \"withhold\": no; a call's deltas are held back until it is "
      "complete. The message always has the call, with its status."));
  out.push_back(plain(
      "repair", [](Options& all) -> auto& { return all.stream.parser.repair; },
      "Accept JSON with single quotes, trailing commas, Python literals and bare keys, and close "
      "what the end of the output left open. `ToolCall.repairs` lists the repairs."));
  out.push_back(plain(
      "only_reasoning", [](Options& all) -> auto& { return all.stream.parser.only_reasoning; },
      "Extract only the reasoning and its markup. Everything else, including calls and "
      "their markup, is emitted as content, byte for byte. For a stack that parses calls "
      "in a second pass. `region` still reports an open call."));
}

// Limits of one answer.
void add_limits(std::vector<StreamOption>& out) {
  out.push_back(number(
      "max_calls", [](Options& all) -> auto& { return all.stream.parser.limits.max_calls; }, 1,
      kHighestLimit,
      "Maximum number of calls in one answer. The text of further calls is malformed."));
  out.push_back(number(
      "max_argument_bytes",
      [](Options& all) -> auto& { return all.stream.parser.limits.max_argument_bytes; }, 1,
      kHighestLimit, "Maximum size of one call's arguments, in bytes."));
  out.push_back(number(
      "max_depth", [](Options& all) -> auto& { return all.stream.parser.limits.max_depth; }, 1,
      ParserLimits::kMaxDepth,
      "Maximum nesting depth of lists and objects in the arguments, at most 512."));
  out.push_back(number(
      "max_held_bytes",
      [](Options& all) -> auto& { return all.stream.parser.limits.max_held_bytes; }, 1,
      kHighestLimit,
      "Maximum number of bytes held back while they may still become a call. Beyond that, "
      "they are text."));
}

// What counts as text, and where it stops.
void add_texts(std::vector<StreamOption>& out) {
  out.push_back(plain(
      "skip_special_tokens",
      [](Options& all) -> auto& { return all.stream.detokenizer.skip_special_tokens; },
      "Omit special tokens from content and reasoning unless they are markers of the format. "
      "Headers, names and arguments still read them."));
  out.push_back(choice(
      "white_space", [](Options& all) -> auto& { return all.stream.parser.white_space; },
      {"keep", "trim"},
      "White space at both ends of the content and of the reasoning. \"keep\": keep it, except "
      "what belongs to the format's markers. \"trim\": remove it; white space is then held back "
      "until text follows."));
  out.push_back(plain(
      "stop", [](Options& all) -> auto& { return all.stream.detokenizer.stop; },
      "Stop strings. The first match ends the output."));
  out.push_back(plain(
      "include_stop", [](Options& all) -> auto& { return all.stream.detokenizer.include_stop; },
      "Whether the stop string is part of the output."));
  out.push_back(choice(
      "stop_in", [](Options& all) -> auto& { return all.stream.stop_in; },
      {"content", "everywhere"},
      "\"content\": match stop strings in content only, and never in markup. \"everywhere\": also "
      "match them in reasoning and calls, if the input is token ids alone. A match inside a call "
      "leaves the call incomplete."));
}

// What is kept and reported.
void add_records(std::vector<StreamOption>& out) {
  out.push_back(plain(
      "keep_message", [](Options& all) -> auto& { return all.stream.keeps_message; },
      "False: `finish` returns a message without texts, so memory stays flat."));
  out.push_back(plain(
      "audit", [](Options& all) -> auto& { return all.stream.parser.audit; },
      "Report the fate of every byte in `Message.audit`. With `keep_message=False` it covers only "
      "the last chunk: read `message.audit` after each chunk."));
  out.push_back(plain(
      "labels", [](Options& all) -> auto& { return all.stream.labels; },
      "Label each token id in `Message.labels`: content, reasoning, markup, a call's name or "
      "arguments. Needs a tokenizer."));
  out.push_back(number(
      "rollback_window", [](Options& all) -> auto& { return all.rollback_window; }, 0,
      std::uint64_t{1} << 20,
      "How many of the last token ids `rollback` can take back. 0 disables it, at no cost."));
  out.push_back(number(
      "id_seed", [](Options& all) -> auto& { return all.stream.parser.id_seed; }, 0,
      std::numeric_limits<std::uint64_t>::max(),
      "Seed of the call ids; any value but 0 makes them reproducible, for tests."));
}

std::vector<StreamOption> make_options() {
  std::vector<StreamOption> options;
  add_policies(options);
  add_limits(options);
  add_texts(options);
  add_records(options);
  return options;
}

// 'a', 'b' or 'c'
std::string list_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text.append("'").append(words[i]).append("'");
  }
  return text;
}

void check(const StreamOption& option, const OptionValue& value) {
  const std::string name(option.name);
  // A flag is no number, and a word no list: the default shows which of them the option has.
  if (value.index() != option.initial.index())
    throw ArgumentError(name + " has a value of another type than its default");
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    if (*number >= option.lowest && *number <= option.highest) return;
    throw ArgumentError(name + " must be from " + std::to_string(option.lowest) + " to " +
                        std::to_string(option.highest) + "; got " + std::to_string(*number));
  }
  if (option.words.empty()) return;
  const std::string& word = std::get<std::string>(value);
  if (std::find(option.words.begin(), option.words.end(), word) == option.words.end())
    throw ArgumentError(name + " is '" + word + "'; use " + list_of(option.words));
}

}  // namespace

const std::vector<StreamOption>& stream_options() {
  // Made at the first use and never changed, so threads need no lock.
  static const std::vector<StreamOption> options = make_options();
  return options;
}

const StreamOption* find_stream_option(std::string_view name) {
  for (const StreamOption& option : stream_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

void set_option(TokenStreamerOptions& options, const StreamOption& option, OptionValue value) {
  check(option, value);
  option.set(options, std::move(value));
}

void set_option(TokenStreamerOptions& options, std::string_view name, OptionValue value) {
  const StreamOption* option = find_stream_option(name);
  if (option == nullptr)
    throw ArgumentError("there is no option '" + std::string(name) + "'; see stream_options()");
  set_option(options, *option, std::move(value));
}

}  // namespace unspool
