/** Environment variables passed to a child that runs models: library paths and GPU selection, no secrets. */
const allowed = [
  /^PATH$/i,
  /^HOME$/,
  /^USERPROFILE$/i,
  /^(LD|DYLD)_LIBRARY_PATH$/,
  /^CUDA_/,
  /^NVIDIA_/,
  /^GGML_/,
  /^VK_/,
  /^(TMPDIR|TEMP|TMP)$/i,
  /^(LANG|LC_ALL|LC_CTYPE|TZ)$/,
  /^(SystemRoot|windir|LOCALAPPDATA|ProgramData)$/i,
  /^XDG_CACHE_HOME$/,
];

/** `source` reduced to the variables that a child needs. */
export function scrubbedEnvironment(source: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (value !== undefined && allowed.some((pattern) => pattern.test(name))) kept[name] = value;
  }
  return kept;
}
