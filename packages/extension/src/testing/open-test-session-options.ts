import type { AgentSettingsInput } from "@bonsai-agent/agent";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { Session, StoredMessage } from "@bonsai-agent/session";
import type { ExtensionFactory } from "../api/extension-api.ts";
import type { ExtensionMode } from "../api/extension-context.ts";
import type { FlagValue } from "../api/flag.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";
import type { ExtensionAdapter, SessionControl } from "../run/extension-host.ts";
import type { TestAnswers } from "./scripted-models.ts";
import type { TestDialogAnswers } from "./scripted-ui.ts";

/** What a module exports as its default, or the path of the module. */
export type TestExtension = ExtensionFactory | string;

export interface OpenTestSessionOptions {
  /** In load order; functions come before paths, which are read anew at each reload. Default: none. */
  extensions?: TestExtension | readonly TestExtension[];
  /** What the model says to prompts and tool results. Default: nothing, so that a prompt is an error. */
  answers?: TestAnswers;
  /** What the model says when it is asked for a summary. Default: one with every section. */
  summaries?: TestAnswers;
  /** What the model says when extensions ask it themselves. Default: nothing. */
  replies?: TestAnswers;
  /** What the user says to questions. Default: nobody can be asked, and `ctx.hasUI` is false. */
  ui?: TestDialogAnswers;
  /** Default "rpc" with `ui`, else "print". */
  mode?: ExtensionMode;
  /** Laid over the defaults; sessions get no titles, and tokens are counted by characters. */
  settings?: AgentSettingsInput;
  /** Where tools work, absolute. Default: a folder of its own, which goes with the session. */
  cwd?: string;
  /** What was said before, oldest first. */
  history?: readonly StoredMessage[];
  /** In the place of a new session in memory; `close` closes it too. */
  session?: Session;
  /** Laid over the model that is asked: a window of 100,000 tokens, answers of 8,000 at most, no price. */
  model?: Partial<CatalogueModel>;
  /** More models, by `provider/id`; each is like `model` but for what is said here. */
  otherModels?: readonly Partial<CatalogueModel>[];
  /** What the command line said of flags. */
  flags?: Readonly<Record<string, FlagValue>>;
  /** Default true. */
  isProjectTrusted?: boolean;
  /** Where the session can be left for another. Default: nowhere, so that nothing comes of it. */
  control?: SessionControl;
  /** Laid over the API and the contexts. Default: none. */
  adapter?: ExtensionAdapter;
  /** What modules that are read from a path may import of the host. Default: what Bonsai gives all extensions. */
  modules?: VirtualModules;
  /** Names of commands that no extension can take. Default: none. */
  reservedCommands?: Iterable<string>;
  /** False: no agent, as in the session commands. Default true. */
  withAgent?: boolean;
}
