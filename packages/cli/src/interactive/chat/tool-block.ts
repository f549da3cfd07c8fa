import type { TaskDetails } from "@bonsai-agent/agent";
import { callParts, contentText, type ToolCall } from "@bonsai-agent/messages";
import { count, counted, elapsed } from "../../views/numbers.ts";
import { fitPreview } from "../../views/preview.ts";
import { printable, printableLines, truncate } from "../../views/terminal-text.ts";
import type { DrawnCall, ToolDrawing } from "../extension-views/chat-drawings.ts";
import type { Style } from "../terminal/theme.ts";
import { visibleWidth } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { outputLines, shownLine, wrapped } from "./chat-text.ts";
import { type DiffLine, diffLines, gutterColumns } from "./diff-lines.ts";
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
const LEAST_TIME_MS = 1_000;
const indent = "   ";

const marks: Readonly<Record<ToolState, string>> = { waiting: "○", running: "◌", done: "●", failed: "✗" };

const maskedTexts = {
  whole: "masked: the model does not see this output",
  part: "shortened: the model sees only a part",
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
  #sinceMs = 0;
  /** Of the whole call, once it has ended. */
  #durationMs = 0;
  #drawnTime = "";
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
    const isEnd = this.#state === "running" && state !== "running";
    if (isEnd) this.#durationMs = this.#runningMs();
    if (state === "running" && this.#state !== "running") this.#sinceMs = this.looks.now();
    this.#state = state;
    this.changed();
  }

  /** As it is stored. */
  setDuration(durationMs: number): void {
    this.#durationMs = durationMs;
    this.changed();
  }

  override render(width: number): string[] {
    const time = this.#time();
    if (time !== this.#drawnTime) this.changed();
    this.#drawnTime = time;
    return super.render(width);
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

  #runningMs(): number {
    return this.looks.now() - this.#sinceMs;
  }

  /** How long it has taken; nothing for what took no time to speak of. */
  #time(): string {
    const ms = this.#state === "running" ? this.#runningMs() : this.#durationMs;
    return ms < LEAST_TIME_MS ? "" : elapsed(ms);
  }

  #head(width: number): string {
    const { style } = this.looks.theme;
    const change = changeOf(this.#output?.details);
    const counts =
      change === undefined || change.added + change.removed === 0
        ? ""
        : ` ${style.toolDiffAdded(`+${count(change.added)}`)} ${style.toolDiffRemoved(`-${count(change.removed)}`)}`;
    const mark = this.#mark();
    const time = this.#time() === "" ? "" : style.dim(` ${this.#time()}`);
    const columns = Math.max(1, width - visibleWidth(`${mark}${counts}${time}`));
    const call = fitPreview(callParts(this.#name, this.#args), columns);
    const [, name = "", rest = ""] = /^(\S*)(.*)$/.exec(call) ?? [];
    return `${mark}${style.toolTitle(style.bold(name))}${rest}${counts}${time}`;
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
        draw: (part) => wrapped(this.cut(part, width), width, style.toolDiffAdded, indent),
      });
    const calls = this.#calls(callsOf(details), width);
    // Why it failed is worth more than a row.
    const rows = isFailed ? 3 : 1;
    const look = isFailed ? style.error : style.toolOutput;
    return [
      ...calls,
      ...this.folded(outputLines(contentText(content)), {
        fold: outputFold,
        open,
        draw: (part) => wrapped(this.cut(part.map(shownLine), width, rows), width, look, indent),
      }),
      ...this.imageLines(width, { style: style.muted, indent }),
    ];
  }

  /** What a sub-agent called: how many, and unfolded each with how it ended. */
  #calls({ calls, callCount }: SubAgentCalls, width: number): string[] {
    const { dim, muted, success, warning, error } = this.looks.theme.style;
    if (callCount === 0) return [];
    if (!this.isExpanded)
      return [`${indent}${dim(`… ${counted(callCount, "call")} (${this.looks.expandKey()})`)}`];
    const looks = { running: warning, done: success, failed: error };
    const earlier = callCount - calls.length;
    const columns = Math.max(1, width - indent.length - 2);
    return [
      ...(earlier > 0 ? [`${indent}${dim(`… ${counted(earlier, "earlier call")}`)}`] : []),
      ...calls.map(({ text, state }) => {
        const shown = muted(truncate(printable(text), columns));
        return `${indent}${looks[state](marks[state])} ${shown}`;
      }),
    ];
  }

  #diff(diff: string, width: number): string[] {
    const { toolDiffAdded: added, toolDiffRemoved: removed, toolDiffContext: same, dim } = this.looks.theme.style;
    const looks = { added, removed, gap: dim, same };
    const lines = diffLines(diff);
    const columns = gutterColumns(lines, width - indent.length);
    const blank = indent + " ".repeat(columns);
    const draw = ({ kind, text, number }: DiffLine) => {
      const [first = "", ...rest] = wrapped(this.cut([text], width - columns), width, looks[kind], blank);
      const gutter = columns === 0 ? "" : dim(`${String(number ?? "").padStart(columns - 1)} `);
      return [indent + gutter + first.slice(blank.length), ...rest];
    };
    return this.folded(lines, { fold: diffFold, open, draw: (part) => part.flatMap(draw) });
  }
}

type SubAgentCalls = Pick<TaskDetails, "calls" | "callCount">;

/** The calls in the details of `task`, from an update or a result; none in those of other tools. */
function callsOf(details: unknown): SubAgentCalls {
  const { calls, callCount } = fields(details);
  const known = Array.isArray(calls) ? calls.filter(isTaskCall) : [];
  const isCounted = typeof callCount === "number" && known.length > 0 && callCount >= known.length;
  return { calls: known, callCount: isCounted ? callCount : known.length };
}

function isTaskCall(call: unknown): call is TaskDetails["calls"][number] {
  const { text, state } = fields(call);
  return typeof text === "string" && (state === "running" || state === "done" || state === "failed");
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

/** The change in the details of `edit` and `write`; undefined for those of other tools. */
export function changeOf(details: unknown): { diff: string; added: number; removed: number } | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const { diff, added, removed } = details as Record<string, unknown>;
  if (typeof added !== "number" || typeof removed !== "number") return undefined;
  return { diff: typeof diff === "string" ? diff : "", added, removed };
}
