/** A name as part of a file's or a repository's: letters of ASCII, digits, `.`, `_` and `-`, at most 96 long. */
export function fileNameOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^\w.-]+/g, '-')
    // The hub's rules: no repeated or outer signs.
    .replace(/([-.])[-.]+/g, '$1')
    .slice(0, 96)
    .replace(/^[-.]+|[-.]+$/g, '');
  return plain === '' ? 'hone' : plain;
}

/** Saves a text, or a blob, as a file of the user. */
export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The click has started the download; the content may be freed after it.
  setTimeout(() => URL.revokeObjectURL(url));
}
