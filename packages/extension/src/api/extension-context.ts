import type { CompactionOutcome, Summariser } from "@bonsai-agent/compaction";
import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { CatalogueModel, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";
import type { CompactionEntry, Entry, SessionHeader } from "@bonsai-agent/session";
import type { ExtensionUI } from "./extension-ui.ts";

/** The front end. "print" also for the session commands. */
export type ExtensionMode = "tui" | "rpc" | "json" | "print";

/** The size of the context. */
export interface ExtensionContextUsage {
  /** Null if unknown. */
  tokens: number | null;
  /** 0 if unknown. */
  contextWindow: number;
  /** Percent of the window, also above 100. Null if either number is unknown. */
  percent: number | null;
}

export interface CompactOptions {
  /** The focus of the summary. */
  customInstructions?: string | undefined;
  /** The first kept entry. `onError` gets the reason if that is no legal cut. Default: by the budgets. */
  firstKeptEntryId?: string | undefined;
  /** Makes the latest compaction again, from the original entries. Default false. */
  isAgain?: boolean | undefined;
  /** Called after a compaction; without an entry if masking was enough. */
  onComplete?(result: { outcome: CompactionOutcome; compactionEntry?: CompactionEntry }): void;
  /** Called without a compaction, also if there was nothing to do. */
  onError?(error: Error): void;
}

/** The context of handlers, tools and shortcuts. Its values are always current. */
export interface ExtensionContext {
  readonly ui: ExtensionUI;
  readonly mode: ExtensionMode;
  /** True if a user can answer questions. */
  readonly hasUI: boolean;
  /** The working folder, absolute. */
  readonly cwd: string;
  /** The session, as frozen copies. */
  readonly sessionManager: ReadonlySessionManager;
  /** The known models, and requests of the extension's own. */
  readonly modelRegistry: ModelRegistry;
  /** Undefined without a model, as in some session commands. */
  readonly model: CatalogueModel | undefined;
  /** Undefined without an agent. */
  readonly thinkingLevel: ThinkingLevel | undefined;
  /** Aborts when the user stops the current work; undefined without current work. */
  readonly signal: AbortSignal | undefined;
  isIdle(): boolean;
  /** True if the user trusts the project's settings and extensions. */
  isProjectTrusted(): boolean;
  /** True while messages are queued for the run. */
  hasPendingMessages(): boolean;
  /** Stops the run. */
  abort(): void;
  /** Ends the program after the current work. */
  shutdown(): void;
  /** Undefined before there is a session. */
  getContextUsage(): ExtensionContextUsage | undefined;
  /** Compacts at once if the agent is idle, else at the run's next possible place; the run continues. */
  compact(options?: CompactOptions): void;
  /** The current system prompt. */
  getSystemPrompt(): string;
  /** A summariser that asks this model, for `summarisePreparation`. */
  summariserFor(model: CatalogueModel): Summariser;
}

export interface NavigateOptions {
  /** Summarise the branch that is left. Default false. */
  summarize?: boolean | undefined;
  customInstructions?: string | undefined;
  /** `customInstructions` replaces the instructions. */
  replaceInstructions?: boolean | undefined;
  label?: string | undefined;
}

export type MergeOptions = Omit<NavigateOptions, "summarize">;

interface Cancellable {
  /** True if an extension or the user cancelled it. */
  cancelled: boolean;
}

export interface MergeResult extends Cancellable {
  /** Absent if the branch has nothing new. */
  summaryEntryId?: string | undefined;
}

/** Called in the new session; `ctx` belongs to it. */
export interface WithSession {
  withSession?(ctx: ExtensionCommandContext): Promise<void>;
}

/**
 * The context of command handlers. Only they can switch sessions and entries, because the agent waits for other
 * handlers.
 */
export interface ExtensionCommandContext extends ExtensionContext {
  /** Waits for the end of the run. @throws BonsaiError `extension_waits_for_itself` */
  waitForIdle(): Promise<void>;
  /** Opens a new session. @throws BonsaiError `extension_session_fixed`, as the calls below */
  newSession(options?: { parentSession?: string | undefined } & WithSession): Promise<Cancellable>;
  /** Copies the session up to an entry. Position "before" (default) excludes it. */
  fork(
    entryId: string,
    options?: { position?: "before" | "at" | undefined } & WithSession,
  ): Promise<Cancellable>;
  /** Moves to another entry of the tree, as `/tree` does. */
  navigateTree(targetId: string, options?: NavigateOptions): Promise<Cancellable>;
  /** Summarises another branch, up to one of its entries, into the current one, as `/merge` does. */
  mergeBranch(branchId: string, options?: MergeOptions): Promise<MergeResult>;
  /** Opens a session file. */
  switchSession(sessionPath: string, options?: WithSession): Promise<Cancellable>;
  /** Reloads all extensions. Return at once: the calling code belongs to the old ones. */
  reload(): Promise<void>;
}

export interface SessionTreeNode {
  entry: Entry;
  children: SessionTreeNode[];
  label?: string;
  /** The label's time, ISO 8601. */
  labelTimestamp?: string;
}

/** The messages that the model sees, and its settings. */
export interface SessionContext {
  messages: Message[];
  /** Default "off". */
  thinkingLevel: string;
  /** Null if the session has no model. */
  model: { provider: string; modelId: string } | null;
}

/** A context with the entry of each message. */
export interface SessionProjection extends SessionContext {
  /** As in `buildContextEntries`. `messages` is empty for entries that the model does not see. */
  entries: { sourceEntry: Entry; messages: Message[] }[];
}

/** The current session, for reading. */
export interface ReadonlySessionManager {
  getCwd(): string;
  /** The folder of the session's file; the working folder for a session in memory. */
  getSessionDir(): string;
  getSessionId(): string;
  /** Undefined for a session in memory. */
  getSessionFile(): string | undefined;
  getSessionName(): string | undefined;
  getHeader(): SessionHeader;
  /** Null in an empty session. */
  getLeafId(): string | null;
  getLeafEntry(): Entry | undefined;
  getEntry(id: string): Entry | undefined;
  /** Undefined for an entry without a label. */
  getLabel(id: string): string | undefined;
  /** From the root to an entry; default the leaf. */
  getBranch(fromId?: string): Entry[];
  /** All entries of all branches, in file order. No method returns the session's own leaf records. */
  getEntries(): Entry[];
  /** The roots. An entry without its parent is a root. */
  getTree(): SessionTreeNode[];
  /** The context at the leaf. */
  buildSessionContext(): SessionContext;
  /** The context at the leaf, with the entry of each message. */
  buildSessionProjection(): SessionProjection;
  /** The entries of the context at the leaf. */
  buildContextEntries(): Entry[];
}

/** A request outside of the conversation. */
export interface ModelContext {
  systemPrompt?: string | undefined;
  messages: readonly Message[];
  tools?: readonly ToolDeclaration[] | undefined;
}

export interface AskOptions {
  /** Maximum tokens of the answer. Default: the model's. */
  maxTokens?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Default off. */
  reasoning?: ThinkingLevel | undefined;
}

export type RequestAuth =
  | { ok: true; apiKey?: string; headers?: Readonly<Record<string, string>>; baseUrl?: string }
  | { ok: false; error: string };

/**
 * The known models, also of extensions, and requests of the extension's own. If the host's models cannot be opened (a
 * damaged `models.json`), each use throws that error.
 */
export interface ModelRegistry {
  /** All models, also without a key. */
  getAll(): CatalogueModel[];
  /** Models of providers that have a key or need none. */
  getAvailable(): CatalogueModel[];
  /** Finds a model by its exact id; also the current model if no catalogue lists it. */
  find(provider: string, modelId: string): CatalogueModel | undefined;
  /** True if the provider has a key or needs none. */
  hasConfiguredAuth(model: CatalogueModel): boolean;
  /** Undefined for an unknown provider, or without a key. */
  getApiKeyForProvider(provider: string): Promise<string | undefined>;
  /** Key and headers for the extension's own client. */
  getApiKeyAndHeaders(model: CatalogueModel): Promise<RequestAuth>;
  /** Resolves also with a failed answer: look at `stopReason` and `errorMessage`. */
  complete(model: CatalogueModel, context: ModelContext, options?: AskOptions): Promise<AssistantMessage>;
  /** As `complete`, in events. The last one has the answer. */
  stream(model: CatalogueModel, context: ModelContext, options?: AskOptions): AsyncIterable<StreamEvent>;
}
