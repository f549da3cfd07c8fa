import type { AgentState } from "@bonsai-agent/agent";
import type { BranchMerge, CompactionOutcome, Navigation } from "@bonsai-agent/compaction";
import type { FlagOptions, LoadedExtension } from "@bonsai-agent/extension/host";
import type { BashExecutionMessage, ImageContent, Message, Usage } from "@bonsai-agent/messages";
import { type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import type { Entry } from "@bonsai-agent/session";
import { z } from "zod";
import type { ErrorJson, ModelJson } from "../call/event-json.ts";
import type { ResourceOrigin } from "../call/resource-places.ts";
import type { DraftReport } from "../views/draft-view.ts";
import type { TreeRow } from "../views/session-tree.ts";

const text = z.string();
const name = z.string().min(1);
const image = z.strictObject({ type: z.literal("image"), data: name, mimeType: name });
const images = z.array(image).optional();
const input = { message: name, images };

/** The fields of each command beside `type` and `id`. The one table of commands. */
export const rpcCommands = {
  prompt: { ...input, streamingBehavior: z.enum(["steer", "followUp"]).optional() },
  steer: input,
  follow_up: input,
  abort: {},
  compact: {
    customInstructions: text.optional(),
    useDigest: z.boolean().optional(),
    isAgain: z.boolean().optional(),
    firstKeptEntryId: name.optional(),
  },
  abort_compaction: {},
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
  get_state: {},
  get_messages: {},
  get_entries: {},
  get_tree: {},
  get_session_stats: {},
  get_last_assistant_text: {},
  set_model: { provider: name, modelId: name },
  get_available_models: {},
  set_thinking_level: { level: z.enum(thinkingLevels) },
  set_session_name: { name: z.string().trim().min(1) },
  new_session: {},
  switch_session: { session: name },
  fork: { entryId: name },
  get_commands: {},
  get_extensions: {},
  reload: {},
  bash: { command: name, excludeFromContext: z.boolean().optional() },
  shutdown: {},
} as const satisfies Record<string, z.ZodRawShape>;

export type RpcCommandName = keyof typeof rpcCommands;

/** The fields of one command, validated. */
export type RpcParams<Name extends RpcCommandName> = z.output<z.ZodObject<(typeof rpcCommands)[Name]>>;

/** Given back with the response to it. */
export type RpcId = string | number;

/** What the responses carry as `data`; what is undefined is absent. */
export interface RpcData {
  /** Answers when the message is stored or queued. `agent_end` follows when the work is done. Long. */
  prompt: { queued: boolean };
  /** Queues a text for the agent's next request. Long. */
  steer: { queued: boolean };
  /** Queues a text for the moment the agent would stop. Long. */
  follow_up: { queued: boolean };
  /** Stops the work. Answers when the agent is idle. */
  abort: undefined;
  /** Compacts. `useDigest` asks no model, `isAgain` repeats the latest compaction from the originals, `firstKeptEntryId` sets the cut. Long. */
  compact: CompactionOutcome;
  /** Cancels the running compaction. The task continues. */
  abort_compaction: undefined;
  /** Moves to another entry. `label` goes to the summary, or to the target without one. Long. */
  navigate_tree: Pick<Navigation, "status" | "leafId" | "previousLeafId" | "editorText"> & {
    summaryEntryId: string | undefined;
  };
  /** Summarises the branch that ends at `branchId` into the current one. Long. */
  merge: Omit<BranchMerge, "summaryEntry"> & { summaryEntryId: string | undefined };
  /** The session, its leaf, model, thinking level, queues and context. */
  get_state: Omit<AgentState, "model"> & { model: ModelJson };
  /** The model's view, oldest message first. */
  get_messages: { messages: readonly Message[] };
  /** All entries of all branches, in file order. */
  get_entries: { entries: readonly Entry[]; leafId: string | null };
  /** The rows of `bonsai session tree --json`. */
  get_tree: { tree: readonly TreeRow[]; leafId: string | null };
  /** Counts, usage and cost. */
  get_session_stats: RpcSessionStats;
  /** The last answer, or null. */
  get_last_assistant_text: { text: string | null };
  /** Selects a model. */
  set_model: { model: ModelJson };
  /** The models that can be used now. */
  get_available_models: { models: readonly ModelJson[] };
  /** Selects a thinking level. */
  set_thinking_level: { level: ThinkingLevel };
  /** Names the session. */
  set_session_name: { name: string };
  /** Starts a new session. Its file appears with the first entry. */
  new_session: RpcSession;
  /** Opens another session, by file or id. */
  switch_session: RpcSession;
  /** Starts a new session with the path up to that entry. */
  fork: RpcSession;
  /** The commands, prompt templates and skills that a prompt can call. */
  get_commands: { commands: readonly RpcCommandInfo[] };
  /** The loaded and failed extensions, and their flags. */
  get_extensions: RpcExtensions;
  /** Reloads extensions, skills and prompt templates. */
  reload: RpcExtensions & { elapsedMs: number };
  /** Runs a command and stores its output in the session. Long. */
  bash: BashExecutionMessage;
  /** Stops the work and ends the program. */
  shutdown: undefined;
}

/** The session that is worked in now. */
export interface RpcSession {
  sessionId: string;
  /** Absent for a session in memory. */
  sessionFile: string | undefined;
  /** True where an extension did not let it happen: the session is the one before. */
  cancelled: boolean;
}

/** What a prompt calls that begins with a slash and the name. */
interface RpcCommandInfo {
  name: string;
  description: string | undefined;
  /** What may stand behind the name, like `[focus]`. */
  argumentHint?: string;
  source: "extension" | "prompt" | "skill";
  /** Of the extension, the template or the skill. */
  path: string;
  /** Where a template or a skill was found. */
  origin?: ResourceOrigin;
}

export interface RpcExtensions {
  loaded: readonly LoadedExtension[];
  failed: readonly { path: string; error: ErrorJson }[];
  /** What the command line can set. */
  flags: readonly ({ name: string } & FlagOptions)[];
}

export interface RpcSessionStats {
  sessionId: string;
  sessionFile: string | undefined;
  name: string | undefined;
  entryCount: number;
  /** Messages by role, other entries by type; only what occurs. */
  counts: Readonly<Record<string, number>>;
  usage: Usage;
  /** Null where not all of it is known. */
  costUsd: number | null;
  context: AgentState["context"];
}

/** The one answer to each command. */
export type RpcResponse = { id?: RpcId | undefined; type: "response" } & (
  | { command: RpcCommandName; success: true; data?: RpcData[RpcCommandName] | undefined }
  /** `command` is null where the line could not be read. */
  | {
      command: string | null;
      success: false;
      /** A text for pi's client. */
      error: ErrorJson | string;
    }
);

/** Lines on standard output beside responses and lifecycle events. */
export type RpcNote =
  /** Something that a user should know and that did not stop the work. */
  | { type: "notice"; level: "info" | "warning"; code: string; message: string }
  /** Texts that were queued and neither sent nor stored when the run had ended, oldest first. */
  | { type: "unsent"; inputs: readonly { message: string; images?: readonly ImageContent[] }[] }
  /** What the question behind it is about: a compaction before it is written. */
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
