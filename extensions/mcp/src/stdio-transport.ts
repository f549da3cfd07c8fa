import type { Readable } from "node:stream";
import { type RunningProgram, startProgram } from "@bonsai-agent/extension";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import type { StdioServer } from "./config.ts";
import {
  mostErrorBytesAtOnce,
  mostMessageBytes,
  mostMessagesAtOnce,
  NoMessage,
  Pace,
  ServerFault,
  tooLong,
} from "./faults.ts";

/** Of its standard error, what is kept: the end. */
const mostErrorChars = 8_000;

/** What a server gets of the environment: nothing that could be a key. The rest is for `env` of its entry. */
const passedOn =
  /^(?:HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|XDG_.*|(?:https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|APPDATA|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROCESSOR_ARCHITECTURE|PROGRAM(?:FILES|DATA)|SYSTEM(?:DRIVE|ROOT)|TE?MP|USERNAME|USERPROFILE|COMSPEC)$/i;

/**
 * Speaks with a server that is a program: one message a line. The SDK's own starts it in our process group, and would
 * end it alone: what it had started, as `npx` does, would stay.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #config: StdioServer;
  readonly #onStderr: (tail: string) => void;
  #program: RunningProgram | undefined;
  #isClosed = false;
  /** Of the line that has not ended. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** One message after the other: the SDK would throw away the progress that comes in one piece with the result. */
  #handed: Promise<void> = Promise.resolve();
  #stderr = "";
  readonly #messages = new Pace(mostMessagesAtOnce);
  readonly #errors = new Pace(mostErrorBytesAtOnce);

  constructor(config: StdioServer, onStderr: (tail: string) => void) {
    this.#config = config;
    this.#onStderr = onStderr;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#config;
    const program = await startProgram({ command, args, cwd, env: { ...inherited(process.env), ...env } });
    if (this.#isClosed) return program.end();
    this.#program = program;
    program.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
    program.stderr.setEncoding("utf8").on("data", (text: string) => this.#keep(text));
    void program.ended.then((code) => this.#ended(code));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program ?? {};
    if (stdin === undefined || this.#isClosed || !stdin.writable)
      throw new Error("The server is not running.");
    // A server that does not read makes no call wait longer than its own time limit.
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    const isFirst = !this.#isClosed;
    this.#isClosed = true;
    this.#pieces = [];
    // Calls that wait end at once, and not when the program has.
    if (isFirst) this.onclose?.();
    await this.#program?.end();
  }

  #ended(code: number | null): void {
    if (this.#isClosed) return;
    const why = code === null ? "was stopped by a signal" : `exited with code ${code}`;
    this.onerror?.(new ServerFault(`The server ${why}.`));
    void this.close();
  }

  #keep(text: string): void {
    this.#stderr = (this.#stderr + text.slice(-mostErrorChars)).slice(-mostErrorChars);
    this.#onStderr(this.#stderr);
    this.#rest(this.#program?.stderr, this.#errors.add(text.length));
  }

  /** What it writes meanwhile waits in its pipe. */
  #rest(stream: Readable | undefined, ms: number): void {
    if (ms === 0 || stream === undefined || stream.isPaused()) return;
    stream.pause();
    setTimeout(() => stream.resume(), ms);
  }

  #take(bytes: Buffer): void {
    let from = 0;
    let lines = 0;
    for (
      let newline = bytes.indexOf(10);
      newline >= 0 && !this.#isClosed;
      newline = bytes.indexOf(10, from)
    ) {
      this.#pieces.push(bytes.subarray(from, newline));
      const line = Buffer.concat(this.#pieces).toString("utf8");
      this.#pieces = [];
      this.#bytes = 0;
      from = newline + 1;
      lines += 1;
      this.#read(line.trim());
    }
    this.#rest(this.#program?.stdout, this.#messages.add(lines));
    if (this.#isClosed) return;
    const rest = bytes.subarray(from);
    this.#pieces.push(rest);
    this.#bytes += rest.length;
    if (this.#bytes <= mostMessageBytes) return;
    this.onerror?.(tooLong());
    void this.close();
  }

  #read(line: string): void {
    if (line === "") return;
    const message = messageOf(line);
    if (message === undefined) this.onerror?.(new NoMessage(line));
    else
      this.#handed = this.#handed
        .then(() => this.onmessage?.(message))
        .catch((error) => this.onerror?.(error));
  }
}

/** Undefined for what is none. An answer without a result or error is an error: whoever waits for it need not wait on. */
function messageOf(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const message = JSONRPCMessageSchema.safeParse(value).data;
    const { id, method } = (value ?? {}) as { id?: unknown; method?: unknown };
    if (message !== undefined || method !== undefined || typeof id !== "number") return message;
    const error = {
      code: ErrorCode.InternalError,
      message: "The server's answer has no result.",
    };
    return { jsonrpc: "2.0", id, error };
  } catch {
    return undefined;
  }
}

function inherited(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name)));
}
