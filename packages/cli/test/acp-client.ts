import { PassThrough, Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk";
import type { AgentProject } from "./agent-project.ts";
import type { CliRun } from "./run-cli.ts";

interface AcpClientOptions {
  capabilities?: acp.ClientCapabilities;
  argv?: readonly string[];
  signal?: AbortSignal;
  /** Answers a permission. Default: the first option. */
  permit?: (request: acp.RequestPermissionRequest) => string | undefined | Promise<string | undefined>;
  /** Answers other requests by method. */
  requests?: Record<string, (params: never) => unknown>;
}

type UpdateName = acp.SessionUpdate["sessionUpdate"];
type UpdateOf<Name extends UpdateName> = Extract<acp.SessionUpdate, { sessionUpdate: Name }>;

/** One run of `--mode acp`, with a client of the SDK. */
export class AcpClient {
  readonly updates: acp.SessionNotification[] = [];
  readonly permissions: acp.RequestPermissionRequest[] = [];
  readonly project: AgentProject;
  readonly ended: Promise<CliRun>;
  readonly agent: acp.ClientContext;
  readonly lines: string[] = [];
  readonly #input = new PassThrough();
  readonly #connection: acp.ClientConnection;
  readonly #waiting = new Set<() => void>();

  constructor(project: AgentProject, options: AcpClientOptions = {}) {
    this.project = project;
    const { argv = [], signal, permit = ({ options: [first] }) => first?.optionId, requests = {} } = options;
    const output = new PassThrough();
    const onOutput = (text: string) => {
      this.lines.push(text);
      output.write(text);
    };
    const stop = signal === undefined ? {} : { signal };
    this.ended = project.run(["--mode", "acp", ...argv], { stdin: this.#input, onOutput, ...stop });
    const app = acp
      .client({ name: "test" })
      .onNotification("session/update", ({ params }) => {
        this.updates.push(params);
        for (const resolve of this.#waiting) resolve();
        this.#waiting.clear();
      })
      .onRequest("session/request_permission", async ({ params }) => {
        this.permissions.push(params);
        const optionId = await permit(params);
        return {
          outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId },
        };
      });
    for (const [method, answer] of Object.entries(requests))
      app.onRequest(method as "fs/read_text_file", ({ params }) => answer(params as never) as never);
    const stream = acp.ndJsonStream(
      Writable.toWeb(this.#input) as WritableStream<Uint8Array>,
      Readable.toWeb(output) as unknown as ReadableStream<Uint8Array>,
    );
    this.#connection = app.connect(stream);
    this.agent = this.#connection.agent;
  }

  static async open(
    project: AgentProject,
    options: AcpClientOptions = {},
  ): Promise<{ client: AcpClient; initialized: acp.InitializeResponse }> {
    const client = new AcpClient(project, options);
    const clientCapabilities = options.capabilities ?? {};
    const initialized = await client.agent.request("initialize", { protocolVersion: 1, clientCapabilities });
    return { client, initialized };
  }

  newSession(cwd = this.project.cwd, mcpServers: acp.McpServer[] = []): Promise<acp.NewSessionResponse> {
    return this.agent.request("session/new", { cwd, mcpServers });
  }

  async prompt(sessionId: string, text: string): Promise<acp.PromptResponse> {
    const prompt: acp.ContentBlock[] = [{ type: "text", text }];
    const response = await this.agent.request("session/prompt", { sessionId, prompt });
    // The SDK handles a response before the notifications in front of it.
    await setImmediate();
    return response;
  }

  /** All updates of a kind so far. */
  of<Name extends UpdateName>(name: Name, from = 0): UpdateOf<Name>[] {
    return this.updates
      .slice(from)
      .map(({ update }) => update)
      .filter((update) => update.sessionUpdate === name) as UpdateOf<Name>[];
  }

  /** The text of all chunks of a kind. */
  text(
    name: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk" = "agent_message_chunk",
    from = 0,
  ): string {
    return this.of(name, from)
      .map(({ content }) => (content.type === "text" ? content.text : `[${content.type}]`))
      .join("");
  }

  async wait(isIt: (notification: acp.SessionNotification) => boolean, from = 0): Promise<acp.SessionUpdate> {
    for (;;) {
      const found = this.updates.slice(from).find(isIt);
      if (found !== undefined) return found.update;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Sends a text that is no message of the SDK. */
  sendText(text: string): void {
    this.#input.write(text);
  }

  /** Leaves, as a closed editor does. */
  leave(): Promise<CliRun> {
    this.#connection.close();
    this.#input.end();
    return this.ended;
  }
}

/** The error of a request. */
export async function errorOf(request: Promise<unknown>): Promise<acp.RequestError> {
  try {
    await request;
  } catch (error) {
    return error as acp.RequestError;
  }
  throw new Error("The request did not fail.");
}
