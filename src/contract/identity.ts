/** The largest lengths (in UTF-16 code units) and numbers of what people call runs and models. */
export const identityBounds = {
  displayName: 120,
  notes: 10_000,
  tag: 40,
  tags: 20,
} as const;

/** Text of one line: without control characters, line separators and halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
export const linePattern = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]*$/u;
/** The same with tabs and line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
export const notesPattern = /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff]*$/u;
/** Tags are typed with commas between them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
export const tagPattern = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff,]*$/u;
