/** A blob that reports how many bytes of its stream have been read, from 0 for each stream. */
export class CountedBlob extends Blob {
  private readonly inner: Blob;
  private readonly onRead: (bytes: number) => void;

  constructor(inner: Blob, onRead: (bytes: number) => void) {
    super();
    this.inner = inner;
    this.onRead = onRead;
  }

  override get size(): number {
    return this.inner.size;
  }

  override stream(): ReturnType<Blob['stream']> {
    let bytes = 0;
    const { onRead } = this;
    return this.inner.stream().pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          onRead(bytes);
          controller.enqueue(chunk);
        },
      }),
    );
  }
}
