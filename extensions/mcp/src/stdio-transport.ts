import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningProgram, startProgram, textTail } from "@bonsai-agent/extension";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import type { StdioServer } from "./config.ts";
import { MAX_MESSAGE_BYTES, NoMessage, ServerFault, tooLong } from "./faults.ts";

/** Kept end of the standard error. */
const MAX_ERROR_CHARS = 8_000;
/** Maximum wait for the rest of an ended program's standard error, which its children may keep open. */
const LAST_ERROR_MS = 500;

/** Inherited variables: none of them can be a key. The rest is for `env` of the entry. */
const INHERITED =
  /^(?:HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|XDG_.*|(?:https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|APPDATA|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROCESSOR_ARCHITECTURE|PROGRAM(?:FILES|DATA)|SYSTEM(?:DRIVE|ROOT)|TE?MP|USERNAME|USERPROFILE|COMSPEC)$/i;

/**
 * Speaks with a server that is a program, one message a line. The SDK's own transport loses on three points: it ends the
 * program but not what the program started, as `npx` does; it is silent about lines that are no message; and it copies
 * everything read so far for each chunk of a message: 8 GB for a message of 32 MB.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #config: StdioServer;
  readonly #onStderr: (tail: string) => void;
  #program: RunningProgram | undefined;
  #isClosed = false;
  /** Pieces of the line that has not ended. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #stderr = "";

  constructor(config: StdioServer, onStderr: (tail: string) => void) {
    this.#config = config;
    this.#onStderr = onStderr;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#config;
    const inherited = Object.entries(process.env).filter(([name]) => INHERITED.test(name));
    const program = await startProgram({
      command,
      args,
      cwd,
      env: { ...Object.fromEntries(inherited), ...env },
    });
    if (this.#isClosed) return program.end();
    this.#program = program;
    program.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
    program.stderr.setEncoding("utf8").on("data", (text: string) => this.#keep(text));
    const isRead = finished(program.stderr).catch(() => {});
    void program.ended.then(async (code) => {
      await Promise.race([isRead, delay(LAST_ERROR_MS, undefined, { ref: false })]);
      const end = code === null ? "was stopped by a signal" : `exited with code ${code}`;
      this.#fail(new ServerFault(`The server ${end}.`));
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program ?? {};
    if (stdin === undefined || this.#isClosed || !stdin.writable)
      throw new Error("The server is not running.");
    // Does not wait for a server that reads nothing: the call has its own time limit.
    stdin.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    const isFirst = !this.#isClosed;
    this.#isClosed = true;
    this.#pieces = [];
    // Waiting calls end now, not when the program has ended.
    if (isFirst) this.onclose?.();
    await this.#program?.end();
  }

  #fail(fault: ServerFault): void {
    if (this.#isClosed) return;
    this.onerror?.(fault);
    void this.close();
  }

  #keep(text: string): void {
    this.#stderr = textTail(this.#stderr + textTail(text, MAX_ERROR_CHARS), MAX_ERROR_CHARS);
    this.#onStderr(this.#stderr);
  }

  #take(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0 && !this.#isClosed; end = bytes.indexOf(10, from)) {
      this.#pieces.push(bytes.subarray(from, end));
      this.#read(Buffer.concat(this.#pieces).toString("utf8").trim());
      this.#pieces = [];
      this.#bytes = 0;
      from = end + 1;
    }
    if (this.#isClosed) return;
    this.#pieces.push(bytes.subarray(from));
    this.#bytes += bytes.length - from;
    if (this.#bytes > MAX_MESSAGE_BYTES) this.#fail(tooLong());
  }

  #read(line: string): void {
    if (line === "") return;
    const message = messageIn(line);
    if (message === undefined) this.onerror?.(new NoMessage(line));
    else this.onmessage?.(message);
  }
}

/** Undefined for a line that is not a message. An answer without a result or error becomes an error: its call ends. */
function messageIn(line: string): JSONRPCMessage | undefined {
  let value: { id?: unknown; method?: unknown } | null;
  try {
    value = JSON.parse(line);
    return deserializeMessage(line);
  } catch {
    const { id, method } = value! ?? {};
    if (method !== undefined || typeof id !== "number") return undefined;
    return { jsonrpc: "2.0", id, error: { code: -32_603, message: "The server's answer has no result." } };
  }
}
