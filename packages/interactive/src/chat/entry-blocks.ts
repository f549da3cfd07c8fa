import { count } from "@bonsai-agent/app/numbers";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { contentText } from "@bonsai-agent/messages";
import {
  type BranchSummaryEntry,
  type CompactionEntry,
  type CustomEntry,
  type PinChange,
  pinChange,
} from "@bonsai-agent/session";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { BlockImages } from "./chat-images.ts";
import { foldMark, textLines, wrapped } from "./chat-text.ts";
import { MarkdownText } from "./markdown-text.ts";

/** What became of a part of the history: one line, and open the whole summary. */
export class SummaryBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #summary: ShownSummary;

  constructor(summary: ShownSummary, looks: ChatLooks) {
    super();
    this.#summary = summary;
    this.#looks = looks;
  }

  protected lines(width: number): string[] {
    const { style } = this.#looks.theme;
    const title = style.accent(summaryTitle(this.#summary));
    if (!this.isExpanded) return wrapped([`${title} ${style.dim(`(${this.#looks.expandKey()})`)}`], width);
    const { prose, files } = this.#summary;
    const lists = files.flatMap(({ title, paths }) => [
      "",
      ...wrapped([title], width, style.bold),
      ...wrapped(paths, width, style.muted, "   "),
    ]);
    return [...wrapped([title], width), "", ...new MarkdownText(this.#looks).lines(prose, width), ...lists];
  }
}

/** A compaction or a branch summary, as it is shown. */
interface ShownSummary {
  kind: "compaction" | "branch summary";
  tokensBefore?: number;
  isUndone?: boolean;
  prose: string;
  /** What was read and modified in the part that was summarised. */
  files: { title: string; paths: string[] }[];
}

export function shownSummary(
  entry: CompactionEntry | BranchSummaryEntry,
  { isUndone = false }: { isUndone?: boolean } = {},
): ShownSummary {
  const details = (
    typeof entry.details === "object" && entry.details !== null ? entry.details : {}
  ) as Record<string, unknown>;
  const prose = typeof details.prose === "string" ? details.prose : entry.summary;
  const files = [
    { title: "Files read", paths: paths(details.readFiles) },
    { title: "Files modified", paths: paths(details.modifiedFiles) },
  ].filter((list) => list.paths.length > 0);
  const text = typeof prose === "string" ? prose : "";
  if (entry.type === "branch_summary") return { kind: "branch summary", prose: text, files };
  return { kind: "compaction", tokensBefore: entry.tokensBefore, isUndone, prose: text, files };
}

/** `[compaction] Compacted from 123,456 tokens`. */
function summaryTitle({ kind, tokensBefore, isUndone }: ShownSummary): string {
  if (kind === "branch summary") return "[branch summary] Of the branch that was left";
  const size = typeof tokensBefore === "number" ? ` from ${count(tokensBefore)} tokens` : "";
  return `[compaction] Compacted${size}${isUndone === true ? ", undone" : ""}`;
}

function paths(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.filter((path) => typeof path === "string").map((path) => oneLine(path));
}

/** What an extension put into the context and wants to be seen. */
interface Note {
  customType: unknown;
  content: unknown;
  details?: unknown;
}

const foldedHead = 12;

export class NoteBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #images: BlockImages;
  #note: Note;

  constructor(note: Note, looks: ChatLooks) {
    super();
    this.#note = note;
    this.#looks = looks;
    this.#images = new BlockImages(looks.images, this);
    this.#images.set(note.content);
  }

  set(note: Note): void {
    this.#note = note;
    this.#images.set(note.content);
    this.changed();
  }

  protected override get rows(): number {
    return this.#images.rows;
  }

  protected lines(width: number): string[] {
    const pin = pinChange(this.#note);
    if (pin !== undefined) return this.#folded(this.#pinLines(pin, width));
    const drawn = this.#looks.drawings?.message(this.#note, this.isExpanded, width);
    if (drawn !== undefined) return drawn;
    const { style } = this.#looks.theme;
    const { customType, content } = this.#note;
    const title = `[${typeof customType === "string" ? oneLine(customType, 60) : "extension"}]`;
    const body = new MarkdownText(this.#looks).lines(contentText(content), width);
    return [
      ...wrapped([title], width, style.accent),
      ...this.#folded(body),
      ...this.#images.lines({ width, isExpanded: this.isExpanded, style: style.muted }),
    ];
  }

  #pinLines({ text, isPinned }: PinChange, width: number): string[] {
    const { accent, muted } = this.#looks.theme.style;
    return textLines(`${isPinned ? "Pinned" : "Unpinned"}: ${text}`, width, isPinned ? accent : muted);
  }

  #folded(body: string[]): string[] {
    const folded = this.isExpanded ? 0 : body.length - foldedHead;
    if (folded <= 1) return body;
    const { dim } = this.#looks.theme.style;
    return [...body.slice(0, foldedHead), ` ${dim(foldMark(folded, this.#looks.expandKey()))}`];
  }
}

/** Data of an extension in the session, as the extension draws it; nothing where it does not. */
export class EntryBlock extends ChatBlock {
  readonly #entry: CustomEntry;
  readonly #looks: ChatLooks;

  constructor(entry: CustomEntry, looks: ChatLooks) {
    super();
    this.#entry = entry;
    this.#looks = looks;
  }

  protected lines(width: number): string[] {
    return this.#looks.drawings?.entry(this.#entry, this.isExpanded, width) ?? [];
  }
}
