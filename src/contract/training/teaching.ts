/**
 * The `model_type`s of decoders, or of text parts of multimodal models, that may teach and learn with `distill`: those whose
 * losses and weights are tested to be the same as TRL's (trainer/tests/training/test_distill.py).
 */
export const taughtTypes: readonly string[] = ['gemma3', 'gemma3_text', 'llama', 'mistral', 'qwen3'];

/** What is offered where a teacher cannot teach a student by its probabilities. */
export const textInstead =
  'Or teach by text: let the teacher answer your prompts (keep its answers, under Traffic), make rows of them, and train on these with sft';
