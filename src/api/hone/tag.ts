/** The heading of our own routes in the OpenAPI document. */
export const tag = 'hone';
