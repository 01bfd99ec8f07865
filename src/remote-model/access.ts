import { AppError } from '../errors.ts';

/** A model that another service answers for, which speaks OpenAI's API. */
export interface RemoteAccess {
  /** Its name here, for messages. */
  readonly name: string;
  /** Such as `https://api.openai.com/v1`, without a slash at its end. */
  readonly url: string;
  /** Sent to `url` alone; `null` sends none. */
  readonly key: string | null;
  readonly bounds: RemoteBounds;
}

/** What one answer may take. Fetch itself bounds connecting, to 10 s. */
export interface RemoteBounds {
  /** Until it begins. */
  readonly firstByteMs: number;
  /** Between two pieces of it. */
  readonly silenceMs: number;
  readonly answerBytes: number;
}

/** What failed, by the name and the URL of the model. */
export const failure = ({ name, url }: RemoteAccess, said: string, cause?: unknown): AppError =>
  new AppError('upstream', `${name} at ${url} ${said}`, { cause });

/** The error for an answer that OpenAI's API does not have. */
export const garbage = (access: RemoteAccess, what: string, cause?: unknown): AppError =>
  failure(
    access,
    `${what}. Check that its URL is that of an OpenAI-compatible API, which usually ends in /v1.`,
    cause,
  );
