/**
 * The architectures of GGUF files that can be a base model, by llama.cpp's name, with the model type and the class of
 * transformers. Of each, a toy's tensors and metadata were shown to come back unchanged (trainer/tests/gguf_base).
 */
export const ggufArchitectures = {
  llama: { modelType: 'llama', className: 'LlamaForCausalLM' },
  qwen2: { modelType: 'qwen2', className: 'Qwen2ForCausalLM' },
  qwen3: { modelType: 'qwen3', className: 'Qwen3ForCausalLM' },
  gemma2: { modelType: 'gemma2', className: 'Gemma2ForCausalLM' },
  gemma3: { modelType: 'gemma3_text', className: 'Gemma3ForCausalLM' },
  phi3: { modelType: 'phi3', className: 'Phi3ForCausalLM' },
  starcoder2: { modelType: 'starcoder2', className: 'Starcoder2ForCausalLM' },
  gpt2: { modelType: 'gpt2', className: 'GPT2LMHeadModel' },
  bloom: { modelType: 'bloom', className: 'BloomForCausalLM' },
  lfm2: { modelType: 'lfm2', className: 'Lfm2ForCausalLM' },
  mamba: { modelType: 'mamba', className: 'MambaForCausalLM' },
  nemotron: { modelType: 'nemotron', className: 'NemotronForCausalLM' },
  stablelm: { modelType: 'stablelm', className: 'StableLmForCausalLM' },
} as const satisfies Record<string, { readonly modelType: string; readonly className: string }>;
