import { existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { BonsaiError } from "@bonsai-agent/messages";
import { defaultModel } from "@bonsai-agent/models";
import { bonsaiHome, findSession, listSessions } from "@bonsai-agent/session";
import type { AgentCall } from "../call/invocation.ts";
import { openModels } from "../call/model-choice.ts";
import { oneAfterTheOther } from "../call/questions.ts";
import { sessionPlace } from "../call/session-file.ts";
import { readCallSettings } from "../call/settings.ts";
import { AcpSession } from "./acp-session.ts";
import { ClientLink } from "./client-link.ts";

interface Opening {
  cwd: string;
  mcpServers?: acp.McpServer[];
}

/** Owner of the sessions of one client. Each has its own folder, settings and extensions. */
export class AcpServer {
  readonly #call: AgentCall;
  readonly #sessions = new Map<string, AcpSession>();
  readonly #loadInTurn = oneAfterTheOther();
  /** Sessions that are being opened. */
  readonly #opening = new Set<Promise<unknown>>();
  #capabilities: acp.ClientCapabilities = {};

  constructor(call: AgentCall) {
    this.#call = call;
  }

  initialize({ clientCapabilities = {} }: acp.InitializeRequest): acp.InitializeResponse {
    this.#capabilities = clientCapabilities;
    const login = { id: "login", name: "bonsai login", description: "Stored keys and logins of Bonsai" };
    return {
      protocolVersion: 1,
      agentInfo: { name: "bonsai", title: "Bonsai", version: this.#call.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {} },
      },
      authMethods: [
        login,
        ...(clientCapabilities.auth?.terminal
          ? [{ type: "terminal" as const, id: "terminal", name: "Log in in a terminal", args: ["login"] }]
          : []),
      ],
    };
  }

  /** The keys are stored by `bonsai login`; this only checks that there is a usable model. @throws BonsaiError `no_model` */
  async authenticate(): Promise<acp.AuthenticateResponse> {
    const { io, options } = this.#call;
    const onNotice = () => {};
    const settings = readCallSettings({ ...this.#call, output: { notify: onNotice } });
    const models = await openModels({ io, home: bonsaiHome(io.env), settings, onNotice });
    if (options.model !== undefined || (await defaultModel(models)) !== undefined) return {};
    throw noLogin();
  }

  async newSession(opening: Opening, client: acp.AgentContext): Promise<acp.NewSessionResponse> {
    const session = await this.#open(opening, client, {});
    return { sessionId: session.id, ...session.state };
  }

  load(
    { sessionId, ...opening }: Opening & { sessionId: string },
    client: acp.AgentContext,
    { replays }: { replays: boolean },
  ): Promise<acp.LoadSessionResponse> {
    return this.#loadInTurn(async () => {
      const file = this.#fileOf(sessionId);
      // A client that lost its view loads again: one agent for each file.
      await this.#closeIdle(sessionId);
      const session = await this.#open(opening, client, { session: file }, { sessionId, replays });
      return session.state;
    });
  }

  async #open(
    { cwd, mcpServers = [] }: Opening,
    client: acp.AgentContext,
    options: Record<string, unknown>,
    { sessionId, replays = false }: { sessionId?: string; replays?: boolean } = {},
  ): Promise<AcpSession> {
    checkFolder(cwd);
    const io = { ...this.#call.io, cwd, stdin: undefined };
    const call = { ...this.#call, io, options: { ...this.#call.options, ...options } };
    const link = new ClientLink(client, this.#capabilities);
    const opening = AcpSession.open({ call, link, mcpServers }).then((opened) => {
      this.#sessions.set(opened.id, opened);
      return opened;
    });
    this.#opening.add(opening);
    const session = await opening
      .catch((error: unknown) => {
        throw BonsaiError.is(error) && error.code === "no_model" ? noLogin(error) : error;
      })
      .finally(() => this.#opening.delete(opening));
    if (sessionId !== undefined && session.id !== sessionId) {
      await this.closeSession(session.id);
      throw sessionNotFound(sessionId);
    }
    if (replays) await session.replay();
    // The client knows the session once it has the response.
    setImmediate(() => void session.announce({ isLoaded: sessionId !== undefined }));
    return session;
  }

  list({ cwd }: acp.ListSessionsRequest): acp.ListSessionsResponse {
    const place = sessionPlace(this.#call);
    const { sessions } = listSessions({ ...place, ...(cwd != null && { cwd }) });
    return {
      sessions: sessions
        // The protocol wants an absolute path.
        .filter((session) => isAbsolute(session.cwd))
        .map(({ id, cwd: folder, name, firstWords, lastActivityMs }) => ({
          sessionId: id,
          cwd: cwd ?? folder,
          title: name ?? firstWords ?? null,
          updatedAt: new Date(lastActivityMs).toISOString(),
        })),
    };
  }

  findSession(sessionId: string): AcpSession | undefined {
    return this.#sessions.get(sessionId);
  }

  /** @throws BonsaiError `session_not_found` */
  session(sessionId: string): AcpSession {
    const session = this.findSession(sessionId);
    if (session === undefined) throw sessionNotFound(sessionId);
    return session.openLink();
  }

  async closeSession(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    this.#sessions.delete(sessionId);
    await session.close();
  }

  /** Moves the session's file, and the sessions of its sub-agents, to the trash folder. */
  async deleteSession(sessionId: string): Promise<void> {
    const file = this.#fileOf(sessionId);
    if (this.#sessions.has(sessionId)) await this.closeSession(sessionId);
    const trash = join(bonsaiHome(this.#call.io.env), "trash");
    mkdirSync(trash, { recursive: true, mode: 0o700 });
    for (const path of [file, `${file.replace(/\.jsonl$/, "")}.tasks`])
      if (existsSync(path)) renameSync(path, freePath(join(trash, basename(path))));
  }

  async #closeIdle(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return;
    session.refuseWhileBusy();
    await this.closeSession(sessionId);
  }

  /** @throws BonsaiError `session_not_found`, also for the beginning of an id and for a path */
  #fileOf(sessionId: string): string {
    if (!/^[\w.-]+$/.test(sessionId) || sessionId.endsWith(".jsonl")) throw sessionNotFound(sessionId);
    return findSession({ session: sessionId, ...sessionPlace(this.#call) });
  }

  /** Stops all work and closes all sessions. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#opening);
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.allSettled(sessions.map((session) => session.close()));
  }
}

function freePath(path: string): string {
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? path : `${path}.${number}`;
    if (!existsSync(free)) return free;
  }
}

function checkFolder(cwd: string): void {
  if (isAbsolute(cwd) && statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new BonsaiError({
    code: "folder_not_found",
    message: `${JSON.stringify(cwd)} is not the absolute path of a folder.`,
    hint: "Send the absolute path of an existing folder as cwd.",
  });
}

function sessionNotFound(sessionId: string): BonsaiError {
  return new BonsaiError({
    code: "session_not_found",
    message: `There is no session ${JSON.stringify(sessionId)}, or it is not open.`,
    hint: "Send session/list for the ids. Open a session with session/load or session/resume.",
  });
}

function noLogin(cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "no_model",
    message: "No model available: found no API key and no local server.",
    hint: "Run `bonsai login` in a terminal, or set an API key such as ANTHROPIC_API_KEY.",
    cause,
  });
}
