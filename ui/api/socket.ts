import type { Frame } from './frames.ts';

/** The state of the connection; `since` is the time of the last message. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'reconnecting'; readonly since: number }
  | { readonly state: 'stale'; readonly since: number };

const firstDelayMs = 250;
const longestDelayMs = 5_000;
/** Data is marked as stale after this long without a connection. */
const staleAfterMs = 5_000;

/** Listens on `/ws/training`; reconnects after a failure and requests the missed frames. */
export class LiveSocket {
  readonly #onFrame: (frame: Frame) => void;
  readonly #onConnection: (connection: Connection) => void;
  readonly #ready: () => Promise<void>;
  #socket: WebSocket | null = null;
  #newestSeq: number | null = null;
  #lostAt: number | null = null;
  #attempts = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #staleTimer: ReturnType<typeof setTimeout> | null = null;

  /** @param ready is waited for before each reconnection. */
  constructor(
    onFrame: (frame: Frame) => void,
    onConnection: (connection: Connection) => void,
    ready: () => Promise<void>,
  ) {
    this.#onFrame = onFrame;
    this.#onConnection = onConnection;
    this.#ready = ready;
  }

  start(): void {
    this.#connect();
    addEventListener('online', () => this.#hurry());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#hurry();
    });
  }

  /** Reconnects now instead of waiting. */
  #hurry(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    this.#timer = null;
    await this.#ready();
    this.#connect();
  }

  #connect(): void {
    const asked = this.#newestSeq;
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const since = asked === null ? '' : `&since=${asked}`;
    const socket = new WebSocket(`${scheme}://${location.host}/ws/training?batches=true${since}`);
    this.#socket = socket;
    // Several frames are one message, because each message costs the browser far more than a frame.
    socket.onmessage = ({ data }) => {
      for (const frame of JSON.parse(data as string) as Frame[]) this.#take(frame, asked);
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#lost();
    };
  }

  #take(frame: Frame, asked: number | null): void {
    if (frame.type === 'snapshot') {
      this.#attempts = 0;
      this.#lostAt = null;
      if (this.#staleTimer !== null) clearTimeout(this.#staleTimer);
      this.#staleTimer = null;
      // Missed frames follow the snapshot, so its own `seq` would be too high. A `seq` below the requested one means another
      // data directory: start over.
      if (asked === null || frame.seq < asked) this.#newestSeq = frame.seq;
      this.#onConnection({ state: 'live' });
    } else this.#newestSeq = frame.seq;
    this.#onFrame(frame);
  }

  #lost(): void {
    this.#lostAt ??= Date.now();
    const since = this.#lostAt;
    const stale = Date.now() - since >= staleAfterMs;
    this.#onConnection({ state: stale ? 'stale' : 'reconnecting', since });
    if (!stale) {
      this.#staleTimer ??= setTimeout(() => this.#onConnection({ state: 'stale', since }), staleAfterMs);
    }
    const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#timer = setTimeout(() => void this.#reconnect(), delay * (0.75 + Math.random() / 2));
  }
}
