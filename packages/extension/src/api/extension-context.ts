import type { CompactionOutcome, Summariser } from "@bonsai-agent/compaction";
import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { CatalogueModel, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";
import type { CompactionEntry, Entry, SessionHeader } from "@bonsai-agent/session";
import type { ExtensionUI } from "./extension-ui.ts";

/** Which front end runs: "print" also for the session commands. */
export type ExtensionMode = "tui" | "rpc" | "json" | "print";

/** How full the context is. */
export interface ExtensionContextUsage {
  /** Null where it is not known yet. */
  tokens: number | null;
  /** 0 where the model's window is unknown. */
  contextWindow: number;
  /** Of the window, 0 to 100 and beyond; null where either number is unknown. */
  percent: number | null;
}

export interface CompactOptions {
  /** What the summary should dwell on. */
  customInstructions?: string | undefined;
  /** The cut: with this entry the kept part begins. Where that is not legal, `onError` gets why. Default: as the budgets say. */
  firstKeptEntryId?: string | undefined;
  /** The latest compaction is made anew, from the originals and not from its summary. Default false. */
  isAgain?: boolean | undefined;
  /** Called when the context has become smaller; without an entry where masks alone did it. */
  onComplete?(result: { outcome: CompactionOutcome; compactionEntry?: CompactionEntry }): void;
  /** Called when it has not, also when there was nothing to do. */
  onError?(error: Error): void;
}

/** What handlers, tools and shortcuts get beside their event. Read it when you need it: it is always of now. */
export interface ExtensionContext {
  readonly ui: ExtensionUI;
  readonly mode: ExtensionMode;
  /** True where questions reach a user. */
  readonly hasUI: boolean;
  /** The working folder, absolute. */
  readonly cwd: string;
  /** The session that is worked in, as frozen copies. */
  readonly sessionManager: ReadonlySessionManager;
  /** The models that are known, and requests of the extension's own. */
  readonly modelRegistry: ModelRegistry;
  /** Undefined where no model is in use, as in session commands without one. */
  readonly model: CatalogueModel | undefined;
  /** Undefined where no agent is at work. */
  readonly thinkingLevel: ThinkingLevel | undefined;
  /** Aborted when what goes on is stopped; undefined where nothing goes on. */
  readonly signal: AbortSignal | undefined;
  /** False while anything goes on. */
  isIdle(): boolean;
  /** Whether the user trusts the settings and extensions of the project. */
  isProjectTrusted(): boolean;
  /** True while texts are queued for the run. */
  hasPendingMessages(): boolean;
  /** Stops the run. */
  abort(): void;
  /** Ends the program once what goes on has ended. */
  shutdown(): void;
  /** Undefined before there is a session. */
  getContextUsage(): ExtensionContextUsage | undefined;
  /** Compacts: at once when the agent is idle, else at the next place of the run where it can; the run goes on. */
  compact(options?: CompactOptions): void;
  /** As it stands before the requests of now. */
  getSystemPrompt(): string;
  /** A summariser that asks this model, for `summarisePreparation`. */
  summariserFor(model: CatalogueModel): Summariser;
}

export interface NavigateOptions {
  /** Take a summary of the branch that is left along. Default false. */
  summarize?: boolean | undefined;
  customInstructions?: string | undefined;
  /** `customInstructions` takes the place of the instructions. */
  replaceInstructions?: boolean | undefined;
  label?: string | undefined;
}

export type MergeOptions = Omit<NavigateOptions, "summarize">;

interface Cancellable {
  /** True where an extension, or the user, did not let it happen. */
  cancelled: boolean;
}

export interface MergeResult extends Cancellable {
  /** Absent where nothing of the branch is new. */
  summaryEntryId?: string | undefined;
}

/** What follows when another session is worked in; `ctx` is of that session. */
export interface WithSession {
  withSession?(ctx: ExtensionCommandContext): Promise<void>;
}

/** What command handlers get: they can also go elsewhere. Handlers of events cannot, for the agent waits for them. */
export interface ExtensionCommandContext extends ExtensionContext {
  /** Resolves when the run has ended. @throws BonsaiError `extension_waits_for_itself` */
  waitForIdle(): Promise<void>;
  /** Leaves the session for a new one. @throws BonsaiError `extension_session_fixed`, as all that follow */
  newSession(options?: { parentSession?: string | undefined } & WithSession): Promise<Cancellable>;
  /** Position "before" (the default): of a user message, the copy ends before it. */
  fork(
    entryId: string,
    options?: { position?: "before" | "at" | undefined } & WithSession,
  ): Promise<Cancellable>;
  /** Goes to another place of the session's tree, as `/tree` does. */
  navigateTree(targetId: string, options?: NavigateOptions): Promise<Cancellable>;
  /** Brings the outcome of another branch, up to an entry of it, under the leaf, as `/merge` does. */
  mergeBranch(branchId: string, options?: MergeOptions): Promise<MergeResult>;
  /** Opens the session of a file. */
  switchSession(sessionPath: string, options?: WithSession): Promise<Cancellable>;
  /** Loads all extensions anew. The code that called it is of the old ones: return right after. */
  reload(): Promise<void>;
}

export interface SessionTreeNode {
  entry: Entry;
  children: SessionTreeNode[];
  label?: string;
  /** When it was labelled, ISO 8601. */
  labelTimestamp?: string;
}

/** What the model sees, and what it is asked with. */
export interface SessionContext {
  messages: Message[];
  /** "off" where the session does not say. */
  thinkingLevel: string;
  /** Null where the session does not say. */
  model: { provider: string; modelId: string } | null;
}

/** A context with where each message comes from. */
export interface SessionProjection extends SessionContext {
  /** As `buildContextEntries` gives them; `messages` is empty where the model sees nothing of the entry. */
  entries: { sourceEntry: Entry; messages: Message[] }[];
}

/** The session that is worked in, for reading. */
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
  /** All entries of all branches, in file order. Records of moved leaves are the session's own: no method has them. */
  getEntries(): Entry[];
  /** The roots; an entry whose parent is missing is one. */
  getTree(): SessionTreeNode[];
  /** What the model sees at the leaf. */
  buildSessionContext(): SessionContext;
  /** The same, with the entry that each message comes from. */
  buildSessionProjection(): SessionProjection;
  /** The entries that what the model sees comes from. */
  buildContextEntries(): Entry[];
}

/** What a model is asked, beside the conversation that is worked in. */
export interface ModelContext {
  systemPrompt?: string | undefined;
  messages: readonly Message[];
  tools?: readonly ToolDeclaration[] | undefined;
}

export interface AskOptions {
  /** Tokens of the longest answer. Default: the model's. */
  maxTokens?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Default off. */
  reasoning?: ThinkingLevel | undefined;
}

export type RequestAuth =
  | { ok: true; apiKey?: string; headers?: Readonly<Record<string, string>>; baseUrl?: string }
  | { ok: false; error: string };

/**
 * The models that are known, those that extensions brought included, and requests of an extension's own. Where the
 * host's models cannot be opened (a damaged `models.json`), each use throws what opening them threw.
 */
export interface ModelRegistry {
  /** Also models whose provider has no key. */
  getAll(): CatalogueModel[];
  /** Those whose provider has a key or needs none. */
  getAvailable(): CatalogueModel[];
  /** By its exact id; also the model in use where no catalogue lists it. */
  find(provider: string, modelId: string): CatalogueModel | undefined;
  /** True where the provider has a key or needs none. */
  hasConfiguredAuth(model: CatalogueModel): boolean;
  /** Undefined for an unknown provider, and for one without a key. */
  getApiKeyForProvider(provider: string): Promise<string | undefined>;
  /** What a request of the extension's own client needs. */
  getApiKeyAndHeaders(model: CatalogueModel): Promise<RequestAuth>;
  /** Resolves with the answer, also a failed one: look at `stopReason` and `errorMessage`. */
  complete(model: CatalogueModel, context: ModelContext, options?: AskOptions): Promise<AssistantMessage>;
  /** As `complete`, while it is said; the last event has the answer. */
  stream(model: CatalogueModel, context: ModelContext, options?: AskOptions): AsyncIterable<StreamEvent>;
}
