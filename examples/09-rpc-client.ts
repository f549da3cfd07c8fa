/**
 * A program that controls Bonsai over JSON lines.
 *
 *     node 09-rpc-client.ts "why does the build fail?"
 *     node 09-rpc-client.ts "list the files" -- bonsai --mode rpc --model scripted/09-scenario.json
 */
import { spawn } from "node:child_process";
import type { Readable } from "node:stream";

interface Line {
  type: string;
  [field: string]: unknown;
}

const remedy =
  "Install it with `npm install --global bonsai-agent`, or name another command: -- node /path/to/bonsai.js --mode rpc";

/** One `bonsai --mode rpc`: commands in, responses and events out. */
class BonsaiClient {
  readonly #child;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onEvent: (event: Line) => void;
  #lastId = 0;
  readonly ended: Promise<number | null>;

  constructor([command, ...args]: readonly string[], onEvent: (event: Line) => void) {
    this.#child = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#onEvent = onEvent;
    // The end of its output shows that the program ended.
    this.#child.stdin.on("error", () => {});
    this.ended = this.#listen();
  }

  /** Resolves with the response's data, and rejects with its error. */
  ask(type: string, fields: object = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#child.stdin.write(`${JSON.stringify({ id, type, ...fields })}\n`);
    return answer.promise;
  }

  async #listen(): Promise<number | null> {
    const code = new Promise<number | null>((resolve) => {
      this.#child.once("error", ({ message }) =>
        this.#giveUp(`Bonsai cannot be started (${message}). ${remedy}`),
      );
      this.#child.once("close", resolve);
    });
    for await (const text of linesOf(this.#child.stdout)) this.#take(JSON.parse(text) as Line);
    this.#giveUp("Bonsai ended without an answer.");
    return code;
  }

  #giveUp(message: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
  }

  #take(line: Line): void {
    if (line.type !== "response") {
      this.#onEvent(line);
      return;
    }
    const answer = this.#waiting.get(line.id as number);
    this.#waiting.delete(line.id as number);
    if (line.success) {
      answer?.resolve(line.data);
      return;
    }
    answer?.reject(new Error(`${line.error} [${line.code}]`));
  }
}

/** Splits bytes at LF only: a text can contain every other kind of line end. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  for await (const part of stream as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = part.indexOf(10); end !== -1; end = part.indexOf(10, start)) {
      yield Buffer.concat([...begun, part.subarray(start, end)]).toString("utf8");
      begun = [];
      start = end + 1;
    }
    begun.push(part.subarray(start));
  }
}

/** Sends the prompt, prints the events and the answer, and ends the program. */
async function work(prompt: string, command: readonly string[]): Promise<number> {
  const finished = Promise.withResolvers<void>();
  const bonsai = new BonsaiClient(command, (event) => {
    if (event.type === "tool_execution_start") console.log(`(uses ${event.toolName})`);
    if (event.type === "agent_end" || event.type === "run_failed") finished.resolve();
  });
  await bonsai.ask("prompt", { message: prompt });
  await finished.promise;
  const { text } = (await bonsai.ask("get_last_assistant_text")) as { text: string | null };
  const { tokens } = (await bonsai.ask("get_session_stats")) as { tokens: { total: number } };
  console.log(text ?? "(no answer)");
  console.log(`(${tokens.total} tokens)`);
  await bonsai.ask("shutdown");
  return (await bonsai.ended) ?? 1;
}

const [prompt = "What is in this folder?", separator, ...command] = process.argv.slice(2);
try {
  process.exitCode = await work(prompt, separator === "--" ? command : ["bonsai", "--mode", "rpc"]);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
