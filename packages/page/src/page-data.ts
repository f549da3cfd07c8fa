/**
 * The data of a page: plain, made by the program and read by the browser. This file imports nothing that
 * only one of them has.
 */

/** The whole of a page but for the bodies of its entries, which come in chunks. */
export interface PageData {
  session: SessionFacts;
  rows: PageRows;
  /** The row of the session's position; -1 before every entry. */
  leaf: number;
  labels: Array<[row: number, label: string]>;
  /** In file order. Of several on a path, the latest counts. */
  masks: PageMask[];
  /** Ascending, without gaps: every row is in one. */
  chunks: ChunkPlace[];
  /** All requests on all branches, ascending by row. */
  requests: PageRequest[];
  /** In file order, undone ones too. */
  compactions: CompactionFacts[];
  /** Models by the number that requests name. */
  models: PageModel[];
  /** Rows at the end of other branches that the page can compare with the session's position, newest first. */
  compared: number[];
  /** Number of redacted secrets. */
  redacted: number;
}

/** The data of a served page. After the first time, without the rows and requests before `from`. */
export interface PageUpdate {
  from: number;
  /** Counts how often the program has read the session from its beginning. */
  revision: number;
  data: PageData;
}

export interface SessionFacts {
  id: string;
  /** Its name, else how its user began; at most 120 characters. */
  title: string;
  /** ISO 8601. */
  startedAt: string;
  cwd: string;
  /** The program that wrote the session: Bonsai, pi, Claude Code, …; empty if unknown. */
  program: string;
  /** True where all costs are known. */
  costUsd: number | null;
  /** As people read it: "$1.20", "at least $1.20". */
  costText: string;
}

/** Kinds of entries. New ones go to the end. */
export const rowKinds = [
  "user",
  "assistant",
  "result",
  "command",
  "note",
  "compaction",
  "branch summary",
  "mask",
  "label",
  "name",
  "model",
  "thinking",
  "leaf",
  "undo",
  "redo",
  "pin",
  "usage",
  "custom",
  "damaged",
] as const;
export type RowKind = (typeof rowKinds)[number];

/** All entries of all branches in file order, as columns of equal length: 100,000 of them have to be read at once. */
export interface PageRows {
  ids: string[];
  /** Row of the parent; -1 for a root. */
  parents: number[];
  /** Positions in `rowKinds`. */
  kinds: number[];
  /** Milliseconds since 1970. */
  times: number[];
  /** At most 120 characters. */
  previews: string[];
  /** Estimated tokens that the entry adds to the context. */
  tokens: number[];
  /** Bits of `rowFlags`. */
  flags: number[];
}

/** A mask and its target. */
export interface PageMask {
  row: number;
  target: number;
}

export const rowFlags = {
  /** A failed tool call, or an answer that ended in an error. */
  failed: 1,
  /** Begins a turn. */
  turn: 2,
  /** A mask that omits its target. */
  omits: 4,
  image: 8,
  /** Part of the context where it is in view. */
  speaks: 16,
  /** A text that a program wrote for the model, and nobody typed. Screens hide it. */
  hidden: 32,
} as const;

/** Bodies of the rows from `first` on. */
export interface ChunkPlace {
  first: number;
  count: number;
}

export interface PageModel {
  provider: string;
  id: string;
  /** Tokens of its window; absent where unknown. */
  windowTokens?: number;
  /** Tokens at which a compaction is made by default; absent where unknown. */
  thresholdTokens?: number;
}

/** One answer with its tokens, its cost and the model's view. */
export interface PageRequest {
  row: number;
  model: number;
  /** Tokens by price class. Input is uncached. */
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  costUsd: number | null;
  /** Dollars by price class, where they are known. */
  costs?: { input: number; cacheRead: number; cacheWrite: number; output: number };
  /** The provider refused it for its size. */
  isOverflow?: true;
  /** The model's view before the answer. */
  view: PageView;
}

/**
 * The model's view at a row: the summary of a compaction, then the entries of the path from `from` on that speak to a
 * model, with the masks on that part.
 */
export interface PageView {
  /** Row of the live compaction; -1 without one. */
  compaction: number;
  /** First row of the path that is in view. */
  from: number;
  /** Rows from there on that would speak to a model, and do not: pins that the summary has. Ascending. */
  hidden?: number[];
}

/** A compaction in short; its body has the rest. */
export interface CompactionFacts {
  row: number;
  /** By the latest undo or redo in the file. */
  isUndone: boolean;
  /** Rows that undo it, and that take that back; ascending. */
  undoneAt: number[];
  redoneAt: number[];
  tokensBefore: number;
  /** Absent where nobody wrote it down. */
  tokensAfter?: number;
}

/** An entry in full. */
export interface EntryBody {
  parts: BodyPart[];
  /** For a compaction or a branch summary. */
  summary?: SummaryBody;
}

/** A block of a message that is drawn: only pictures that are nothing else, for a drawing in SVG could hold a program. */
export function isPicture({ type, mimeType, data }: Readonly<Record<string, unknown>>): boolean {
  return (
    type === "image" && pictureTypes.has(String(mimeType)) && typeof data === "string" && base64.test(data)
  );
}

const pictureTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export type BodyPart =
  | { type: "markdown"; text: string }
  /** Shown as it is. */
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** A picture in base64. */
  | { type: "image"; mimeType: string; data: string }
  /** `title` is the call in one line; `arguments` are indented JSON without the parts in `code` and `diff`. */
  | {
      type: "call";
      id: string;
      name: string;
      title: string;
      arguments: string;
      code?: CodePart;
      diff?: DiffPart;
    }
  /** Output of a tool or a command; `call` names the call, briefly: its own part has all of it. */
  | {
      type: "output";
      call?: string;
      text: string;
      isError: boolean;
      language?: string;
      diff?: DiffPart;
    }
  | { type: "error"; text: string }
  | { type: "facts"; rows: Array<[name: string, value: string]> };

export interface CodePart {
  path: string;
  text: string;
  language?: string;
}

/** A change of one file: as a unified diff, or as the text before and after. */
export type DiffPart = { path: string } & ({ unified: string } | { before: string; after: string });

/** A compaction or a branch summary, opened. */
export interface SummaryBody {
  /** The summary line by line, without the marks for models, each with its source rows. */
  lines: Array<{ text: string; rows: number[]; isMatched: boolean; isHeading: boolean }>;
  /** Findings of the loss check as text; empty if there are none. */
  loss: Array<{ text: string; rows: number[] }>;
  /** The decision, its author and its cost, as text. */
  facts: Array<[name: string, value: string]>;
  /** The context before it, in order of the path, cut into runs of equal fate. Rows are those of the path. */
  before: MapRun[];
  /** The context after it: its summary, then what was kept. */
  after: MapRun[];
}

/** Entries side by side in a context that met one fate. */
export interface MapRun {
  fate: "kept" | "masked" | "summarised" | "summary";
  rows: number[];
  tokens: number;
}

/** The work on one side of a comparison since both sides parted. Lists are bounded; rows are oldest first. */
export interface ComparedSide {
  entries: number;
  turns: number;
  compactions: number;
  /** Created, modified and read files, most recently touched first; no file is in two of them. */
  files: Array<{ count: number; names: string[] }>;
  commands: Array<{ text: string; state: string; row: number }>;
  /** The user's messages. */
  words: number[];
  /** The last answer with a text, if there is one. */
  lastAnswer: number[];
  branchSummaries: number[];
  /** Known dollars. */
  costUsd: number;
  /** False if some costs are unknown. */
  isCostWhole: boolean;
}

/** Side A is another branch, side B the session's position. */
export interface Comparison {
  relation: "same" | "ahead" | "behind" | "parted" | "unrelated";
  /** Row of the deepest common entry; -1 for none. */
  commonAncestor: number;
  /** Entries from the root down to it. */
  commonEntries: number;
  a: ComparedSide;
  b: ComparedSide;
  /** Files that both sides touched, sorted, with the names that A has for them. */
  sharedFiles: string[];
}
