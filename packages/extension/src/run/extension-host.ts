import type { Agent, AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Catalogue, CatalogueModel, KeyFile, ModelClient } from "@bonsai-agent/models";
import type { CustomEntry, Session } from "@bonsai-agent/session";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionContext, ExtensionMode, NavigateOptions } from "../api/extension-context.ts";
import type { FlagValue } from "../api/flag.ts";
import type { FrontEndUI } from "./front-end-ui.ts";

/** The models of the host, and who asks them. */
export interface ExtensionModels {
  catalogue: Catalogue;
  keys: KeyFile;
  client: ModelClient;
}

/** Where a session is left for another. Each resolves with false where it did not happen. */
export interface SessionControl {
  newSession(options: { parentSession?: string }): Promise<boolean>;
  fork(entryId: string, options: { position: "before" | "at" }): Promise<boolean>;
  switchSession(sessionPath: string): Promise<boolean>;
  navigateTree(targetId: string, options: NavigateOptions): Promise<boolean>;
}

/** What a front end gives to the extensions that it runs. Read when needed: sessions come and go. */
export interface ExtensionHost {
  readonly mode: ExtensionMode;
  readonly cwd: string;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Default: nobody can be asked, and notifications become notices. */
  readonly ui?: FrontEndUI | undefined;
  /** The session that is worked in; undefined before there is one. */
  session(): Session | undefined;
  /** Undefined in the session commands. */
  agent(): Agent | undefined;
  /** The model in use where there is no agent. */
  model?(): CatalogueModel | undefined;
  /** Opened when an extension first asks. */
  models(): Promise<ExtensionModels>;
  readonly control?: SessionControl | undefined;
  shutdown(): void;
  isProjectTrusted(): boolean;
  /** What the command line said of a flag that an extension registered. */
  flag(name: string): FlagValue | undefined;
  /** Must not throw. */
  onNotice(notice: AgentNotice): void;
  /** Told of each entry that an extension has appended. Default: nobody is. */
  onEntry?(entry: CustomEntry): void;
}

/** The extension that an adapter works for. */
export interface AdaptedExtension {
  /** Absolute path of the entry module. */
  readonly path: string;
  /** As notices name it. */
  readonly name: string;
  /** Keeps an undo until the extension is unloaded; the function returned undoes at once. */
  keep(undo: () => void): () => void;
  onNotice(notice: AgentNotice): void;
}

/** Lays another agent's names over ours, for extensions that were written for it. */
export interface ExtensionAdapter {
  api?(api: ExtensionAPI, extension: AdaptedExtension): ExtensionAPI;
  context?<Context extends ExtensionContext>(context: Context, extension: AdaptedExtension): Context;
}
