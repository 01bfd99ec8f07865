/** What a part of a split file is called: its number, and how many there are. */
const partName = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/is;
/** A name may say anything; the largest models have a hundred parts. */
const mostParts = 1_000;

/**
 * The paths of all files of a split GGUF, by that of one of them, as llama.cpp's `llama-gguf-split` names them; of other
 * files the path alone. As `parts_of` in trainer/export/gguf/header.py.
 */
export function ggufParts(path: string): readonly [string, ...string[]] {
  const [, stem = '', number = '', count = '', ending = ''] = partName.exec(path) ?? [];
  if (!(Number(number) >= 1 && Number(number) <= Number(count) && Number(count) <= mostParts)) return [path];
  const [first = path, ...others] = Array.from(
    { length: Number(count) },
    (_, index) => `${stem}-${String(index + 1).padStart(5, '0')}-of-${count}${ending}`,
  );
  return [first, ...others];
}
