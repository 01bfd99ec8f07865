/** What can be made of a model besides GGUF files of it whole, with what people call it. */
export const formNames = {
  merged: 'merged weights',
  adapter_gguf: 'the adapter as GGUF',
} as const;

export type ExportForm = keyof typeof formNames;
export const exportForms = Object.keys(formNames) as [ExportForm, ...ExportForm[]];

/** Bytes of a weight that is merged. */
export const mergedBytesPerWeight = 2;
