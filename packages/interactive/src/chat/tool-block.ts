import { count } from "@bonsai-agent/app/numbers";
import { fitPreview } from "@bonsai-agent/app/preview";
import { printableLines } from "@bonsai-agent/app/terminal-text";
import { callParts, contentText, type ToolCall } from "@bonsai-agent/messages";
import type { DrawnCall, ToolDrawing } from "../extension-views/chat-drawings.ts";
import type { Style } from "../terminal/theme.ts";
import { visibleWidth } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { outputLines, shownLine, wrapped } from "./chat-text.ts";
import { ImageBlock } from "./image-block.ts";

type ToolState = "waiting" | "running" | "done" | "failed";

/** What a tool has put out: so far, or in the end. */
interface ToolOutput {
  content: unknown;
  details?: unknown;
}

const outputFold = { head: 3, tail: 5 };
const diffFold = { head: 24, tail: 0 };
const writtenFold = { head: 6, tail: 0 };
/** Nobody reads more in a chat; the session has all of it. */
const open = { head: 2_000, tail: 20 };
const indent = "   ";

const marks: Readonly<Record<ToolState, string>> = { waiting: "○", running: "◌", done: "●", failed: "✗" };

const maskedTexts = {
  whole: "masked: not in the model's view",
  part: "shortened: the model sees a part of it",
} as const;

/** How much of an output the model does not see. */
export type Masked = keyof typeof maskedTexts;

/** Says what the model does not see of an output, and where that is folded away, how to see it here. */
export function maskedLines(
  masked: Masked | undefined,
  {
    looks: { theme, expandKey },
    isExpanded,
    width,
  }: { looks: ChatLooks; isExpanded: boolean; width: number },
): string[] {
  if (masked === undefined) return [];
  const key = masked === "whole" && !isExpanded ? ` (${expandKey()})` : "";
  return wrapped([`${maskedTexts[masked]}${key}`], width, theme.style.muted, indent);
}

/** One call of a tool: a line of what is done, and below it what came of it. */
export class ToolBlock extends ImageBlock {
  readonly #name: string;
  #args: unknown;
  #state: ToolState = "waiting";
  #output: ToolOutput | undefined;
  #masked: Masked | undefined;
  readonly #drawing: ToolDrawing | undefined;

  constructor({ id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">, looks: ChatLooks) {
    super(looks);
    this.#drawing = looks.drawings?.tool(name, id, () => this.changed());
    this.#name = name;
    this.#args = args;
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
    this.setImages(output.content);
    this.changed();
  }

  /** The model sees a placeholder, or a part; the user goes on seeing what is stored. */
  mask(how: Masked): void {
    this.#masked = how;
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const now = { args: this.#args, state: this.#state, output: this.#output, expanded: this.isExpanded };
    const drawn = this.#masked === "whole" ? undefined : this.#drawing?.draw(now, width);
    if (drawn !== undefined) return this.#drawnLines(drawn, width);
    return [
      this.#head(width),
      ...maskedLines(this.#masked, { looks: this.looks, isExpanded: this.isExpanded, width }),
      ...(this.isExpanded ? wrapped(longCommand(this.#args), width, style.accent, indent) : []),
      ...(this.#isHidden ? [] : this.#body(width)),
    ];
  }

  /** True where what the model does not see is not shown either, until it is expanded. */
  get #isHidden(): boolean {
    return this.#masked === "whole" && !this.isExpanded;
  }

  /** What an extension draws, and our own in the place of what it leaves out. */
  #drawnLines({ isAlone, call, result }: DrawnCall, width: number): string[] {
    const marked = (lines: string[], mark: string) =>
      isAlone ? lines : lines.map((line, at) => `${at === 0 ? mark : indent}${line}`);
    return [
      ...(call === undefined ? [this.#head(width)] : marked(call, this.#mark())),
      ...(result === undefined ? this.#body(width) : marked(result, indent)),
    ];
  }

  #mark(): string {
    const { success, warning, error } = this.looks.theme.style;
    const look = this.#state === "failed" ? error : this.#state === "done" ? success : warning;
    return ` ${look(marks[this.#state])} `;
  }

  #head(width: number): string {
    const { style } = this.looks.theme;
    const change = changeOf(this.#output?.details);
    const counts =
      change === undefined || change.added + change.removed === 0
        ? ""
        : ` ${style.added(`+${count(change.added)}`)} ${style.removed(`-${count(change.removed)}`)}`;
    const mark = this.#mark();
    const columns = Math.max(1, width - visibleWidth(mark) - visibleWidth(counts));
    const call = fitPreview(callParts(this.#name, this.#args), columns);
    const [, name = "", rest = ""] = /^(\S*)(.*)$/.exec(call) ?? [];
    return `${mark}${style.toolName(style.bold(name))}${rest}${counts}`;
  }

  #body(width: number): string[] {
    const { style } = this.looks.theme;
    const { content, details } = this.#output ?? {};
    const isFailed = this.#state === "failed";
    const change = changeOf(details);
    if (change !== undefined && change.diff !== "" && !isFailed) return this.#diff(change.diff, width);
    const written = this.#state === "done" ? writtenText(this.#args, details) : undefined;
    if (written !== undefined)
      return this.folded(printableLines(written.trimEnd()), {
        fold: writtenFold,
        open,
        draw: (part) => wrapped(this.cut(part, width), width, style.added, indent),
      });
    // Why it failed is worth more than a row.
    const rows = isFailed ? 3 : 1;
    const look = isFailed ? style.error : style.muted;
    return [
      ...this.folded(outputLines(contentText(content)), {
        fold: outputFold,
        open,
        draw: (part) => wrapped(this.cut(part.map(shownLine), width, rows), width, look, indent),
      }),
      ...this.imageLines(width, { style: style.muted, indent }),
    ];
  }

  #diff(diff: string, width: number): string[] {
    const { added, removed, dim, muted } = this.looks.theme.style;
    const looks: Readonly<Record<DiffLineKind, Style>> = { added, removed, hunk: dim, same: muted };
    return this.folded(diffLines(diff), {
      fold: diffFold,
      open,
      draw: (part) =>
        part.flatMap(({ kind, text }) => wrapped(this.cut([text], width), width, looks[kind], indent)),
    });
  }
}

/** What a call wrote into a new file; undefined where it made none. */
export function writtenText(args: unknown, details: unknown): string | undefined {
  const { created } = fields(details);
  const { content } = fields(args);
  return created === true && typeof content === "string" && content.trim() !== "" ? content : undefined;
}

/** A command that a call's one line cannot show whole; none where it can. */
export function longCommand(args: unknown): string[] {
  const { command } = fields(args);
  if (typeof command !== "string" || (command.length <= 120 && !command.trim().includes("\n"))) return [];
  return printableLines(command.trim());
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

type DiffLineKind = "added" | "removed" | "hunk" | "same";

interface DiffLine {
  kind: DiffLineKind;
  text: string;
}

const noNewline = /^\\ /;

/**
 * A unified difference, line by line: what is in its headers stands in the line that is marked as a hunk. What
 * differs and would not be seen is made visible: blanks at the end, returns, a missing newline.
 */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/(?<!\n)\n+$/, "").split("\n");
  const changed = lines.filter((line) => /^[-+]/.test(line));
  const tellsReturns =
    changed.some((line) => line.endsWith("\r")) && !changed.every((line) => line.endsWith("\r"));
  const tellsNewline = lines.filter((line) => noNewline.test(line)).length === 1;
  return lines
    .filter((line) => tellsNewline || !noNewline.test(line))
    .map((line) => diffLine(line, tellsReturns));
}

function diffLine(line: string, tellsReturns: boolean): DiffLine {
  if (noNewline.test(line)) return { kind: "hunk", text: "no newline at the end" };
  const kind = kindOf(line);
  const text = line.replace(/\r$/, tellsReturns && kind !== "hunk" ? "␍" : "");
  const shown = kind === "same" || kind === "hunk" ? text : withBlanks(text);
  return { kind, text: printableLines(shown).join(" ") };
}

/** Those at the end, behind the sign. */
function withBlanks(line: string): string {
  const [text = ""] = line.split(/␍$/);
  const end = Math.max(1, text.trimEnd().length);
  return (
    text.slice(0, end) + text.slice(end).replaceAll("\t", "→").replaceAll(" ", "·") + line.slice(text.length)
  );
}

function kindOf(text: string): DiffLineKind {
  if (text.startsWith("@@")) return "hunk";
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}

/** The change in the details of `edit` and `write`; undefined for those of other tools. */
export function changeOf(details: unknown): { diff: string; added: number; removed: number } | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const { diff, added, removed } = details as Record<string, unknown>;
  if (typeof added !== "number" || typeof removed !== "number") return undefined;
  return { diff: typeof diff === "string" ? diff : "", added, removed };
}
