import { contentText } from "@bonsai-agent/messages";
import { callPreview } from "../../preview.ts";
import { count } from "../../views/numbers.ts";
import { printableLines } from "../../views/printable.ts";
import type { DrawnCall, ToolDrawing } from "../extension-views/tool-drawing.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { Style } from "../theme/theme.ts";
import { BlockImages } from "./block-images.ts";
import { longCommand, writtenText } from "./call-text.ts";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { wrapped } from "./chat-text.ts";
import { changeOf, type DiffLineKind, diffLines } from "./diff-lines.ts";
import { foldedLines, foldMark } from "./folded-lines.ts";
import { outputLines, shownLine } from "./output-lines.ts";

export type ToolState = "waiting" | "running" | "done" | "failed";

/** What a tool has put out: so far, or in the end. */
export interface ToolOutput {
  content: unknown;
  details?: unknown;
}

const bodyFold = { head: 3, tail: 5 };
const diffFold = { head: 24, tail: 0 };
const writtenFold = { head: 6, tail: 0 };
/** Beyond it, nobody reads in a chat; the session has all of it. */
const maxOpenLines = 2_000;

const marks: Readonly<Record<ToolState, string>> = { waiting: "○", running: "◌", done: "●", failed: "✗" };

/** Lines behind a mark that stands on the first. */
function marked(lines: readonly string[], mark: string): string[] {
  return lines.map((line, at) => `${at === 0 ? mark : "   "}${line}`);
}

const maskedTexts = {
  whole: "masked: not in the model's view",
  part: "shortened: the model sees a part of it",
} as const;

/** One call of a tool: a line of what is done, and below it what came of it. */
export class ToolBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #name: string;
  readonly #images: BlockImages;
  #args: unknown;
  #state: ToolState = "waiting";
  #output: ToolOutput | undefined;
  #masked: "whole" | "part" | undefined;
  readonly #drawing: ToolDrawing | undefined;

  /** @param callId for renderers of extensions; default: none that they would know */
  constructor(name: string, args: unknown, looks: ChatLooks, callId = "") {
    super();
    this.#drawing = looks.drawings?.tool(name, callId, () => this.changed());
    this.#name = name;
    this.#args = args;
    this.#looks = looks;
    this.#images = new BlockImages(looks.images, this);
  }

  get isDone(): boolean {
    return this.#state === "done" || this.#state === "failed";
  }

  setArgs(args: unknown): void {
    this.#args = args;
    this.changed();
  }

  setState(state: ToolState): void {
    this.#state = state;
    this.changed();
  }

  setOutput(output: ToolOutput): void {
    this.#output = output;
    this.#images.set(output.content);
    this.changed();
  }

  /** The model sees a placeholder, or a part; the user goes on seeing what is stored. */
  mask(how: "whole" | "part" = "whole"): void {
    this.#masked = how;
    this.changed();
  }

  protected override get rows(): number {
    return this.#images.rows;
  }

  protected lines(width: number): string[] {
    const { style } = this.#looks.theme;
    const now = { args: this.#args, state: this.#state, output: this.#output, expanded: this.isExpanded };
    const drawn = this.#masked === "whole" ? undefined : this.#drawing?.draw(now, width);
    if (drawn !== undefined) return this.#drawnLines(drawn, width);
    return [
      this.#head(width),
      ...this.#maskedLines(width),
      ...(this.isExpanded ? wrapped(longCommand(this.#args), width, style.accent, "   ") : []),
      ...(this.#isHidden ? [] : this.#body(width)),
    ];
  }

  /** True where what the model does not see is not shown either, until it is opened. */
  get #isHidden(): boolean {
    return this.#masked === "whole" && !this.isExpanded;
  }

  #maskedLines(width: number): string[] {
    if (this.#masked === undefined) return [];
    const opens = this.#isHidden ? ` (${this.#looks.expandKey()})` : "";
    const { muted } = this.#looks.theme.style;
    return wrapped([`${maskedTexts[this.#masked]}${opens}`], width, muted, "   ");
  }

  /** What an extension draws, and our own in the place of what it leaves out. */
  #drawnLines({ isAlone, call, result }: DrawnCall, width: number): string[] {
    const head = call === undefined ? [this.#head(width)] : isAlone ? call : marked(call, this.#mark());
    const body = result === undefined ? this.#body(width) : isAlone ? result : marked(result, "   ");
    return [...head, ...body];
  }

  #mark(): string {
    return ` ${this.#stateLook()(marks[this.#state])} `;
  }

  #head(width: number): string {
    const { style } = this.#looks.theme;
    const [first = "", ...rest] = callPreview(this.#name, this.#args).split(" ");
    const change = changeOf(this.#output?.details);
    const counts =
      change === undefined || change.added + change.removed === 0
        ? ""
        : ` ${style.added(`+${count(change.added)}`)} ${style.removed(`-${count(change.removed)}`)}`;
    const line = `${this.#mark()}${style.toolName(style.bold(first))} ${rest.join(" ")}`;
    return `${truncateToWidth(line, Math.max(1, width - visibleWidth(counts)), "…")}${counts}`;
  }

  #stateLook(): Style {
    const { style } = this.#looks.theme;
    if (this.#state === "failed") return style.error;
    return this.#state === "done" ? style.success : style.warning;
  }

  #body(width: number): string[] {
    const change = changeOf(this.#output?.details);
    if (change !== undefined && change.diff !== "" && this.#state !== "failed")
      return this.#diff(change.diff, width);
    const { style } = this.#looks.theme;
    const written = this.#state === "done" ? writtenText(this.#args, this.#output?.details) : undefined;
    if (written !== undefined)
      return this.#folded(printableLines(written.trimEnd()), writtenFold, (part) =>
        wrapped(this.#cut(part, width), width, style.added, "   "),
      );
    const look = this.#state === "failed" ? style.error : style.muted;
    // Why it failed is worth more than a row.
    const rows = this.#state === "failed" ? 3 : 1;
    const draw = (part: readonly string[]) =>
      wrapped(this.#cut(part.map(shownLine), width, rows), width, look, "   ");
    return [
      ...this.#folded(outputLines(contentText(this.#output?.content)), bodyFold, draw),
      ...this.#images.lines({ width, isExpanded: this.isExpanded, style: style.muted, indent: "   " }),
    ];
  }

  #diff(diff: string, width: number): string[] {
    const { style } = this.#looks.theme;
    const look: Readonly<Record<DiffLineKind, Style>> = {
      added: style.added,
      removed: style.removed,
      hunk: style.dim,
      same: style.muted,
    };
    return this.#folded(diffLines(diff), diffFold, (part) =>
      part.flatMap(({ kind, text }) => wrapped(this.#cut([text], width), width, look[kind], "   ")),
    );
  }

  /** Folded, a line is one row or a few: a minified file is one line of a megabyte. */
  #cut(lines: readonly string[], width: number, rows = 1): readonly string[] {
    if (this.isExpanded) return lines;
    const columns = Math.max(1, width - 3) * rows;
    return lines.map((line) => truncateToWidth(line.slice(0, columns * 4), columns, "…"));
  }

  #folded<Each>(
    lines: readonly Each[],
    fold: { head: number; tail: number },
    draw: (part: readonly Each[]) => string[],
  ): string[] {
    const all = this.isExpanded ? { head: maxOpenLines, tail: 20 } : fold;
    const { head, folded, tail } = foldedLines(lines, all);
    const mark =
      folded > 0 ? [`   ${this.#looks.theme.style.dim(foldMark(folded, this.#looks.expandKey()))}`] : [];
    return [...draw(head), ...mark, ...draw(tail)];
  }
}
