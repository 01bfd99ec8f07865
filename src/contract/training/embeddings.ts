/** Embeddings, by the names that families of models have for them. */
export const embeddingModules = ['embed_tokens', 'wte', 'embed_in'] as const;
/** Output layers, likewise. */
export const outputModules = ['lm_head', 'embed_out'] as const;
