import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BonsaiError } from "@bonsai-agent/messages";
import { type CallbackAnswer, codeFrom, loginCancelled } from "./callback.ts";

/** Options of the server that receives a login's callback. */
export interface LoopbackOptions {
  /** The `state` of the request. A callback needs it. At least 16 characters. */
  state: string;
  /** Default `/callback`. */
  path?: string | undefined;
  /** Tried in order; 0 is any free port. Default `[0]`. */
  ports?: readonly number[] | undefined;
  /** The host in `redirectUri`, as registered at the provider. The server listens on 127.0.0.1. Default `127.0.0.1`. */
  host?: "127.0.0.1" | "localhost" | undefined;
  /** Refuses a callback that names another issuer. Default: accepts every issuer. */
  issuer?: string | undefined;
  /** Milliseconds. Default ten minutes. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A server on this machine that waits for one callback. */
export interface Loopback {
  /** `http://127.0.0.1:PORT/callback`. */
  redirectUri: string;
  /**
   * Returns the code. The server is closed then.
   * @throws BonsaiError `login_denied`, `login_timeout`, `login_cancelled`; the signal's reason after an abort
   */
  code(): Promise<string>;
  /** Ends the wait: `code` throws `login_cancelled`. A second call does nothing. */
  close(): void;
}

const DEFAULT_TIMEOUT_MS = 10 * 60_000;
const MIN_STATE_CHARS = 16;

/**
 * Waits on 127.0.0.1 for the callback of a login. Accepts one callback with the right state and refuses others with 400.
 * @throws BonsaiError `login_port_taken` if no port is free, `login_state_weak`; the signal's reason after an abort
 */
export async function openLoopback(options: LoopbackOptions): Promise<Loopback> {
  const { state, path = "/callback", ports = [0], host = "127.0.0.1", signal } = options;
  signal?.throwIfAborted();
  if (state.length < MIN_STATE_CHARS) throw weakState(state);
  const receiver = new Receiver(options);
  const server = createServer((request, response) => receiver.take(request, response));
  const port = await listening(server, ports);
  receiver.open(server);
  return {
    redirectUri: `http://${host}:${port}${path}`,
    code: () => receiver.code,
    close: () => receiver.end({ error: loginCancelled() }),
  };
}

async function listening(server: Server, ports: readonly number[]): Promise<number> {
  let cause: unknown;
  for (const port of ports) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, "127.0.0.1", () => {
          server.off("error", reject);
          resolve();
        });
      });
      return (server.address() as AddressInfo).port;
    } catch (error) {
      cause = error;
    }
  }
  throw new BonsaiError({
    code: "login_port_taken",
    message: `Cannot receive the browser's login: cannot use port ${ports.join(" or ")} on 127.0.0.1 (${(cause as Error | undefined)?.message ?? "no ports given"}).`,
    hint: "Close the program that uses the port, for example another login. Then try again.",
    cause,
  });
}

interface Reply {
  status: number;
  page: string;
  answer?: CallbackAnswer;
}

/** Accepts one callback. Owns the server, its timer and the listener on the signal. */
class Receiver {
  readonly #options: LoopbackOptions;
  readonly #settled = Promise.withResolvers<string>();
  readonly #onAbort = () => this.end({ error: this.#options.signal?.reason });
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isTaken = false;

  constructor(options: LoopbackOptions) {
    this.#options = options;
    // The caller may never ask for the code.
    this.#settled.promise.catch(() => {});
  }

  get code(): Promise<string> {
    return this.#settled.promise;
  }

  open(server: Server): void {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = this.#options;
    this.#server = server;
    this.#timer = setTimeout(() => this.end({ error: timedOut(timeoutMs) }), timeoutMs);
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const { status, page, answer } = this.#reply(request);
    // The callback also counts if the browser has disconnected.
    if (answer !== undefined) response.once("close", () => this.end(answer));
    response.writeHead(status, head).end(page);
  }

  end(answer: CallbackAnswer): void {
    this.#isTaken = true;
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#server?.close();
    this.#server?.closeAllConnections();
    if ("code" in answer) this.#settled.resolve(answer.code);
    else this.#settled.reject(answer.error);
  }

  #reply({ method, url = "/", headers }: IncomingMessage): Reply {
    const target = URL.parse(url, "http://127.0.0.1");
    // DNS rebinding: a foreign page sends its own host name.
    if (target === null || !isThisMachine(headers.host)) return { status: 400, page: pages.foreign };
    if (target.pathname !== (this.#options.path ?? "/callback")) return { status: 404, page: pages.nothing };
    if (method !== "GET") return { status: 405, page: pages.nothing };
    const answer = this.#answer(target.searchParams);
    if (answer === undefined) return { status: 400, page: pages.foreign };
    this.#isTaken = true;
    return { status: 200, page: "code" in answer ? pages.done : pages.refused, answer };
  }

  #answer(given: URLSearchParams): CallbackAnswer | undefined {
    if (this.#isTaken || !isSame(given.getAll("state"), this.#options.state)) return undefined;
    const issuer = given.get("iss");
    if (this.#options.issuer !== undefined && issuer !== null && issuer !== this.#options.issuer)
      return undefined;
    return codeFrom(given);
  }
}

function isThisMachine(host: string | undefined): boolean {
  return /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(host ?? "");
}

/** Compares in constant time. */
function isSame(given: readonly string[], expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return given.length === 1 && timingSafeEqual(digest(given[0]!), digest(expected));
}

const style =
  "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;text-align:center}h1{font-size:1.4rem}";

const head = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  connection: "close",
};

/** Fixed texts: a page repeats no part of the request. */
const pages = {
  done: page("You are logged in", "You can close this page and return to the terminal."),
  refused: page("You are not logged in", "The provider refused the login. See the terminal for the reason."),
  foreign: page(
    "Unexpected login",
    "Bonsai is not waiting for this login. Start the login again in the terminal.",
  ),
  nothing: page("Page not found", "The login uses another address."),
};

function page(title: string, text: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width"><title>Bonsai: ${title}</title><style>${style}</style></head><body><h1>${title}</h1><p>${text}</p></body></html>\n`;
}

function timedOut(timeoutMs: number): BonsaiError {
  return new BonsaiError({
    code: "login_timeout",
    message: `The browser did not finish the login within ${Math.round(timeoutMs / 1000)} s.`,
    hint: "Start the login again. If the browser runs on another machine, paste its final address here.",
  });
}

function weakState(state: string): BonsaiError {
  return new BonsaiError({
    code: "login_state_weak",
    message: `The state of the login has ${state.length} characters. It needs at least ${MIN_STATE_CHARS}, so that nobody can guess it.`,
    hint: "Create it with crypto.randomUUID().",
  });
}
