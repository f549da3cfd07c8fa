import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type PageUpdate, REVISION_HEADER, sentData } from "./columns.ts";
import { htmlHead, pageBundle, pageJson, pagePolicy } from "./html.ts";
import type { PageData, PageRows } from "./page-data.ts";
import type { SessionPage } from "./session-page.ts";

/** The session that is served. */
export interface PageSource {
  /** Another value after each change: looked at twice a second while somebody looks at the page. */
  state(): string;
  /** The session as it is now; asked for again after a change. The same page where it was only added to. */
  open(): SessionPage;
}

export interface ServeOptions {
  source: PageSource;
  /** Default: one that is free. */
  port?: number | undefined;
  /** Ends so long after the last page was closed; a page that is loaded anew comes back before. Default: 3,000 */
  graceMs?: number | undefined;
  /** False to let the program end while it serves. Default: true */
  holdsProcess?: boolean | undefined;
}

/** A page that is served until it is closed. */
export interface ServedPage {
  /** With the token that lets somebody in: not for others. */
  readonly url: string;
  /** Settles when it was closed, or when the last page that showed it was. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

const USUAL_PORT = 80;
const GRACE_MS = 3_000;
const LOOK_MS = 500;
/** A page that is gone without a word is noticed by then. */
const HEARTBEAT_MS = 15_000;
const TOKEN_BYTES = 24;
/** Pages that follow at once. */
const MAX_FOLLOWERS = 32;

/**
 * Serves a session's page on the loopback address, read-only. Who does not know the token, comes from another origin, or
 * names another host gets nothing, and is told nothing.
 * @throws what opening the session throws, and the system's error where the port is taken
 */
export async function servePage(options: ServeOptions): Promise<ServedPage> {
  const { source, port = 0, graceMs = GRACE_MS, holdsProcess = true } = options;
  const served = new Served(source, graceMs);
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

class Served {
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
  /** Another number when the session was read anew, and not only read on. */
  #revision = 0;
  /** The state that the pages were told. A request for a chunk can have read a newer one. */
  #told = "";
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
    const names = ["127.0.0.1", "localhost"];
    // The port that is usual is not named.
    this.#hosts = names.flatMap((name) =>
      port === USUAL_PORT ? [name, `${name}:${port}`] : `${name}:${port}`,
    );
    this.#told = this.#state;
    // The server holds the program, where anything does.
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#beating = setInterval(() => this.#tell(":\n\n"), HEARTBEAT_MS).unref();
  }

  /** As the session is now; read anew only when it has changed. */
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
    const path = this.#admitted(request);
    const { pathname, searchParams } = new URL(path ?? "/none", "http://page/");
    const [, first, count] = /^\/chunk\/(\d{1,12})-(\d{1,12})$/.exec(pathname) ?? [];
    const [, end] = /^\/compare\/(\d{1,12})$/.exec(pathname) ?? [];
    if (path === undefined) refuse(response, 404);
    else if (path === "") redirect(response, `/${this.token}/`);
    else if (request.method !== "GET" && request.method !== "HEAD") refuse(response, 405);
    else if (pathname === "/") this.#sendHtml(response);
    else if (pathname === "/data") this.#sendData(response, searchParams);
    else if (pathname === "/events") this.#follow(request, response);
    else if (first !== undefined) this.#sendChunk(response, Number(first), Number(count));
    else if (end !== undefined) this.#sendComparison(response, Number(end));
    else refuse(response, 404);
  }

  /** The path after the token; undefined without permission. */
  #admitted({ headers, url = "" }: IncomingMessage): string | undefined {
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
    if (!asked.has("from")) {
      sendJson(response, sentData(data), this.#revision);
      return;
    }
    const from = this.#known(asked, data);
    const columns = Object.entries(data.rows).map(([name, column]) => [name, column.slice(from)]);
    const rows = Object.fromEntries(columns) as PageRows;
    const requests = data.requests.filter(({ row }) => row >= from);
    const update: PageUpdate = { from, data: sentData({ ...data, rows, requests }) };
    sendJson(response, update, this.#revision);
  }

  /** How many rows a page has that are still so: none where another session stands in the place of its own. */
  #known(asked: URLSearchParams, { session, rows }: PageData): number {
    const count = Number(asked.get("from"));
    const isRevision = asked.get("revision") === String(this.#revision);
    const isSession = isRevision && asked.get("session") === session.id;
    const isSame = isSession && count > 0 && rows.ids[count - 1] === asked.get("last");
    return isSame ? count : 0;
  }

  #sendChunk(response: ServerResponse, first: number, count: number): void {
    const { chunks } = this.data();
    // The last one grows: what was told of it a moment ago is still a part of it.
    const place = chunks.find((each) => each.first === first && count <= each.count);
    if (place === undefined) refuse(response, 404);
    else sendJson(response, this.#page!.bodies({ first, count }), this.#revision);
  }

  #sendComparison(response: ServerResponse, end: number): void {
    if (!this.data().compared.includes(end)) refuse(response, 404);
    else sendJson(response, this.#page!.comparison(end), this.#revision);
  }

  #follow({ method }: IncomingMessage, response: ServerResponse): void {
    // A HEAD request does not follow.
    if (method === "HEAD") {
      response.writeHead(200, { ...commonHeaders, "Content-Type": "text/event-stream" });
      response.end();
      return;
    }
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
    if (state === undefined || state === this.#told) return;
    this.#told = state;
    this.#tell(CHANGED);
  }

  /** Undefined while it cannot be told, when its folder may not be read, say: it is looked at again. */
  #stateNow(): string | undefined {
    try {
      return this.#source.state();
    } catch {
      return undefined;
    }
  }

  /** Disconnects a page that does not read. */
  #tell(text: string): void {
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

function sendJson(response: ServerResponse, value: unknown, revision: number): void {
  const headers = { [REVISION_HEADER]: String(revision) };
  send(response, { type: "application/json", body: pageJson(value), headers });
}

function send(
  response: ServerResponse,
  { type, body, headers }: { type: string; body: string; headers: Record<string, string> },
): void {
  response.writeHead(200, { ...commonHeaders, ...headers, "Content-Type": type });
  response.end(body);
}

/** The page's own requests are relative to its folder. */
function redirect(response: ServerResponse, path: string): void {
  response.writeHead(308, { ...commonHeaders, Location: path });
  response.end();
}

function refuse(response: ServerResponse, status: number): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...commonHeaders, "Content-Type": "text/plain" });
  response.end();
}
