/** Names of OpenAI's models, fine-tuned ones among them. None of them is a hub ID, which has a slash. */
const foreign =
  /^(ft:)?(gpt|chatgpt|o\d|davinci|babbage|curie|ada|text|code|codex|computer-use)([-.:]|\d|$)[^/]*$/i;

/**
 * Why a model of OpenAI's cannot be fine-tuned here, with what to write instead; `null` for other names.
 * @param instead a model that is recommended for this machine.
 */
export function foreignModelRefusal(name: string, instead: string): string | null {
  if (name.startsWith('ft:')) {
    return `"${name.slice(0, 200)}" is a fine-tuned model, which cannot be fine-tuned further. Write its base model, such as "${instead}", and give all training rows in one file.`;
  }
  if (!foreign.test(name)) return null;
  return `"${name.slice(0, 200)}" is a model of OpenAI, whose weights are not available. Write the hub ID of an open model (owner/name) or the path of a folder, such as "${instead}", which is recommended for this machine.`;
}
