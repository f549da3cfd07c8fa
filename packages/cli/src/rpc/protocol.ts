import type { AgentState } from "@bonsai-agent/agent";
import type { BranchMerge, CompactionOutcome, Navigation, UndoReport } from "@bonsai-agent/compaction";
import type { FlagOptions, LoadedExtension } from "@bonsai-agent/extension/host";
import type { ImageContent, Message, ModelPrices, Usage } from "@bonsai-agent/messages";
import { type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import type { Entry } from "@bonsai-agent/session";
import { z } from "zod";
import type { ErrorJson, ModelJson } from "../call/event-json.ts";
import type { DraftReport } from "../views/draft-view.ts";

const text = z.string();
const name = z.string().min(1);
const image = z.strictObject({ type: z.literal("image"), data: name, mimeType: name });
const images = z.array(image).optional();
const input = { message: name, images };
const mode = z.enum(["all", "one-at-a-time"]);
const enabled = z.boolean();

/**
 * The fields of each command beside `type` and `id`. The one table of commands. A command that pi has too has pi's name and
 * fields, and a few more.
 */
export const rpcCommands = {
  prompt: { ...input, streamingBehavior: z.enum(["steer", "followUp"]).optional() },
  steer: input,
  follow_up: input,
  abort: {},
  clear_queue: {},
  set_steering_mode: { mode },
  set_follow_up_mode: { mode },
  set_auto_retry: { enabled },
  abort_retry: {},
  compact: {
    customInstructions: text.optional(),
    useDigest: z.boolean().optional(),
    isAgain: z.boolean().optional(),
    firstKeptEntryId: name.optional(),
  },
  abort_compaction: {},
  undo: {},
  redo: {},
  set_auto_compaction: { enabled },
  navigate_tree: {
    targetId: name,
    summarize: z.boolean().optional(),
    customInstructions: text.optional(),
    useDigest: z.boolean().optional(),
    label: name.optional(),
  },
  merge: {
    branchId: name,
    customInstructions: text.optional(),
    useDigest: z.boolean().optional(),
    label: name.optional(),
  },
  bash: { command: name, excludeFromContext: z.boolean().optional() },
  abort_bash: {},
  get_state: {},
  get_messages: {},
  get_entries: { since: name.optional() },
  get_tree: {},
  get_session_stats: {},
  get_last_assistant_text: {},
  get_fork_messages: {},
  set_model: { provider: name, modelId: name },
  cycle_model: {},
  get_available_models: {},
  set_thinking_level: { level: z.enum([...thinkingLevels, "max"]) },
  cycle_thinking_level: {},
  get_available_thinking_levels: {},
  set_session_name: { name: z.string().trim().min(1) },
  new_session: { parentSession: name.optional() },
  switch_session: { sessionPath: name },
  fork: { entryId: name, position: z.enum(["before", "at"]).optional() },
  clone: {},
  export_html: { outputPath: name.optional() },
  get_commands: {},
  get_extensions: {},
  reload: {},
  shutdown: {},
} as const satisfies Record<string, z.ZodRawShape>;

export type RpcCommandName = keyof typeof rpcCommands;

/** The fields of one command, validated. */
export type RpcParams<Name extends RpcCommandName> = z.output<z.ZodObject<(typeof rpcCommands)[Name]>>;

/** Given back with the response to it. */
export type RpcId = string | number;

/** The `data` of each response. Undefined fields are absent. */
export interface RpcData {
  /** Answers when the message is stored or queued. `agent_end` follows when the work is done. Long. */
  prompt: { queued: boolean };
  /** Queues a text for the agent's next request. Long. */
  steer: { queued: boolean };
  /** Queues a text for the moment the agent would stop. Long. */
  follow_up: { queued: boolean };
  /** Stops the work. Answers when the agent is idle. */
  abort: undefined;
  /** Empties the queue and returns its texts. */
  clear_queue: { steering: readonly string[]; followUp: readonly string[] };
  /** `all` delivers the queued texts together. */
  set_steering_mode: undefined;
  /** `all` delivers the queued texts together. */
  set_follow_up_mode: undefined;
  /** Until the program ends. */
  set_auto_retry: undefined;
  /** Stops the run if its request waits for a retry. */
  abort_retry: undefined;
  /**
   * Stops the work and compacts. `useDigest` asks no model, `isAgain` repeats the latest compaction from the originals,
   * `firstKeptEntryId` sets the cut. Fails if nothing was compacted or masked. Long.
   */
  compact: RpcCompaction;
  /** Cancels the running compaction. The task continues. */
  abort_compaction: undefined;
  /** Undoes the latest compaction of the current branch. */
  undo: UndoReport;
  /** Redoes the latest undone compaction. */
  redo: UndoReport;
  /** Until the program ends. */
  set_auto_compaction: undefined;
  /** Moves to another entry. `label` goes to the summary, or to the target without one. Long. */
  navigate_tree: Pick<Navigation, "status" | "leafId" | "previousLeafId" | "editorText"> & {
    summaryEntryId: string | undefined;
  };
  /** Summarises the branch that ends at `branchId` into the current one. Long. */
  merge: Omit<BranchMerge, "summaryEntry"> & { summaryEntryId: string | undefined };
  /** Runs a command and stores its output in the session. Long. */
  bash: {
    output: string;
    exitCode: number | undefined;
    cancelled: boolean;
    truncated: boolean;
    fullOutputPath: string | undefined;
  };
  /** Stops the command of `bash`. */
  abort_bash: undefined;
  /** The session, its leaf, model, thinking level, queue and context. */
  get_state: RpcState;
  /** The model's view, oldest message first. */
  get_messages: { messages: readonly Message[] };
  /** The entries of all branches as they are stored, in file order, without the records of moves. `since` names the last known one. */
  get_entries: { entries: readonly Entry[]; leafId: string | null };
  /** The same entries as a tree: the roots, each with its children. */
  get_tree: { tree: readonly RpcTreeNode[]; leafId: string | null };
  /** Counts, usage and cost. */
  get_session_stats: RpcSessionStats;
  /** The last answer, or null. */
  get_last_assistant_text: { text: string | null };
  /** The user's messages, to fork from. */
  get_fork_messages: { messages: readonly { entryId: string; text: string }[] };
  /** Selects a model. */
  set_model: RpcModel;
  /** Selects the next favourite model; without favourites, the next usable one. Null if there is no other. */
  cycle_model: { model: RpcModel; thinkingLevel: ThinkingLevel; isScoped: boolean } | null;
  /** The models that can be used now. */
  get_available_models: { models: readonly RpcModel[] };
  /** Selects a thinking level. `max` means `xhigh`. */
  set_thinking_level: undefined;
  /** Selects the next thinking level. Null if there is no other. */
  cycle_thinking_level: { level: ThinkingLevel } | null;
  /** The thinking levels of the model; only `off` if it cannot think. */
  get_available_thinking_levels: { levels: readonly ThinkingLevel[] };
  /** Names the session. */
  set_session_name: undefined;
  /** Starts a new session. Its file appears with the first entry. */
  new_session: RpcSession;
  /** Opens another session, by file or id. */
  switch_session: RpcSession;
  /** Starts a new session with the path to a user message, without the message. With the position `at`, the path ends with that entry, whatever it is. */
  fork: RpcSession & { text: string };
  /** Starts a new session with the current path. */
  clone: RpcSession;
  /** Writes the session as an HTML page. Never overwrites a file. */
  export_html: { path: string };
  /** The commands, prompt templates and skills that a prompt can call. */
  get_commands: { commands: readonly RpcCommandInfo[] };
  /** The loaded and failed extensions, and their flags. */
  get_extensions: RpcExtensions;
  /** Reloads extensions, skills and prompt templates. */
  reload: RpcExtensions & { elapsedMs: number };
  /** Stops the work and ends the program. */
  shutdown: undefined;
}

/** A model without its headers, which may hold secrets; with pi's names for sizes and prices. */
export interface RpcModel extends ModelJson {
  /** Without its query. */
  baseUrl: string;
  /** Tokens; 0 where unknown. */
  contextWindow: number;
  /** Tokens of the longest answer; 0 where unknown. */
  maxTokens: number;
  /** US dollars per million tokens; 0 where unknown. */
  cost: ModelPrices;
}

/** The outcome, and what a summary stands for. */
export type RpcCompaction = CompactionOutcome & {
  summary?: string;
  firstKeptEntryId?: string;
  estimatedTokensAfter: number;
  usage?: Usage | undefined;
  details?: unknown;
};

export interface RpcState {
  sessionId: string;
  /** Absent for a session in memory. */
  sessionFile: string | undefined;
  sessionName: string | undefined;
  leafId: string | null;
  model: RpcModel;
  thinkingLevel: ThinkingLevel;
  /** True while the agent works. */
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: z.output<typeof mode>;
  followUpMode: z.output<typeof mode>;
  autoCompactionEnabled: boolean;
  /** Messages in the model's view. */
  messageCount: number;
  /** Queued texts. */
  pendingMessageCount: number;
  context: AgentState["context"];
}

export interface RpcTreeNode {
  entry: Entry;
  children: RpcTreeNode[];
  label?: string;
}

/** The session that is worked in now. */
export interface RpcSession {
  sessionId: string;
  /** Absent for a session in memory. */
  sessionFile: string | undefined;
  /** True where an extension did not let it happen: the session is the one before. */
  cancelled: boolean;
}

/** A command that a prompt can call with a slash and its name. */
interface RpcCommandInfo {
  name: string;
  description: string | undefined;
  /** The arguments, like `[focus]`. */
  argumentHint?: string;
  source: "extension" | "prompt" | "skill";
  /** Its file, and where that was found, in pi's words. */
  sourceInfo: { path: string } & object;
}

export interface RpcExtensions {
  loaded: readonly LoadedExtension[];
  failed: readonly { path: string; error: ErrorJson }[];
  /** Flags for the command line. */
  flags: readonly ({ name: string } & FlagOptions)[];
}

export interface RpcSessionStats {
  sessionId: string;
  sessionFile: string | undefined;
  name: string | undefined;
  entryCount: number;
  /** Messages by role, other entries by type; only what occurs. */
  counts: Readonly<Record<string, number>>;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  /** US dollars; 0 where unknown. */
  cost: number;
  costCertainty: string;
  contextUsage: { tokens: number | null; contextWindow: number; percent: number | null };
}

/** The one answer to each command. */
export type RpcResponse = { id?: RpcId | undefined; type: "response" } & (
  | { command: RpcCommandName; success: true; data?: RpcData[RpcCommandName] | undefined }
  /** `command` is null where the line could not be read. `error` is the message and the hint. */
  | { command: string | null; success: false; error: string; code: string }
);

/** Lines on standard output beside responses and lifecycle events. */
export type RpcNote =
  /** Something that a user should know and that did not stop the work. */
  | { type: "notice"; level: "info" | "warning"; code: string; message: string }
  /** Texts that were queued and neither sent nor stored when the run had ended, oldest first. */
  | { type: "unsent"; inputs: readonly { message: string; images?: readonly ImageContent[] }[] }
  /** The compaction that the next question is about, before it is written. */
  | { type: "compaction_draft"; draft: DraftReport }
  /** Output of a `bash` command as it comes, with the id of that command. */
  | { type: "bash_execution_update"; id?: RpcId | undefined; delta: string }
  /** The run ended without `agent_end`, for a reason beyond it, like a full disk. */
  | { type: "run_failed"; error: ErrorJson };

const id = z.string().min(1);
const timeout = z.number().optional();

/** The fields of each request beside `type`, `id` and `method`. The one table of what a client may be asked or shown. */
export const uiRequests = {
  /** Answer with `value`, one of the options. */
  select: { title: text, options: z.array(text), timeout },
  /** Answer with `confirmed`. */
  confirm: { title: text, message: text, timeout },
  /** Answer with `value`. */
  input: { title: text, placeholder: text.optional(), timeout },
  /** Answer with `value`. */
  editor: { title: text, prefill: text.optional() },
  /** Shows a message. No answer. */
  notify: { message: text, notifyType: z.enum(["info", "warning", "error"]) },
  /** Shows a status, or removes it if there is no text. No answer. */
  setStatus: { statusKey: text, statusText: text.optional() },
  /** Shows lines at the editor, or removes them if there are none. No answer. */
  setWidget: {
    widgetKey: text,
    widgetLines: z.array(text).optional(),
    widgetPlacement: z.enum(["aboveEditor", "belowEditor"]),
  },
  /** Sets the title of the window. No answer. */
  setTitle: { title: text },
  /** Puts a text into the editor. No answer. */
  set_editor_text: { text },
} as const satisfies Record<string, z.ZodRawShape>;

type UiMethod = keyof typeof uiRequests;

/** A line on standard output: a question that waits for its answer, or something to show. */
export type UiRequest = {
  [Method in UiMethod]: { type: "extension_ui_request"; id: string; method: Method } & z.output<
    z.ZodObject<(typeof uiRequests)[Method]>
  >;
}[UiMethod];

/** A line on standard input: the answer to a question. Which of the fields counts, the question decides. */
export const uiResponse = z.strictObject({
  type: z.literal("extension_ui_response"),
  id,
  value: text.optional(),
  confirmed: z.boolean().optional(),
  cancelled: z.boolean().optional(),
});

export type UiResponse = z.output<typeof uiResponse>;
