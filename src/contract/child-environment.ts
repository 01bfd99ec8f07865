/** What any process needs: programs, folders, language, and what Windows needs. */
const system = [
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|TZ|LANG|LANGUAGE|LC_[A-Z]+|XDG_CACHE_HOME)$/i,
  /^(USERPROFILE|USERNAME|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|ProgramData|ProgramFiles(\(x86\))?)$/i,
  /^(SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|NUMBER_OF_PROCESSORS|PROCESSOR_[A-Z_]+|OS)$/i,
  /^((LD|DYLD)_LIBRARY_PATH|LD_PRELOAD|DYLD_INSERT_LIBRARIES)$/,
];

/** Selection and tuning of the hardware, for llama.cpp and PyTorch. */
const hardware = [
  /^(CUDA|NVIDIA|GGML|VK|OMP|GOMP|KMP|MKL|OPENBLAS|MALLOC|ASAN|UBSAN|LSAN|TSAN)_/,
  // Where this installation's addon is, and settings of tests.
  /^HONE_(NATIVE_BUILD|TEST_[A-Z_]+)$/,
];

/** Settings of the trainer and of its libraries. */
const libraries = [
  // Turns Hone's own ways to compute off (trainer/kernels/allowed.py).
  /^HONE_PLAIN$/,
  // Runs graders in Python that nothing encloses (trainer/grading/cage).
  /^HONE_ALLOW_UNCAGED_GRADERS$/,
  /^(PYTORCH|TORCH|TORCHINDUCTOR|TRITON|CUDNN|CUBLAS|CUBLASLT|NCCL|BNB|BITSANDBYTES|UNSLOTH|VECLIB|TQDM)_/,
  /^(HF_(HOME|HUB_CACHE|HUB_OFFLINE|XET_CACHE|DATASETS_CACHE|HUB_DISABLE_[A-Z_]+)|HUGGINGFACE_HUB_CACHE)$/,
  // Triton compiles with a C compiler.
  /^(CC|CXX)$/,
];

/** How to reach the hub. */
const network = [
  /^HF_(ENDPOINT|HUB_(DOWNLOAD_TIMEOUT|ETAG_TIMEOUT)|XET_[A-Z_]+)$/,
  /^(SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NO_PROXY)$/i,
];

/** Addresses of proxies, which may contain a password. */
const proxies = [/^(HTTP|HTTPS|ALL)_PROXY$/i];

/** The variables that the processes Hone starts may have, as patterns of names. */
export const childVariables = {
  /** Programs that need none of the following, such as the one that makes backups. */
  program: system,
  /** The processes that run models with llama.cpp. */
  engine: [...system, ...hardware],
  trainer: [...system, ...hardware, ...libraries, ...network],
  /** The processes that pass figures to trackers. */
  tracker: [...system, ...network, ...proxies, /^(WANDB|MLFLOW|TRACKIO)_/],
  /** What only a process that downloads gets in addition; it is replaced before it loads a model. */
  download: proxies,
} as const;

/** Names of secrets, which are never passed on: `NVIDIA_API_KEY` is no setting of a GPU. */
const secret = /TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY/i;

/** `source` reduced to the variables that one of the patterns in `allowed` names, without secrets. */
export function allowedEnvironment(
  source: Readonly<Record<string, string | undefined>>,
  allowed: readonly RegExp[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined || secret.test(name)) continue;
    if (allowed.some((pattern) => pattern.test(name))) kept[name] = value;
  }
  return kept;
}
