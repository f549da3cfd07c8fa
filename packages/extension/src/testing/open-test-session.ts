import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentNotice,
  agentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
  openAgent,
  type RunResult,
} from "@bonsai-agent/agent";
import { describeNotice, Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderCall } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import type { ExtensionHost } from "../run/extension-host.ts";
import type { Extensions } from "../run/extensions.ts";
import { loadExtensions } from "../run/load-extensions.ts";
import type { OpenTestSessionOptions } from "./open-test-session-options.ts";
import { scriptedModels } from "./scripted-models.ts";
import { scriptedUi, type UICall } from "./scripted-ui.ts";

/** A session at work with extensions, whose model and user say what was written down. */
export interface TestSession {
  /** Undefined where the session was opened without one. */
  readonly agent: Agent;
  readonly session: Session;
  readonly extensions: Extensions;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Where tools work, absolute. */
  readonly cwd: string;
  /** What users are told beside the conversation: failures of extensions among it. */
  readonly notices: readonly AgentNotice[];
  /** Calls of `ctx.ui`, in order. */
  readonly ui: readonly UICall[];
  /** What models were asked, in order; `purpose` tells turns from summaries. */
  readonly requests: readonly ProviderCall[];
  /** True once an extension asked for the end of the program. */
  readonly isShutdown: boolean;
  /** What the user says. Resolves when the agent has nothing more to do. */
  prompt(text: string): Promise<RunResult>;
  /** `/name arguments` of an extension. @throws BonsaiError `extension_command_unknown`, `extension_command_failed` */
  command(text: string): Promise<void>;
  /** Ends agent, session and extensions, and removes the session's own folder. */
  close(): Promise<void>;
}

const usualModel: CatalogueModel = {
  provider: "scripted",
  id: "test",
  name: "Test",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 100_000,
  maxOutputTokens: 8_000,
};

/**
 * Opens a session with extensions for a test of them: the agent, its tools and its events are the real ones, the model
 * and the user follow a script. No key, no network, nothing on disk but a temporary folder.
 */
export async function openTestSession(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-test-session-"));
  const { cwd = folder, ui, withAgent = true } = options;
  const notices: AgentNotice[] = [];
  const calls: UICall[] = [];
  const requests: ProviderCall[] = [];
  const onNotice = (notice: AgentNotice) => notices.push(notice);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice({ level: "warning", code: notice.type, message: describeNotice(notice) }),
  });
  const model = { ...usualModel, ...options.model };
  const models = await scriptedModels({
    home: folder,
    models: [model, ...(options.otherModels ?? []).map((other) => ({ ...model, ...other }))],
    answers: answersOf(options),
    requests,
  });
  const session = sessionOf(options, cwd);
  const settings = agentSettings({
    titles: false,
    ...options.settings,
    compaction: { estimator: "chars4", ...options.settings?.compaction },
  });
  const agent = withAgent
    ? await openAgent({
        session,
        cwd,
        home: folder,
        settings,
        models: models.client,
        model,
        lifecycle,
        onNotice,
      })
    : undefined;
  let isShutdown = false;
  const host: ExtensionHost = {
    mode: options.mode ?? (ui === undefined ? "print" : "rpc"),
    cwd,
    lifecycle,
    ui: ui === undefined ? undefined : scriptedUi(ui, calls),
    session: () => session,
    agent: () => agent,
    model: () => model,
    models: async () => models,
    control: options.control,
    shutdown: () => {
      isShutdown = true;
    },
    isProjectTrusted: () => options.isProjectTrusted ?? true,
    flag: (name) => options.flags?.[name],
    onNotice,
  };
  const extensions = await loadExtensions({ host, ...sourcesOf(options) });
  if (agent !== undefined) {
    extensions.attach(agent);
    await agent.start();
  }
  return {
    agent: agent as Agent,
    session,
    extensions,
    lifecycle,
    cwd,
    notices,
    ui: calls,
    requests,
    get isShutdown() {
      return isShutdown;
    },
    prompt: (text) => agent!.prompt(text, { source: "interactive" }),
    async command(text) {
      if (!(await extensions.runCommand(text))) throw unknownCommand(text, extensions);
    },
    async close() {
      await agent?.close();
      extensions.unload();
      session.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function answersOf({ answers, summaries, replies }: OpenTestSessionOptions) {
  return {
    ...(answers === undefined ? {} : { turn: answers }),
    ...(summaries === undefined ? {} : { summary: summaries }),
    ...(replies === undefined ? {} : { extension: replies }),
  };
}

function sessionOf({ session, history = [] }: OpenTestSessionOptions, cwd: string): Session {
  const open = session ?? createSession({ cwd });
  open.append(history.map((message) => ({ type: "message" as const, message })));
  return open;
}

function sourcesOf({ extensions = [], adapter, modules = {} }: OpenTestSessionOptions) {
  const all = [extensions].flat();
  const paths = all.filter((each) => typeof each === "string");
  const inline = all
    .filter((each) => typeof each === "function")
    .map((factory, index) => ({ name: factory.name || String(index + 1), factory }));
  return {
    inline,
    modules,
    find: () => ({ extensions: paths.map((path) => ({ path, origin: "flag" as const })), problems: [] }),
    ...(adapter === undefined ? {} : { adapter }),
  };
}

function unknownCommand(text: string, { commands }: Extensions): BonsaiError {
  return new BonsaiError({
    code: "extension_command_unknown",
    message: `No extension has the command ${text}.`,
    hint: `There are: ${commands.map(({ name }) => `/${name}`).join(", ") || "none"}.`,
  });
}
