import type { LifecycleEvents } from "@bonsai-agent/agent";
import { type CompactionOutcome, type CompactionReason, manifestOf } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { callParts, contentText, messageText, readableSummary, shortened } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { type Line, marked, type Style, span } from "../views/line.ts";
import { count, counted, sizeChange } from "../views/numbers.ts";
import { wrap } from "../views/terminal-text.ts";
import type { Act } from "./acts.ts";
import type { DemoRun, DemoViewer, Moment } from "./demo-run.ts";

interface DemoViewOptions {
  print: (lines: Line[]) => void;
  width: number;
  /** Resolves when a reader has had time for what was just printed; `weight` is 1 for a line or two. */
  pause: (weight: number) => Promise<void>;
}

/** Shows the demonstration as it happens, a few lines for each event. */
export class DemoView implements DemoViewer {
  readonly #options: DemoViewOptions;
  /** Calls of the latest answer that are not shown whole yet, in its order. */
  #calls: { id: string; lines: Line[]; hasEnded: boolean }[] = [];

  constructor(options: DemoViewOptions) {
    this.#options = options;
  }

  async actBegins({ title, note, user, backTo }: Act, number: number): Promise<void> {
    const { width } = this.#options;
    this.#print(
      [],
      [span(`── ${number}  ${title} `.padEnd(Math.min(width, 78), "─"), "bold")],
      ...this.#paragraph(note, "", "gray"),
    );
    if (backTo !== undefined)
      this.#print(
        ...this.#paragraph(`back to the end of act ${backTo}, with a summary`, "  /tree  ", "cyan"),
      );
    this.#print(...this.#paragraph(user, "you     ", "bold"));
    await this.#options.pause(3);
  }

  notice(message: string): void {
    this.#print(...this.#paragraph(message, "  !     ", "yellow"));
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_end", ({ message }) => {
      if (message.role !== "assistant") return;
      const text = messageText(message);
      if (message.stopReason === "error") this.#refused(message.errorMessage ?? "no reason given");
      else if (text !== "") this.#print(...this.#paragraph(text, "bonsai  "));
      this.#calls = message.content.flatMap((part) =>
        part.type === "toolCall" ? [{ id: part.id, lines: [], hasEnded: false }] : [],
      );
    });
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) =>
      this.#show(toolCallId, [
        span(`  ▸ ${toolName} `, "cyan"),
        oneLine(subject(args), this.#options.width - 12),
      ]),
    );
    lifecycle.on("tool_execution_end", ({ toolCallId, toolName, result, isError }) => {
      this.#show(toolCallId, this.#outcome(toolName, contentText(result.content), isError), true);
      return this.#options.pause(1);
    });
    lifecycle.on("auto_compaction_start", ({ reason }) => this.#compacting(reason));
    lifecycle.on("auto_compaction_end", ({ outcome, result }) => {
      const { status, detail } = outcome;
      const done = status === "compacted" || status === "masked";
      this.#print(
        [span(`  ⟲ ${status}`, ["bold", done ? "green" : "red"]), done ? `  ${sizeChange(outcome)}` : ""],
        // Why it failed, the notice behind it says.
        ...(status === "compacted" || status === "failed" ? [] : this.#paragraph(detail, "    ", "gray")),
      );
      if (result !== undefined)
        this.#print(
          ...this.#paragraph(howSummarised(result), "    ", "gray"),
          ...this.#caveat(outcome),
          ...this.#headings(result.summary),
        );
      return this.#options.pause(4);
    });
    lifecycle.on("session_tree", ({ summaryEntry }) => {
      if (summaryEntry !== undefined) this.#print(...this.#headings(summaryEntry.summary));
      return this.#options.pause(3);
    });
  }

  #caveat({ caveat }: CompactionOutcome): Line[] {
    return caveat === undefined ? [] : this.#paragraph(caveat, "    ", "yellow");
  }

  #compacting(reason: CompactionReason): void {
    const before = reason === "overflow" ? "Context overflow detected, " : "";
    this.#print(...this.#paragraph(`${before}Auto-compacting…`, "  ⟲ ", "yellow"));
  }

  #refused(message: string): void {
    this.#print(...this.#paragraph(`the server refused the request: ${message}`, "  ✗ ", "red"));
  }

  /** Calls may run at once; what one gave stands below it, so that it waits for those in front. */
  #show(id: string, line: Line, hasEnded = false): void {
    const call = this.#calls.find((each) => each.id === id);
    call?.lines.push(line);
    if (call !== undefined) call.hasEnded = hasEnded;
    for (let first = this.#calls[0]; first !== undefined; first = this.#calls[0]) {
      this.#print(...first.lines.splice(0));
      if (!first.hasEnded) return;
      this.#calls.shift();
    }
  }

  #outcome(name: string, text: string, isError: boolean): Line {
    const lines = text.trimEnd().split("\n");
    const said =
      name === "bash"
        ? (lines.findLast((line) => /^ℹ (?:pass|fail)|exit/i.test(line)) ?? lines[0])
        : lines[0];
    const size = lines.length === 1 ? "" : span(`  (${count(lines.length)} lines)`, "gray");
    return ["    ", span(oneLine(said ?? "", this.#options.width - 24), isError ? "red" : "gray"), size];
  }

  /** The first lines of a summary, so that one sees what the model sees now. */
  #headings(summary: string): Line[] {
    const body = readableSummary(summary)
      .split("\n")
      .filter((line) => /^(?:##? |- |\d\. )/.test(line))
      .slice(0, 6);
    return body.map((line) => [span(`    │ ${oneLine(line, this.#options.width - 8)}`, "gray")]);
  }

  #paragraph(text: string, lead: string, style?: Style): Line[] {
    const width = Math.min(this.#options.width, 100) - lead.length;
    const lines = text.split("\n").flatMap((line) => wrap(line, width));
    return marked(span(lead, "bold"), lines, style);
  }

  #print(...lines: Line[]): void {
    this.#options.print(lines);
  }
}

/** The summariser and the summarised messages, from the compaction's record. */
function howSummarised(compaction: CompactionEntry): string {
  const { rung, summarised, turnPrefix, kept, splitTurn } = manifestOf(compaction) ?? {};
  if (summarised === undefined || turnPrefix === undefined || kept === undefined) return "";
  const by = rung === "digest" ? "The built-in digest, without a model," : "The model";
  const older = summarised.count === 0 ? [] : [counted(summarised.count, "message")];
  const early = splitTurn ? [`the first ${count(turnPrefix.count)} messages of the current turn`] : [];
  return `${by} summarised ${[...older, ...early].join(" and ")}; ${count(kept.count)} ${kept.count === 1 ? "is" : "are"} kept word for word.`;
}

function subject(args: unknown): string {
  const [, ...said] = callParts("", args);
  return said.map(({ text }) => text).join("");
}

function oneLine(text: string, width: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  return shortened(flat, Math.max(2, width));
}

const ROWS = 8;
const eighths = " ▁▂▃▄▅▆▇█";
const marks: Readonly<Record<Moment, { glyph: string; means: string }>> = {
  masked: { glyph: "m", means: "masked" },
  summarised: { glyph: "s", means: "summarised" },
  overflow: { glyph: "!", means: "refused" },
  tree: { glyph: "t", means: "/tree" },
};

/** The tokens of each request of a turn, oldest left, below the window, with what happened in between. */
export function tokenChart({ served, moments, windowTokens }: DemoRun): Line[] {
  const turns = served.flatMap(({ purpose, ...each }, index) =>
    purpose === "turn" ? [{ ...each, index }] : [],
  );
  const top = Math.max(windowTokens, ...turns.map(({ inputTokens }) => inputTokens));
  const rows = Array.from({ length: ROWS }, (_, row) => ROWS - 1 - row).map((row): Line => {
    const label = isWindowRow(row, top, windowTokens) ? count(windowTokens) : row === 0 ? "0" : "";
    const cells = turns.map(({ inputTokens, refused }) =>
      span(`${cell(inputTokens, row, top)} `, refused ? "red" : "green"),
    );
    return [span(label.padStart(8), "gray"), span(" ┤", "gray"), ...cells];
  });
  return [
    ...rows,
    [
      " ".repeat(10),
      ...turns.map(({ index }, at) => `${markOf(moments, turns[at - 1]?.index ?? -1, index)} `),
    ],
    ...legend(moments),
  ];
}

function isWindowRow(row: number, top: number, windowTokens: number): boolean {
  return Math.min(ROWS - 1, Math.floor((windowTokens / top) * ROWS)) === row;
}

function cell(tokens: number, row: number, top: number): string {
  const filled = Math.round((tokens / top) * ROWS * 8) - row * 8;
  return eighths[Math.max(0, Math.min(8, filled))] ?? " ";
}

/** The strongest of what happened between two requests of turns. */
function markOf(moments: DemoRun["moments"], after: number, upTo: number): string {
  const between = moments.filter(({ at }) => at > after && at <= upTo).map(({ moment }) => moment);
  const order: Moment[] = ["summarised", "masked", "tree", "overflow"];
  const strongest = order.find((moment) => between.includes(moment));
  return strongest === undefined ? " " : marks[strongest].glyph;
}

function legend(moments: DemoRun["moments"]): Line[] {
  const seen = new Set(moments.map(({ moment }) => moment));
  const words = (Object.keys(marks) as Moment[])
    .filter((moment) => seen.has(moment))
    .map((moment) => `${marks[moment].glyph} ${marks[moment].means}`);
  return [[" ".repeat(10), span(words.join(" · "), "gray")]];
}
