import type { TaskDetails } from "@bonsai-agent/agent";
import { callParts, contentText, type ToolCall } from "@bonsai-agent/messages";
import { count, counted, elapsed } from "../../views/numbers.ts";
import { fitPreview } from "../../views/preview.ts";
import { printable, printableLines, truncate } from "../../views/terminal-text.ts";
import { type DrawnCall, ToolDrawing } from "../extension-views/chat-drawings.ts";
import { keys } from "../terminal/keys.ts";
import { visibleWidth } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { outputLines, shownLine, wrapped } from "./chat-text.ts";
import { type DiffLine, diffLines, gutterColumns } from "./diff-lines.ts";
import { ImageBlock } from "./image-block.ts";

type ToolState = "waiting" | "running" | "done" | "failed";

interface ToolOutput {
  content: unknown;
  details?: unknown;
}

const outputFold = { head: 3, tail: 5 };
const diffFold = { head: 24, tail: 0 };
const writtenFold = { head: 6, tail: 0 };
/** The session has the whole output. */
const open = { head: 2_000, tail: 20 };
const MIN_SHOWN_MS = 1_000;
const indent = "   ";

const marks: Readonly<Record<ToolState, string>> = { waiting: "○", running: "◌", done: "●", failed: "✗" };

export class ToolBlock extends ImageBlock {
  readonly #id: string;
  readonly #name: string;
  #args: unknown;
  #state: ToolState = "waiting";
  #output: ToolOutput | undefined;
  #sinceMs = 0;
  #durationMs = 0;
  #drawnTime = "";
  readonly #drawing: ToolDrawing | undefined;

  constructor({ id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">, looks: ChatLooks) {
    super(looks);
    const { drawings } = looks;
    this.#drawing =
      drawings && new ToolDrawing({ drawings, tool: name, toolCallId: id, onChange: () => this.changed() });
    this.#id = id;
    this.#name = name;
    this.#args = args;
  }

  isOf({ id, name }: ToolCall): boolean {
    return id === this.#id && name === this.#name;
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

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const now = { args: this.#args, state: this.#state, output: this.#output, expanded: this.isExpanded };
    const masked = this.maskedLines(width);
    const drawn = masked.length > 0 ? undefined : this.#drawing?.draw(now, width);
    if (drawn !== undefined) return this.#drawnLines(drawn, width);
    return [
      this.#head(width),
      ...masked,
      ...(this.isExpanded ? wrapped(longCommand(this.#args), width, style.accent, indent) : []),
      ...(this.hidesOutput ? [] : this.#body(width)),
    ];
  }

  /** Draws the parts that the extension leaves out. */
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

  #time(): string {
    const ms = this.#state === "running" ? this.#runningMs() : this.#durationMs;
    return ms < MIN_SHOWN_MS ? "" : elapsed(ms);
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

  /** The calls of a sub-agent: their number, or each of them. */
  #calls({ calls, callCount }: SubAgentCalls, width: number): string[] {
    const { dim, muted, success, warning, error } = this.looks.theme.style;
    if (callCount === 0) return [];
    if (!this.isExpanded)
      return [`${indent}${dim(`… ${counted(callCount, "call")} (${keys.label("expand")})`)}`];
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
    const {
      toolDiffAdded: added,
      toolDiffRemoved: removed,
      toolDiffContext: same,
      dim,
    } = this.looks.theme.style;
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

/** The content of the file that a call created. */
export function writtenText(args: unknown, details: unknown): string | undefined {
  const { created } = fields(details);
  const { content } = fields(args);
  return created === true && typeof content === "string" && content.trim() !== "" ? content : undefined;
}

/** A command that is too long for the line of its call. */
export function longCommand(args: unknown): string[] {
  const { command } = fields(args);
  if (typeof command !== "string" || (command.length <= 120 && !command.trim().includes("\n"))) return [];
  return printableLines(command.trim());
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** The change in the details of `edit` and `write`. */
export function changeOf(details: unknown): { diff: string; added: number; removed: number } | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const { diff, added, removed } = details as Record<string, unknown>;
  if (typeof added !== "number" || typeof removed !== "number") return undefined;
  return { diff: typeof diff === "string" ? diff : "", added, removed };
}
