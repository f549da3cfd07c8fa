import { lossLines } from "@bonsai-agent/compaction";
import { branchWords, type SummaryLoss, sizeBeforeText } from "@bonsai-agent/compaction/host";
import { contentText, isRecord, readableSummary } from "@bonsai-agent/messages";
import {
  type BranchSummaryEntry,
  type CompactionEntry,
  type CustomEntry,
  ownTypeWords,
  pinChange,
} from "@bonsai-agent/session";
import { oneLine } from "../../views/terminal-text.ts";
import { keys } from "../terminal/keys.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { textLines, wrapped } from "./chat-text.ts";
import { ImageBlock } from "./image-block.ts";
import { MarkdownText } from "./markdown-text.ts";

interface ShownSummary {
  entry: CompactionEntry | BranchSummaryEntry;
  /** True for a compaction that no longer counts. */
  isUndone: boolean;
  loss: SummaryLoss | undefined;
}

/** A compaction or a branch summary: one line; expanded, the summary, its losses and its files. */
export class SummaryBlock extends ChatBlock {
  readonly #entry: CompactionEntry | BranchSummaryEntry;
  readonly #isUndone: boolean;
  readonly #loss: SummaryLoss;

  constructor({ entry, isUndone, loss = {} }: ShownSummary, looks: ChatLooks) {
    super(looks);
    this.#entry = entry;
    this.#isUndone = isUndone;
    this.#loss = loss;
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const title = style.accent(this.#title());
    if (!this.isExpanded) return wrapped([`${title} ${style.dim(`(${keys.label("expand")})`)}`], width);
    const { details, summary } = this.#entry;
    const { prose = summary, readFiles, modifiedFiles } = isRecord(details) ? details : {};
    const text = [prose, summary, ""].find((each) => typeof each === "string") as string;
    const fileLines = (heading: string, list: unknown) => {
      const paths = pathsIn(list);
      return paths.length === 0
        ? []
        : ["", ...wrapped([heading], width, style.bold), ...wrapped(paths, width, style.muted, "   ")];
    };
    const sources = this.#isUndone ? [] : [style.dim(`${keys.label("sources")}: sources of each line`)];
    return [
      ...wrapped([title, ...sources], width),
      "",
      ...new MarkdownText(this.looks).lines(readableSummary(text), width),
      ...this.#lossLines(width),
      ...fileLines("Files read", readFiles),
      ...fileLines("Files modified", modifiedFiles),
    ];
  }

  #lossLines(width: number): string[] {
    const { style } = this.looks.theme;
    const said = lossLines(this.#loss);
    const drawn = said.flatMap(({ text, isLoss }) =>
      textLines(text, width, isLoss ? style.warning : style.muted),
    );
    return drawn.length === 0 ? [] : ["", ...drawn];
  }

  /** `[compaction] Compacted from 123,456 tokens`. */
  #title(): string {
    if (this.#entry.type === "branch_summary")
      return `[branch summary] of ${branchWords({ isMerge: this.#entry.isMerge === true })}`;
    const size = sizeBeforeText(this.#entry);
    return `[compaction] Compacted${size === undefined ? "" : ` from ${size}`}${this.#isUndone ? ", undone" : ""}`;
  }
}

function pathsIn(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.filter((path) => typeof path === "string").map((path) => oneLine(path));
}

/** A visible message of an extension, or a pin. */
interface Note {
  customType: unknown;
  content: unknown;
  details?: unknown;
}

export class NoteBlock extends ImageBlock {
  #note: Note;

  constructor(note: Note, looks: ChatLooks) {
    super(looks);
    this.#note = note;
    this.set(note);
  }

  set(note: Note): void {
    this.#note = note;
    this.setImages(note.content);
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const { customType, content } = this.#note;
    const pin = pinChange(this.#note);
    if (pin !== undefined) {
      const text = `${pin.isPinned ? "Pinned" : "Unpinned"}: ${pin.text}`;
      return this.#body(textLines(text, width, pin.isPinned ? style.accent : style.muted));
    }
    const drawn = this.looks.drawings?.message(this.#note, this.isExpanded, width);
    if (drawn !== undefined) return drawn;
    const words = ownTypeWords(customType) ?? customType;
    const title = `[${typeof words === "string" ? oneLine(words, 60) : "extension"}]`;
    return [
      ...wrapped([title], width, style.customMessageLabel),
      ...this.#body(new MarkdownText(this.looks).lines(contentText(content), width)),
      ...this.imageLines(width, { style: style.muted }),
    ];
  }

  #body(lines: string[]): string[] {
    return this.folded(lines, { fold: { head: 12, tail: 0 }, indent: " ", draw: (part) => part });
  }
}

/** An extension's data in the session, if the extension draws it. */
export class EntryBlock extends ChatBlock {
  readonly #entry: CustomEntry;

  constructor(entry: CustomEntry, looks: ChatLooks) {
    super(looks);
    this.#entry = entry;
  }

  protected lines(width: number): string[] {
    return this.looks.drawings?.entry(this.#entry, this.isExpanded, width) ?? [];
  }
}
