import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { htmlHead, pageBundle, pageJson, pagePolicy } from "./html.ts";
import type { PageData, PageRows, PageUpdate } from "./page-data.ts";
import type { SessionPage } from "./session-page.ts";

/** The session that is served. */
export interface PageSource {
  /** Another value after each change. Read twice a second while a page is open. */
  state(): string;
  /** The session as it is now. Returns the same page if entries were only added. */
  open(): SessionPage;
}

export interface ServeOptions {
  source: PageSource;
  /** Default: any free one. */
  port?: number | undefined;
  /** Time between the last closed page and the end. A reloaded page connects again within it. Default: 3,000 */
  graceMs?: number | undefined;
  /** False to let the program end while it serves. Default: true */
  holdsProcess?: boolean | undefined;
}

/** A page that is served until it is closed. */
export interface ServedPage {
  /** Contains the secret token. */
  readonly url: string;
  /** Resolves after `close`, or after the last page was closed. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

const GRACE_MS = 3_000;
const LOOK_MS = 500;
/** Finds pages that disappeared. */
const HEARTBEAT_MS = 15_000;
const TOKEN_BYTES = 24;
/** Pages that follow at once. */
const MAX_FOLLOWERS = 32;

/**
 * Serves a session's page on the loopback address, read-only. Answers 404 to requests without the token, from another origin
 * or for another host.
 * @throws the error of opening the session, or of a port in use
 */
export async function servePage(options: ServeOptions): Promise<ServedPage> {
  const { source, port = 0, graceMs = GRACE_MS, holdsProcess = true } = options;
  const served = new PageServer(source, graceMs);
  served.data();
  const server = createServer((request, response) => served.answer(request, response));
  await listening(server, port);
  if (!holdsProcess) {
    server.on("connection", (socket) => socket.unref());
    server.unref();
  }
  const { port: actual } = server.address() as AddressInfo;
  served.begin(actual);
  const ended = served.ended.then(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  });
  const close = () => {
    served.end();
    return ended;
  };
  return { url: `http://127.0.0.1:${actual}/${served.token}/`, ended: served.ended.then(close), close };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

class PageServer {
  readonly token = randomBytes(TOKEN_BYTES).toString("base64url");
  readonly ended: Promise<void>;
  end: () => void = () => {};
  readonly #source: PageSource;
  readonly #graceMs: number;
  readonly #followers = new Set<ServerResponse>();
  #hosts: readonly string[] = [];
  #page: SessionPage | undefined;
  #data: PageData | undefined;
  #state = "";
  /** Counts how often the session was read from its beginning. */
  #revision = 0;
  /** The state that the pages know. A request for a chunk can have read a newer one. */
  #announced = "";
  #grace: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #beating: NodeJS.Timeout | undefined;

  constructor(source: PageSource, graceMs: number) {
    this.#source = source;
    this.#graceMs = graceMs;
    this.ended = new Promise((resolve) => {
      this.end = () => {
        clearTimeout(this.#grace);
        clearInterval(this.#looking);
        clearInterval(this.#beating);
        resolve();
      };
    });
  }

  begin(port: number): void {
    this.#hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
    this.#announced = this.#state;
    // Only the server keeps the program running.
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#beating = setInterval(() => this.#announce(":\n\n"), HEARTBEAT_MS).unref();
  }

  /** The data of the session as it is now. */
  data(): PageData {
    const state = this.#source.state();
    if (this.#data === undefined || state !== this.#state) {
      const page = this.#source.open();
      if (page !== this.#page) this.#revision += 1;
      this.#page = page;
      this.#data = this.#page.data();
      this.#state = state;
    }
    return this.#data;
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      this.#answer(request, response);
    } catch {
      // The file may be readable again later.
      refuse(response, 500);
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = this.#allowedPath(request);
    const { pathname, searchParams } = new URL(path ?? "/none", "http://page/");
    const [, first, count] = /^\/chunk\/(\d{1,12})-(\d{1,12})$/.exec(pathname) ?? [];
    const [, end] = /^\/compare\/(\d{1,12})$/.exec(pathname) ?? [];
    if (path === undefined) refuse(response, 404);
    else if (request.method !== "GET") refuse(response, 405);
    else if (pathname === "/") this.#sendHtml(response);
    else if (pathname === "/data") this.#sendData(response, searchParams);
    else if (pathname === "/events") this.#follow(response);
    else if (first !== undefined) this.#sendChunk(response, Number(first), Number(count));
    else if (end !== undefined) this.#sendComparison(response, Number(end));
    else refuse(response, 404);
  }

  /** The path after the token; undefined without permission. */
  #allowedPath({ headers, url = "" }: IncomingMessage): string | undefined {
    if (!this.#hosts.includes(headers.host ?? "")) return undefined;
    const { origin } = headers;
    if (origin !== undefined && !this.#hosts.some((host) => origin === `http://${host}`)) return undefined;
    const site = headers["sec-fetch-site"];
    if (site !== undefined && site !== "same-origin" && site !== "none") return undefined;
    const [, token = "", path = ""] = /^\/([^/?]*)(\/.*)?$/s.exec(url) ?? [];
    const [given, own] = [Buffer.from(token), Buffer.from(this.token)];
    if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
    return path;
  }

  #sendHtml(response: ServerResponse): void {
    const bundle = pageBundle();
    const { session } = this.data();
    const html = `${htmlHead(session.title, bundle, "'self'")}<script>${bundle.script}</script>\n</body></html>\n`;
    const policy = `${pagePolicy(bundle, "'self'")}; frame-ancestors 'none'`;
    send(response, {
      type: "text/html; charset=utf-8",
      body: html,
      headers: { "Content-Security-Policy": policy },
    });
  }

  #sendData(response: ServerResponse, asked: URLSearchParams): void {
    const data = this.data();
    const from = this.#knownRows(asked, data);
    const columns = Object.entries(data.rows).map(([name, column]) => [name, column.slice(from)]);
    const rows = Object.fromEntries(columns) as PageRows;
    const requests = data.requests.filter(({ row }) => row >= from);
    const update: PageUpdate = { from, revision: this.#revision, data: { ...data, rows, requests } };
    sendJson(response, update);
  }

  /** Number of rows that a page has and that are still valid; 0 if it shows another session. */
  #knownRows(asked: URLSearchParams, { session, rows }: PageData): number {
    const count = Number(asked.get("from"));
    const isRevision = asked.get("revision") === String(this.#revision);
    const isSession = isRevision && asked.get("session") === session.id;
    const isSame = isSession && count > 0 && rows.ids[count - 1] === asked.get("last");
    return isSame ? count : 0;
  }

  #sendChunk(response: ServerResponse, first: number, count: number): void {
    const { chunks } = this.data();
    // The last chunk grows: a page may still ask for its earlier size.
    const place = chunks.find((each) => each.first === first && count <= each.count);
    if (place === undefined) refuse(response, 404);
    else sendJson(response, this.#page!.bodies({ first, count }));
  }

  #sendComparison(response: ServerResponse, end: number): void {
    if (!this.data().compared.includes(end)) refuse(response, 404);
    else sendJson(response, this.#page!.comparison(end));
  }

  #follow(response: ServerResponse): void {
    if (this.#followers.size >= MAX_FOLLOWERS) {
      refuse(response, 503);
      return;
    }
    response.writeHead(200, { ...commonHeaders, "Content-Type": "text/event-stream" });
    response.write("retry: 500\n\n");
    clearTimeout(this.#grace);
    this.#followers.add(response);
    // The session may have changed since the page read its data.
    response.write(CHANGED);
    response.on("close", () => {
      this.#followers.delete(response);
      if (this.#followers.size === 0) this.#grace = setTimeout(() => this.end(), this.#graceMs);
    });
  }

  #look(): void {
    if (this.#followers.size === 0) return;
    const state = this.#stateNow();
    if (state === undefined || state === this.#announced) return;
    this.#announced = state;
    this.#announce(CHANGED);
  }

  /** Undefined while the session cannot be read. */
  #stateNow(): string | undefined {
    try {
      return this.#source.state();
    } catch {
      return undefined;
    }
  }

  /** Disconnects a page that does not read. */
  #announce(text: string): void {
    for (const follower of this.#followers)
      if (follower.writableNeedDrain) follower.destroy();
      else follower.write(text);
  }
}

const CHANGED = "event: changed\ndata: {}\n\n";

const commonHeaders = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
};

function sendJson(response: ServerResponse, value: unknown): void {
  send(response, { type: "application/json", body: pageJson(value), headers: {} });
}

function send(
  response: ServerResponse,
  { type, body, headers }: { type: string; body: string; headers: Record<string, string> },
): void {
  response.writeHead(200, { ...commonHeaders, ...headers, "Content-Type": type });
  response.end(body);
}

function refuse(response: ServerResponse, status: number): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...commonHeaders, "Content-Type": "text/plain" });
  response.end();
}
