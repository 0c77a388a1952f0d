// The public C++ face: all that an embedder needs, without Python.
#pragma once

#include "channel/delta_channel.h"
#include "delta/chat_writer.h"
#include "delta/delta.h"
#include "delta/message.h"
#include "delta/wire_writer.h"
#include "format/format.h"
#include "format/read_format.h"
#include "format/tool_schemas.h"
#include "stream/chunk_parser.h"
#include "stream/stream_batch.h"
#include "stream/stream_options.h"
#include "stream/token_streamer.h"
#include "text/error.h"
#include "vocabulary/vocabulary.h"
#include "vocabulary/vocabulary_file.h"
