// As much of OpenVINO GenAI's streamer interface as the example needs to compile without it.
#pragma once

#include <cstdint>
#include <vector>

namespace ov::genai {

enum class StreamingStatus { RUNNING = 0, STOP = 1, CANCEL = 2, TOOL_CALL_STOP = 3 };

class StreamerBase {
 public:
  virtual ~StreamerBase() = default;
  virtual StreamingStatus write(std::int64_t token) = 0;
  virtual StreamingStatus write(const std::vector<std::int64_t>& tokens) = 0;
  virtual void end() = 0;
};

}  // namespace ov::genai
