import { isRecord, textHead } from "@bonsai-agent/messages";
import { type CompactionEntry, customTypes, type Entry } from "@bonsai-agent/session";
import { z } from "zod";

const REASONS = ["threshold", "overflow", "manual"] as const;
const RUNGS = [
  "mask",
  "extension",
  "provider",
  "summarise",
  "chunks",
  "digest",
  "media",
  "truncate",
] as const;

/** The cause of a compaction. */
export type CompactionReason = (typeof REASONS)[number];

/** A step of the ladder, which tries to make the context smaller. */
export type RungName = (typeof RUNGS)[number];

/** True for a rung that asks a model. */
export function isModelRung(rung: RungName | undefined): boolean {
  return rung === "provider" || rung === "summarise" || rung === "chunks";
}

export const MAX_REPORTED_TERMS = 20;

/** Reads a damaged or foreign part as absent. */
function optional<Value>(type: z.ZodType<Value>) {
  return type.optional().catch(undefined);
}

const text = optional(z.string());
const flag = optional(z.boolean());
const amount = z.number().min(0);
const count = z.number().int().min(0);
const number = count.catch(0);

/** Upper bound for a stored list; Bonsai writes none that is longer. */
const MAX_ITEMS = 2_000;

/** Reads a stored list without damaged items, from its newest MAX_ITEMS items. */
function soundItems<Item>(item: z.ZodType<Item>) {
  return z
    .array(z.unknown())
    .transform((values) => values.slice(-MAX_ITEMS).flatMap((value) => item.safeParse(value).data ?? []));
}

const textList = soundItems(z.string());
const list = textList.catch([]);

/** The stored fields of all statements. */
const statement = {
  /** The number of the user's message, from 1; for other statements, of the one before. Omitted messages count too. */
  turn: number,
  entryId: text,
  text: z.string(),
  /** True on a branch that was left or merged. */
  isOnBranch: flag,
};

/** A message of the user in the user's own words: the typed text, with a line for each pasted block. */
const saidSchema = z.object({
  ...statement,
  /** The question that it answers, if it is too short to make sense alone. */
  answers: text,
});
export type SaidMessage = z.infer<typeof saidSchema>;

/** A statement of the agent, an extension or another program. */
const closingSchema = z.object({
  ...statement,
  /** The author. Default: the agent. */
  by: text,
  /** True for a statement before the end of its turn. */
  isInterim: flag,
});
export type Closing = z.infer<typeof closingSchema>;

/** The user's messages, oldest first. */
const wordsSchema = z.object({
  said: soundItems(saidSchema),
  /** The number of messages that did not fit. */
  leftOut: number,
});
export type UserWords = z.infer<typeof wordsSchema>;

const termUseSchema = z.object({
  term: z.string(),
  /** The number of messages that contain it. */
  messages: z.number(),
  /** The latest entry that contains it. */
  entryId: text,
});
export type TermUse = z.infer<typeof termUseSchema>;

/** The terms of a session, the most frequent and shortest first. */
const termIndexSchema = z.object({
  /** The number of messages read. */
  messages: number,
  uses: soundItems(termUseSchema),
});
export type TermIndex = z.infer<typeof termIndexSchema>;

/** A command with a failed or refused last run. */
const failedCommandSchema = z.object({
  /** The command, or the part of a chain (`a && b`) that has not passed since, without redirections and wrappers. */
  key: z.string(),
  /** The decisive line of its output; empty if there is none. */
  line: z.string(),
  /** The entry of the failed result. */
  entryId: text,
  /** The folder in which the command ran, if a `cd` before it names one. */
  folder: text,
  /** True if the user refused the command. Absent: false. */
  isRefused: z.literal(true).optional().catch(undefined),
});
export type FailedCommand = z.infer<typeof failedCommandSchema>;

/** An action that cannot be undone: a command or a call of a tool, with the entry of its last run. */
const irreversibleSchema = z.object({
  command: z.string(),
  times: number,
  entryId: text,
  /** The line of its output that names the result, if it has one: `created run q7x2m1d`. */
  result: text,
});

const todoSchema = z.object({
  text: z.string(),
  entryId: text,
  /** The tool with this to-do in its list; its next list replaces this one. */
  tool: text,
});
export type Todo = z.infer<typeof todoSchema>;

/** The outcomes of a span's commands and to-do lists; the next span extends them. Each list is oldest first. */
const outcomesSchema = z.object({
  failing: soundItems(failedCommandSchema),
  irreversible: soundItems(irreversibleSchema),
  openTodos: soundItems(todoSchema),
});
export type Outcomes = z.infer<typeof outcomesSchema>;

/** Reads a stored record without damaged items. Invalid if a part is missing: the entries must then be read again. */
export const recordSchema = z.object({
  /** The number of summaries so far. */
  spans: number,
  /** The number of the user's messages so far. */
  turns: number,
  words: wordsSchema,
  /** The end of the agent's last text, if the user has not answered it yet. */
  unanswered: text,
  /** The statements of the agent and of programs, oldest first. */
  closings: soundItems(closingSchema),
  terms: termIndexSchema,
  outcomes: outcomesSchema,
});

/** Data about a session's past, independent of the summary's author. Each summary stores it; the next extends it. */
export type SpanRecord = z.infer<typeof recordSchema>;

export const emptyRecord: SpanRecord = {
  spans: 0,
  turns: 0,
  words: { said: [], leftOut: 0 },
  closings: [],
  terms: { messages: 0, uses: [] },
  outcomes: { failing: [], irreversible: [], openTodos: [] },
};

const calibrationSchema = z.object({
  // No model counts a text ten times as high as another does.
  ratio: z.number().min(0.1).max(10),
  // Negative if the estimate of the messages is above the reported size.
  overheadTokens: z.number(),
  samples: amount,
});

/** Messages of the context, as a range: a list of ids would grow with the session. */
const rangeSchema = z.object({ count, first: text, last: text });

/** Counts of the data that a summary carries. */
const carriedSchema = z.object({
  /** User messages that are in the summary word for word. */
  words: count,
  /** User messages that did not fit. */
  wordsLeftOut: count,
  /** Terms in the record; the index shows the most used ones. */
  knownTerms: count,
});
export type CarriedCounts = z.infer<typeof carriedSchema>;

/** Counts of the facts of one kind. */
const lossCountSchema = z.object({
  /** Facts that the context still shows. */
  kept: count,
  lost: count,
  /** The lost facts that were put back below the summary. */
  putBack: count,
});
export type LossCount = z.infer<typeof lossCountSchema>;

const NO_LOSS: LossCount = { kept: 0, lost: 0, putBack: 0 };

const MAX_TERM_CHARS = 200;
const termSchema = z.string().transform((term) => textHead(term, MAX_TERM_CHARS));

/** Facts of the span's record that a summary left out. */
const lossSchema = z.object({
  failing: lossCountSchema,
  irreversible: lossCountSchema,
  openTodos: lossCountSchema,
  /** The open request. Older summaries did not check it. */
  requests: lossCountSchema.catch(NO_LOSS),
  /** Covers the hundred most used terms. */
  terms: lossCountSchema,
  /** The most used terms that stay lost, at most twenty. */
  lostTerms: soundItems(z.object({ term: termSchema, entryId: text }))
    .transform((terms) => terms.slice(0, MAX_REPORTED_TERMS))
    .catch([]),
});
export type LossReport = z.infer<typeof lossSchema>;

/** The settings of a compaction, sizes as scaled to the window. */
const manifestSettingsSchema = z.object({
  preset: z.string(),
  estimator: z.string(),
  keepTokens: amount,
  reserveTokens: amount,
  /** Absent if the window was unknown. */
  windowTokens: optional(amount),
});

/** Every field is optional: a stored part can be damaged, and older records lack some. */
const manifestSchema = z.object({
  reason: optional(z.enum(REASONS)),
  /** The focus that the user gave for the summary. Absent without one. */
  focus: text,
  rung: optional(z.enum(RUNGS)),
  tokensBefore: optional(amount),
  /** The estimated part of `tokensBefore`. */
  estimatedTokensBefore: optional(amount),
  tokensAfter: optional(amount),
  splitTurn: flag,
  summarised: optional(rangeSchema),
  turnPrefix: optional(rangeSchema),
  kept: optional(rangeSchema),
  /** Entries whose content a mask replaced in the kept part. */
  masked: list,
  /** Entries of the kept part that lost their images or were shortened. */
  lost: optional(z.object({ media: list, truncated: list })),
  /** Counts of the user's words and terms that the summary carries. */
  carried: optional(carriedSchema),
  /** Facts that the summary left out, and those that were put back. Absent without a check. */
  loss: optional(lossSchema),
  /** True if the user edited the summary's prose before it was written. */
  isEdited: flag,
  /** True if it was made from a snapshot while the agent worked on. */
  isBackground: flag,
  /** True if only `compaction.economy` required it: the context was below the threshold. */
  isEconomic: flag,
  /** The compaction whose summary this one updated. */
  previousCompactionId: text,
  /** Requests to the summariser, refused answers included. */
  requests: optional(amount),
  /** Absent if the cost of these requests is unknown; older records have 0 then. */
  costUsd: optional(amount),
  /** Calibration from the session's usage. The compaction hides the entries that it came from. */
  calibration: optional(calibrationSchema),
  /** True if measured usage supports the calibration, not a refusal alone. */
  isMeasured: flag,
  /** The settings in use. A later compaction with a smaller budget may cut this context again. */
  settings: optional(manifestSettingsSchema),
  /** Model and thinking level at the cut, for a reader that opens only the tail. */
  state: optional(z.object({ provider: text, modelId: text, thinkingLevel: text })),
});

/** The record in a compaction entry: the kept, masked, summarised and lost parts, and the cost. */
export type CompactionManifest = Partial<z.infer<typeof manifestSchema>>;

const detailsSchema = z.object({
  /** The summary's own text, without its frame and the carried data. Absent in the details of other programs. */
  prose: text,
  readFiles: optional(textList),
  modifiedFiles: optional(textList),
  recentFiles: list,
  /** The entry of each recent file's latest change or reading; empty if unknown. */
  recentEntries: list,
  pinned: list,
  latestRequest: optional(z.object({ entryId: z.string(), text: z.string() })),
  /** Texts that extensions carry, by tag. */
  carryOver: z.record(z.string(), list).catch({}),
  record: optional(recordSchema),
  wordsTokens: amount.catch(0),
  focus: text,
  closings: soundItems(closingSchema).catch([]),
  terms: list,
  putBack: list,
  isBrief: flag,
  /** True for a summary of quotes, as the digest makes it; an extension returns it as its own. */
  isExtract: flag,
  manifest: optional(manifestSchema),
});

/** Data in an entry before masks or before a summary of an extension, whose own details have no room for it. */
const besideSchema = z.object({
  calibration: optional(calibrationSchema),
  /** The pinned texts at this point. Absent without pins. */
  pinned: optional<readonly string[]>(textList),
  record: optional(recordSchema),
  /** The first entry that the record does not cover. */
  firstKeptEntryId: text,
  loss: optional(lossSchema),
  isEdited: flag,
});
export type StoredBeside = z.infer<typeof besideSchema>;

/** Reads the sound parts of such an entry; undefined for any other. */
export function besideOf(entry: Entry | undefined): StoredBeside | undefined {
  if (entry?.type !== "custom" || entry.customType !== customTypes.beside) return undefined;
  return isRecord(entry.data) ? readBeside(entry.data) : undefined;
}

/** Reads each stored object once, because entries never change. */
function readOnce<Value>(schema: z.ZodType<Value>): (stored: object) => Value {
  const known = new WeakMap<object, Value>();
  return (stored) => {
    const value = known.get(stored) ?? schema.parse(stored);
    known.set(stored, value);
    return value;
  };
}

const readBeside = readOnce(besideSchema);

/** The sound parts of a summary's details. Missing or damaged parts are absent or empty. */
export type StoredDetails = z.infer<typeof detailsSchema>;

const NO_DETAILS = detailsSchema.parse({});
const readOwn = readOnce(detailsSchema);

/** Reads the details of a summary entry. Details of an extension, and of other entries, have no values. */
export function storedDetails(entry: Entry | undefined): StoredDetails {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return NO_DETAILS;
  return entry.fromHook && !isOwnDetails(entry.details) ? NO_DETAILS : readDetails(entry.details);
}

/** True for details of a summary of ours. An extension can ask for one and return it as its own. */
export function isOwnDetails(details: unknown): details is { prose: string; recentFiles: unknown[] } {
  return isRecord(details) && typeof details.prose === "string" && Array.isArray(details.recentFiles);
}

/** Reads details that `isOwnDetails` accepts, or those of another program. */
export function readDetails(details: unknown): StoredDetails {
  return isRecord(details) ? readOwn(details) : NO_DETAILS;
}

/** The manifest of a compaction of ours, with its sound parts. */
export function manifestOf(compaction: CompactionEntry | undefined): CompactionManifest | undefined {
  return storedDetails(compaction).manifest;
}
