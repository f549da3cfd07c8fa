import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BonsaiError, shortened } from "@bonsai-agent/messages";
import type { LoginCallbacks } from "./provider-login.ts";

/** The parameters of a callback: a code, or an error. */
export type CallbackAnswer = { code: string } | { error: unknown };

/** Reads the parameters of a callback. Returns undefined if they contain neither code nor error, or several. */
function codeFrom(given: URLSearchParams): CallbackAnswer | undefined {
  const [code, ...codes] = given.getAll("code");
  const [error, ...errors] = given.getAll("error");
  if (codes.length > 0 || errors.length > 0) return undefined;
  if (error) return { error: loginRefusal(error, given.get("error_description")) };
  return code ? { code } : undefined;
}

/** Makes the error for a login that the provider refused. */
export function loginRefusal(error: string, description?: string | null): BonsaiError {
  const said = description ? `${shownLine(error)}: ${shownLine(description)}` : shownLine(error);
  if (error === "access_denied") {
    return new BonsaiError({
      code: "login_denied",
      message: `The login was denied (${said}).`,
      hint: "Start the login again and allow it in the browser.",
    });
  }
  return new BonsaiError({
    code: "login_refused",
    message: `The provider refused the login (${said}).`,
    hint: "Start the login again. If the provider refuses it again, check the settings of the provider or extension.",
  });
}

function loginCancelled(): BonsaiError {
  return new BonsaiError({
    code: "login_cancelled",
    message: "Login cancelled. Nothing was stored.",
    hint: "Start it again with /login.",
  });
}

const MAX_CHARS = 200;

function shownLine(text: string): string {
  return shortened(text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim(), MAX_CHARS);
}

/**
 * Asks for the code until the user pastes it: the address at the end of the login, `code`, or `code#state`. After a
 * paste from another login, asks again. Never settles if the user pastes nothing.
 * @throws BonsaiError `login_denied`, `login_refused` if the pasted address contains an error
 */
export async function pastedCode(
  { onManualCodeInput, onProgress }: Pick<LoginCallbacks, "onManualCodeInput" | "onProgress">,
  state: string,
  signal: AbortSignal,
): Promise<string> {
  while (!signal.aborted) {
    const text = (await onManualCodeInput()).trim();
    if (text === "") continue;
    const answer = readPaste(text, state);
    if (typeof answer === "string") onProgress(answer);
    else if ("error" in answer) throw answer.error;
    else return answer.code;
  }
  return new Promise(() => {});
}

const OTHER_LOGIN = "The pasted code belongs to another login. Log in at the address above.";

/** Returns the callback in a pasted text, or a message that explains why it contains none. */
function readPaste(text: string, state: string): CallbackAnswer | string {
  if (!/[?&=]|^https?:/.test(text)) {
    const [code = "", pastedState] = text.split("#");
    return pastedState === undefined || pastedState === state ? { code } : OTHER_LOGIN;
  }
  const query = text.includes("?") ? text.slice(text.indexOf("?") + 1) : text;
  const parameters = new URLSearchParams(query.split("#")[0]);
  if (parameters.get("state") !== state) return OTHER_LOGIN;
  return codeFrom(parameters) ?? "The pasted address contains no code. Paste the whole address.";
}

/** Returns the protocol's word for a refusal; undefined for other errors. */
export function refusedWith(error: unknown): string | undefined {
  const { error: word } = (error ?? {}) as { error?: unknown };
  return typeof word === "string" ? word : undefined;
}

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
  const { state, ports = [0], signal } = options;
  signal?.throwIfAborted();
  if (state.length < MIN_STATE_CHARS)
    throw new BonsaiError({
      code: "login_state_weak",
      message: `The state of the login has ${state.length} characters. It needs at least ${MIN_STATE_CHARS}, so that nobody can guess it.`,
      hint: "Create it with crypto.randomUUID().",
    });
  const receiver = new Receiver(options);
  await receiver.listen(ports);
  return receiver;
}

/** Accepts one callback. Owns the server, its timer and the listener on the signal. */
class Receiver implements Loopback {
  redirectUri = "";
  readonly #options: LoopbackOptions;
  readonly #path: string;
  readonly #settled = Promise.withResolvers<string>();
  readonly #onAbort = () => this.#end({ error: this.#options.signal?.reason });
  readonly #server = createServer((request, response) => this.#take(request, response));
  #timer: NodeJS.Timeout | undefined;
  #isTaken = false;

  constructor(options: LoopbackOptions) {
    this.#options = options;
    this.#path = options.path ?? "/callback";
    // The caller may never ask for the code.
    this.#settled.promise.catch(() => {});
  }

  code(): Promise<string> {
    return this.#settled.promise;
  }

  close(): void {
    this.#end({ error: loginCancelled() });
  }

  async listen(ports: readonly number[]): Promise<void> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, host = "127.0.0.1", signal } = this.#options;
    this.redirectUri = `http://${host}:${await listening(this.#server, ports)}${this.#path}`;
    this.#timer = setTimeout(() => this.#end({ error: timedOut(timeoutMs) }), timeoutMs);
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { status, page, answer } = this.#reply(request);
    // The callback also counts if the browser has disconnected.
    if (answer !== undefined) response.once("close", () => this.#end(answer));
    response.writeHead(status, head).end(page);
  }

  #end(answer: CallbackAnswer): void {
    this.#isTaken = true;
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#server.close();
    this.#server.closeAllConnections();
    if ("code" in answer) this.#settled.resolve(answer.code);
    else this.#settled.reject(answer.error);
  }

  #reply({ method, url = "/", headers }: IncomingMessage): {
    status: number;
    page: string;
    answer?: CallbackAnswer;
  } {
    const target = URL.parse(url, "http://127.0.0.1");
    // DNS rebinding: a foreign page sends its own host name.
    if (target === null || !isThisMachine(headers.host)) return { status: 400, page: pages.foreign };
    if (target.pathname !== this.#path) return { status: 404, page: pages.nothing };
    if (method !== "GET") return { status: 405, page: pages.nothing };
    const answer = this.#answer(target.searchParams);
    if (answer === undefined) return { status: 400, page: pages.foreign };
    this.#isTaken = true;
    return { status: 200, page: "code" in answer ? pages.done : pages.refused, answer };
  }

  #answer(given: URLSearchParams): CallbackAnswer | undefined {
    const { state, issuer } = this.#options;
    if (this.#isTaken || !isSame(given.getAll("state"), state)) return undefined;
    const isForeign = issuer !== undefined && given.has("iss") && given.get("iss") !== issuer;
    return isForeign ? undefined : codeFrom(given);
  }
}

async function listening(server: Server, ports: readonly number[]): Promise<number> {
  let cause: unknown;
  for (const port of ports) {
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
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
