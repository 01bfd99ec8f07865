import type { Client } from '../client/http-client.ts';
import { AppError } from '../errors.ts';
import { nearest } from './nearest.ts';

/** A trained model, as far as commands use it. */
export interface ModelView {
  readonly id: number;
  readonly model_id: string;
  /** The name that requests use. */
  readonly name: string;
  readonly display_name: string;
  readonly base_model: string;
  readonly dataset: string;
  readonly created_at: string;
  readonly size_mb: number;
  readonly eval_loss: number | null;
  /** Its folder. */
  readonly path: string;
}

/** The model with this ID or name. @throws AppError `not_found` with the nearest name. */
export async function findModel(client: Client, wanted: string): Promise<ModelView> {
  const { models } = await client.get<{ models: ModelView[] }>('/api/catalog');
  const found =
    models.find(({ id, model_id, name }) => [String(id), model_id, name].includes(wanted)) ??
    models.find(({ display_name }) => display_name === wanted);
  if (found !== undefined) return found;
  const meant = nearest(
    wanted,
    models.map(({ name }) => name),
  );
  throw new AppError(
    'not_found',
    `There is no model "${wanted}".${meant === null ? ' "hone models" lists them.' : ` Did you mean "${meant}"?`}`,
  );
}
