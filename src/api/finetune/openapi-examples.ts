import { recommendedSettings } from '../../domain/training/settings.ts';

/** Example responses for the OpenAPI document. */
const listed = {
  model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  name: 'Qwen3-0.6B-support',
  base_model: 'Qwen/Qwen3-0.6B',
  task: 'text-generation',
  created_at: '2026-11-21T12:00:00.000Z',
  strategy: 'sft',
  size_mb: 702.41,
  path: '/home/ada/.local/share/hone/model_checkpoints/3f2504e0-4f89-41d3-9a0c-0305e82c3301',
};
const { strategy: _strategy, size_mb: _size, path: _path, ...reduced } = listed;
const models = [
  'Qwen/Qwen3-0.6B',
  'HuggingFaceTB/SmolLM2-360M-Instruct',
  'HuggingFaceTB/SmolLM2-135M-Instruct',
  'google/gemma-3-270m-it',
];
const hardware = { gpu_name: 'NVIDIA GeForce RTX 3050', gpu_memory_gb: 6, ram_gb: 15.55 };

export const examples: Readonly<Record<string, unknown>> = {
  'POST /api/finetune/validate_task': { valid: true, task: 'text-generation' },
  'POST /api/finetune/validate_model': { valid: true, model: 'Qwen/Qwen3-0.6B' },
  'POST /api/finetune/validate_custom_model': {
    valid: true,
    repo_name: 'Qwen/Qwen3-0.6B',
    model_info: { id: 'Qwen/Qwen3-0.6B', author: 'Qwen', downloads: 9_500_000, likes: 870 },
  },
  'POST /api/finetune/detect': {
    status_code: 200,
    profile: 'low_end',
    task: 'text-generation',
    gpu_name: hardware.gpu_name,
    gpu_total_memory_gb: hardware.gpu_memory_gb,
    ram_total_gb: hardware.ram_gb,
    available_diskspace_gb: 212.4,
    cpu_cores: 12,
    model_recommendation: models[0],
    possible_options: models,
    hardware_specs: { ...hardware, cuda_version: '13.0' },
    compute_profile: 'low_end',
    recommended_model: models[0],
    possible_models: models,
  },
  'POST /api/finetune/set_model': {
    success: true,
    selected_model: 'Qwen/Qwen3-0.6B',
    message: 'Model Qwen/Qwen3-0.6B is selected',
  },
  'POST /api/finetune/set_custom_model': {
    success: true,
    selected_model: 'ada/my-model',
    message: 'Custom model ada/my-model is selected',
    valid: true,
    repo_name: 'ada/my-model',
  },
  'GET /api/finetune/session': {
    success: true,
    task: 'text-generation',
    selected_model: 'Qwen/Qwen3-0.6B',
    is_custom_model: false,
  },
  'GET /api/finetune/load_settings': {
    ...recommendedSettings({ profile: 'low_end', cuda: true, quantizes: true, defaultBatchSize: null }),
    bf16: false,
  },
  'POST /api/finetune/start_training': {
    success: true,
    message: 'Training of Qwen/Qwen3-0.6B started',
    job_id: 'train_7',
  },
  'GET /api/finetune/status': {
    status: 'running',
    progress: 47.5,
    message: 'Training: step 75 of 150, loss 0.8123',
    error: null,
  },
  'POST /api/finetune/reset_status': { success: true, message: 'The training status was reset' },
  'GET /api/finetune/hardware_specs': {
    ...hardware,
    disk_space_gb: 212.4,
    cpu_cores: 12,
    cuda_version: '13.0',
    torch_version: '2.14.1',
  },
  'GET /api/finetune/recommended_models/{task}': {
    task: 'text-generation',
    recommended_model: models[0],
    possible_models: models,
    compute_profile: 'low_end',
  },
  'GET /api/models/': [listed],
  'GET /api/models/{model_id}': {
    ...listed,
    provider: 'standard',
    config: { lora_r: 16, lora_alpha: 32, num_train_epochs: 3, learning_rate: 2e-4 },
    metrics: { final_loss: 0.412, eval_loss: 0.534, perplexity: 1.706 },
  },
  'GET /api/models/task/{task}': [reduced],
  'DELETE /api/models/{model_id}': {
    success: true,
    message: 'Model Qwen3-0.6B-support was deleted',
    bin_id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  },
  'POST /api/hub/push': {
    success: true,
    message:
      'The model Qwen3-0.6B-support was pushed to the new private repository ada/support: 7 of 7 files were uploaded.',
    repo_url: 'https://huggingface.co/ada/support',
  },
  'GET /api/playground/model_path': {
    model_path: `${listed.path}/model-Q8_0.gguf`,
    model_id: listed.model_id,
  },
  'POST /api/playground/new': {
    generated_text: 'Shipping: We will trace your parcel today.',
    prompt: 'My parcel has not come.',
    tokens_generated: 11,
    generation_time_ms: 412,
  },
};
