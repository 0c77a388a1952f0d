// Token ids to an API's response, over two threads, without Python.
//
//   unspool export-format qwen3 -o qwen3.json
//   unspool export-vocabulary tokenizer.json -o model.vocabulary
//   echo "9707 0" | stream qwen3.json model.vocabulary [tools.json]
//
// Each line of standard input is an answer: its token ids. Each becomes a response of server-sent
// events, as OpenAI's chat completions send it.
#include <unspool.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The model's thread: in a real host, the loop that samples.
void generate(unspool::TokenStreamer& streamer, const std::string& line) {
  try {
    std::istringstream ids(line);
    for (unspool::TokenId id = 0; streamer.wants_more() && ids >> id;) streamer.put(id);
    streamer.end(unspool::FinishReason::stop);
  } catch (...) {
    streamer.fail(std::current_exception());
  }
}

// The client's thread: what is ready goes out at once.
void respond(unspool::DeltaChannel& channel, std::ostream& client) {
  unspool::WireOptions options;
  options.model = "example";
  options.id = "chatcmpl-1";
  options.created = 1;
  const auto writer =
      unspool::make_wire_writer(unspool::WireProtocol::chat_completions, std::move(options));
  std::string bytes;
  unspool::Delta delta;
  while (channel.get(delta) == unspool::DeltaChannel::Got::item) {
    writer->write(delta, bytes);
    client << bytes;
    bytes.clear();
  }
  if (const std::exception_ptr error = channel.error()) {
    writer->fail({"the model failed"}, bytes);
  } else {
    writer->end({}, "", bytes);
  }
  client << bytes << std::flush;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("usage: stream FORMAT.json MODEL.vocabulary [TOOLS.json]");
  // Once for a model.
  const auto vocabulary = unspool::read_vocabulary(read_file(argv[2]));
  const auto format = unspool::read_format(read_file(argv[1]), {vocabulary});
  // Once for a request.
  const auto tools = argc > 3 ? unspool::read_tools(read_file(argv[3])) : nullptr;
  for (std::string line; std::getline(std::cin, line);) {
    unspool::TokenStreamerOptions options;
    options.stream.vocabulary = vocabulary;
    options.stream.parser.tools = tools;
    options.stream.parser.id_seed = 1;  // the same call ids in every run; leave it out in a server
    options.channel = std::make_shared<unspool::DeltaChannel>(64);
    unspool::TokenStreamer streamer(format, options);
    std::jthread model(generate, std::ref(streamer), line);
    respond(*options.channel, std::cout);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "stream: " << error.what() << "\n";
  return 1;
}
