import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome, listSessions } from "@bonsai-agent/session";
import type { AgentCall } from "../call/invocation.ts";
import { chooseModel, openModels } from "../call/model-choice.ts";
import { oneAfterTheOther } from "../call/questions.ts";
import { moveToTrash, sessionPlace } from "../call/session-file.ts";
import { readCallSettings } from "../call/settings.ts";
import { AcpSession } from "./acp-session.ts";
import { ClientLink } from "./client-link.ts";

type Opening = Omit<acp.ResumeSessionRequest, "sessionId">;

/** Owner of the sessions of one client. Each has its own folder, settings and extensions. */
export class AcpServer {
  readonly #call: AgentCall;
  readonly #sessions = new Map<string, AcpSession>();
  /** Loads and deletions: of two requests for one session, the second one sees what the first one did. */
  readonly #inTurn = oneAfterTheOther();
  /** Sessions that are being opened. */
  readonly #opening = new Set<Promise<unknown>>();
  #capabilities: acp.ClientCapabilities = {};

  constructor(call: AgentCall) {
    this.#call = call;
  }

  initialize({ clientCapabilities = {} }: acp.InitializeRequest): acp.InitializeResponse {
    this.#capabilities = clientCapabilities;
    const inTerminal = { type: "terminal" as const, id: "terminal", name: "Log in with a terminal" };
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
        { id: "login", name: "bonsai login", description: "Use the keys and logins that Bonsai has stored" },
        ...(clientCapabilities.auth?.terminal ? [{ ...inTerminal, args: ["login"] }] : []),
      ],
    };
  }

  /** The keys are stored by `bonsai login`; this only checks that there is a usable model. @throws BonsaiError `no_model` */
  async authenticate(): Promise<acp.AuthenticateResponse> {
    const { io, options } = this.#call;
    const onNotice = () => {};
    const settings = readCallSettings({ ...this.#call, output: { notify: onNotice } });
    const models = await openModels({ io, home: bonsaiHome(io.env), settings, onNotice });
    if (options.model === undefined) await chooseModel(models, { usual: undefined });
    return {};
  }

  async newSession(opening: Opening, client: acp.AgentContext): Promise<acp.NewSessionResponse> {
    checkFolder(opening.cwd);
    const session = await this.#open(opening, client, {});
    return { sessionId: session.id, ...session.begin() };
  }

  load(
    { sessionId, ...opening }: acp.ResumeSessionRequest,
    client: acp.AgentContext,
    { replays }: { replays: boolean },
  ): Promise<acp.LoadSessionResponse> {
    return this.#inTurn(async () => {
      // An open session stays open if it cannot be loaded again.
      checkFolder(opening.cwd);
      const { file } = this.#find(sessionId);
      // A client that lost its view loads again: one agent for each file.
      this.#sessions.get(sessionId)?.refuseWhileBusy();
      if (this.#sessions.has(sessionId)) await this.closeSession(sessionId);
      const session = await this.#open(opening, client, { session: file });
      if (replays) await session.replay();
      return session.begin();
    });
  }

  async #open({ cwd, mcpServers = [] }: Opening, client: acp.AgentContext, options: { session?: string }) {
    const io = { ...this.#call.io, cwd, stdin: undefined };
    const call = { ...this.#call, io, options: { ...this.#call.options, ...options } };
    const link = new ClientLink(client, this.#capabilities);
    const opening = AcpSession.open({ call, link, mcpServers });
    this.#opening.add(opening);
    try {
      const session = await opening;
      this.#sessions.set(session.id, session);
      return session;
    } finally {
      this.#opening.delete(opening);
    }
  }

  list({ cwd }: acp.ListSessionsRequest): acp.ListSessionsResponse {
    const { sessions } = listSessions({ ...sessionPlace(this.#call), ...(cwd != null && { cwd }) });
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

  /** @throws BonsaiError `session_not_found` */
  session(sessionId: string): AcpSession {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw sessionNotFound(sessionId);
    return session;
  }

  cancel(sessionId: string): void {
    this.#sessions.get(sessionId)?.cancel();
  }

  async closeSession(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    this.#sessions.delete(sessionId);
    await session.close();
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#sessions.has(sessionId)) await this.closeSession(sessionId);
      moveToTrash(this.#find(sessionId).file, bonsaiHome(this.#call.io.env));
    });
  }

  /** @throws BonsaiError `session_not_found`, also for the beginning of an id and for a path */
  #find(sessionId: string): { file: string } {
    const { sessions } = listSessions(sessionPlace(this.#call));
    const found = sessions.find(({ id }) => id === sessionId);
    if (found === undefined) throw sessionNotFound(sessionId);
    return found;
  }

  /** Stops all work and closes all sessions. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#opening);
    await Promise.allSettled([...this.#sessions.keys()].map((id) => this.closeSession(id)));
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
    message: `The session ${JSON.stringify(sessionId)} does not exist or is not open.`,
    hint: "Get the ids with session/list. Open a session with session/load or session/resume.",
  });
}
