import { PassThrough } from "node:stream";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { expect } from "vitest";
import { type AgentProject, agentProject, jsonLines } from "./agent-project.ts";
import type { CliRun } from "./run-cli.ts";

export type RpcLine = Record<string, unknown>;

/** One run of `--mode rpc`: lines are sent to it, and waited for. */
export class RpcSession {
  readonly lines: RpcLine[] = [];
  readonly project: AgentProject;
  readonly ended: Promise<CliRun>;
  readonly #input = new PassThrough();
  readonly #waiting = new Set<() => void>();
  #rest = "";
  #asked = 0;

  constructor(project: AgentProject, argv: readonly string[] = [], signal?: AbortSignal) {
    this.project = project;
    const onOutput = (text: string) => this.#heard(text);
    const stop = signal === undefined ? {} : { signal };
    this.ended = project.run(["--mode", "rpc", ...argv], { stdin: this.#input, onOutput, ...stop });
  }

  send(command: object): void {
    this.#input.write(`${JSON.stringify(command)}\n`);
  }

  /** Sends what is no command. */
  sendText(text: string): void {
    this.#input.write(text);
  }

  /** Sends a command and waits for its response. */
  async ask(command: { type: string } & RpcLine): Promise<RpcLine> {
    const id = `${command.type}-${++this.#asked}`;
    this.send({ id, ...command });
    return this.wait((line) => line.type === "response" && line.id === (command.id ?? id));
  }

  /** The first line, from `from` on, that is looked for; rejects when the mode ends without it. */
  async wait(isIt: (line: RpcLine) => boolean, from = 0): Promise<RpcLine> {
    let hasEnded = false;
    const ended = this.ended.then(() => {
      hasEnded = true;
    });
    for (;;) {
      const found = this.lines.slice(from).find(isIt);
      if (found !== undefined) return found;
      if (hasEnded) throw new Error(`Not told: ${isIt}; what was told: ${JSON.stringify(this.lines)}`);
      await Promise.race([ended, new Promise<void>((resolve) => this.#waiting.add(resolve))]);
    }
  }

  /** Ends the input. */
  end(): Promise<CliRun> {
    this.#input.end();
    return this.ended;
  }

  #heard(text: string): void {
    const whole = this.#rest + text;
    const end = whole.lastIndexOf("\n") + 1;
    this.#rest = whole.slice(end);
    this.lines.push(...jsonLines(whole.slice(0, end)));
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export const isEnd = ({ type }: RpcLine): boolean => type === "agent_end";

/** A scenario whose second answer takes a minute. */
export const slow = {
  contextWindow: 100_000,
  turn: [{ calls: [{ name: "ls" }] }, { text: "slow", delayMs: 60_000 }],
};

export function isUpdate({ type }: RpcLine): boolean {
  return type === "tool_execution_end";
}

/** A client with pi's request ids and checks of responses. */
export class PiRpc extends RpcSession {
  #sent = 0;

  constructor(given: Scenario | AgentProject, argv?: readonly string[]) {
    super("home" in given ? given : agentProject(given), argv);
  }

  call(type: string, fields: object = {}): Promise<RpcLine> {
    this.#sent += 1;
    return this.ask({ type, ...fields, id: `req_${this.#sent}` });
  }

  /** The data of a successful response. */
  async data<Data = RpcLine>(type: string, fields?: object): Promise<Data> {
    const response = await this.call(type, fields);
    expect(response, JSON.stringify(response)).toMatchObject({ success: true, command: type });
    return response.data as Data;
  }

  async say(message: string): Promise<void> {
    const from = this.lines.length;
    await this.data("prompt", { message });
    await this.wait(({ type }) => type === "agent_settled", from);
  }
}
