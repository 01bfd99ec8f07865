#include "gguf-header.h"

#include <algorithm>

namespace hone {

Gguf OpenGguf(const GgufFunctions& functions, const std::string& path) {
  return Gguf(functions.gguf_open(path.c_str(), gguf_init_params{/*no_alloc=*/true, /*ctx=*/nullptr}),
              GgufCloser{&functions});
}

size_t StartOfTensor(const GgufFunctions& functions, const gguf_context* file, int64_t index) {
  return functions.gguf_data_offset(file) + functions.gguf_offset(file, index);
}

size_t EndOfData(const GgufFunctions& functions, const gguf_context* file) {
  size_t end = functions.gguf_data_offset(file);
  for (int64_t i = 0; i < functions.gguf_tensors(file); ++i) {
    end = std::max(end, StartOfTensor(functions, file, i) + functions.gguf_size(file, i));
  }
  return end;
}

}  // namespace hone
