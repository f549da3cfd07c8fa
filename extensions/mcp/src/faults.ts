/** Why a connection is over. */
export class ServerFault extends Error {}

/** What stands on a server's standard output and is no message. */
export class NoMessage extends Error {
  constructor(line: string) {
    super(`The server wrote text to standard output that is not an MCP message: ${line.slice(0, 80)}`);
  }
}

/** Of one message, with images and files in it. A server that sends more is closed. */
export const mostMessageBytes = 32 << 20;

/** For the SDK's own limits, where a limit of Bonsai ends the request before. */
export const NEVER_MS = 2_147_483_647;

export function tooLong(): ServerFault {
  return new ServerFault(`The server sent a message larger than ${mostMessageBytes >> 20} MB.`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * How fast a server may write: so many messages, or bytes of what is none, in a tenth of a second. Above that it has to
 * wait, for reading all that a runaway writes would leave no time for anything else.
 */
export class Pace {
  readonly #most: number;
  #sinceMs = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @returns milliseconds to wait before more is read */
  add(count: number): number {
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs >= windowMs) {
      this.#sinceMs = nowMs;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count > this.#most ? windowMs : 0;
  }
}

const windowMs = 100;

/** Messages. */
export const mostMessagesAtOnce = 500;
/** Bytes of a standard error. */
export const mostErrorBytesAtOnce = 1 << 20;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** Rejects if the task has not ended after this time. The task goes on. */
export async function withinTime<Result>(task: Promise<Result>, limitMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The server did not answer within ${limitMs / 1_000} s.`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([task, late]);
  } finally {
    clearTimeout(timer);
  }
}
