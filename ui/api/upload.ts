import { pathOf } from './call.ts';
import { noAnswer, toServiceError } from './request.ts';
import type { Answer } from './routes.ts';
import { sendSignedIn } from './sign-in.ts';

type UploadKey = 'POST /api/upload_dataset' | 'POST /api/imports' | 'POST /api/documents';

/**
 * Uploads a file with XMLHttpRequest, because fetch does not report upload progress.
 * @param onProgress receives the fraction sent, 0 to 1.
 */
export async function uploadFile<K extends UploadKey>(
  key: K,
  file: File,
  onProgress: (fraction: number) => void,
  signal: AbortSignal,
): Promise<Answer<K>> {
  const request = () => upload(key, file, onProgress, signal);
  const { status, responseText } = await sendSignedIn(request, (answer) => answer.status === 401);
  if (status === 200) return JSON.parse(responseText) as Answer<K>;
  throw toServiceError(key, status, responseText);
}

function upload(
  key: UploadKey,
  file: File,
  onProgress: (fraction: number) => void,
  signal: AbortSignal,
): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const call = new XMLHttpRequest();
    call.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    call.onload = () => resolve(call);
    call.onerror = () => reject(noAnswer(key, 'the connection was lost'));
    call.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => call.abort(), { once: true });
    const body = new FormData();
    body.append('file', file, file.name);
    call.open('POST', pathOf(key));
    call.send(body);
  });
}
