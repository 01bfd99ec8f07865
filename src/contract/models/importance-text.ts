/** How an exported file was quantized, if by an importance matrix; otherwise empty. */
export const importanceText = ({
  importance_tokens: tokens,
}: {
  readonly importance_tokens?: number | null | undefined;
}): string => (tokens == null ? '' : `quantized with an importance matrix from ${tokens} tokens of its rows`);
