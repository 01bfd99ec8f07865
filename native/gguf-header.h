#pragma once

#include <gguf.h>

#include <cstddef>
#include <memory>
#include <string>

namespace hone {

/// The functions of the engine's ggml-base that read the header of a GGUF file.
struct GgufFunctions {
  decltype(&gguf_init_from_file) gguf_open;
  decltype(&gguf_free) gguf_close;
  decltype(&gguf_get_n_tensors) gguf_tensors;
  decltype(&gguf_get_tensor_name) gguf_name;
  decltype(&gguf_get_tensor_type) gguf_type;
  decltype(&gguf_get_tensor_size) gguf_size;
  decltype(&gguf_get_tensor_offset) gguf_offset;
  decltype(&gguf_get_data_offset) gguf_data_offset;
};

struct GgufCloser {
  const GgufFunctions* functions;
  void operator()(gguf_context* context) const { functions->gguf_close(context); }
};
using Gguf = std::unique_ptr<gguf_context, GgufCloser>;

/// The header of a file; null where it is not a readable GGUF.
Gguf OpenGguf(const GgufFunctions& functions, const std::string& path);

/// Where the data of a tensor begins in the file.
size_t StartOfTensor(const GgufFunctions& functions, const gguf_context* file, int64_t index);

/// The end of the last tensor in the file, as an offset in bytes.
size_t EndOfData(const GgufFunctions& functions, const gguf_context* file);

}  // namespace hone
