/*
 * Preloaded into a process that runs a model, it makes the next evaluation hang once the file that HONE_TEST_HANG names
 * exists: in the thread of llama.cpp, while the process's other threads go on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* As in llama.h. */
struct llama_batch {
  int32_t n_tokens;
  void *token, *embd, *pos, *n_seq_id, *seq_id, *logits;
};

int32_t llama_decode(void *context, struct llama_batch batch) {
  static int32_t (*real)(void *, struct llama_batch) = NULL;
  if (real == NULL) {
    void *library = dlopen(getenv("HONE_TEST_LIBLLAMA"), RTLD_NOLOAD | RTLD_NOW);
    if (library == NULL) abort();
    *(void **)&real = dlsym(library, "llama_decode");
  }
  const char *file = getenv("HONE_TEST_HANG");
  while (file != NULL && access(file, F_OK) == 0) pause();
  return real(context, batch);
}
