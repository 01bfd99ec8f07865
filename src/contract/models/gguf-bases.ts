/**
 * The architectures of GGUF files that can be a base model, by llama.cpp's name, with the model type and the class of
 * transformers. Of each, a toy's tensors and metadata were shown to come back unchanged (trainer/tests/gguf_base).
 */
export const ggufArchitectures = {
  llama: { modelType: 'llama', className: 'LlamaForCausalLM' },
  qwen2: { modelType: 'qwen2', className: 'Qwen2ForCausalLM' },
  qwen3: { modelType: 'qwen3', className: 'Qwen3ForCausalLM' },
  qwen2moe: { modelType: 'qwen2_moe', className: 'Qwen2MoeForCausalLM' },
  qwen3moe: { modelType: 'qwen3_moe', className: 'Qwen3MoeForCausalLM' },
  'gpt-oss': { modelType: 'gpt_oss', className: 'GptOssForCausalLM' },
  gemma: { modelType: 'gemma', className: 'GemmaForCausalLM' },
  gemma2: { modelType: 'gemma2', className: 'Gemma2ForCausalLM' },
  gemma3: { modelType: 'gemma3_text', className: 'Gemma3ForCausalLM' },
  gemma4: { modelType: 'gemma4_text', className: 'Gemma4ForCausalLM' },
  falcon: { modelType: 'falcon', className: 'FalconForCausalLM' },
  phi3: { modelType: 'phi3', className: 'Phi3ForCausalLM' },
  starcoder2: { modelType: 'starcoder2', className: 'Starcoder2ForCausalLM' },
  gpt2: { modelType: 'gpt2', className: 'GPT2LMHeadModel' },
  bloom: { modelType: 'bloom', className: 'BloomForCausalLM' },
  lfm2: { modelType: 'lfm2', className: 'Lfm2ForCausalLM' },
  mamba: { modelType: 'mamba', className: 'MambaForCausalLM' },
  nemotron: { modelType: 'nemotron', className: 'NemotronForCausalLM' },
  stablelm: { modelType: 'stablelm', className: 'StableLmForCausalLM' },
} as const satisfies Record<string, { readonly modelType: string; readonly className: string }>;
