import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ExitCode, type Invocation } from "../invocation.ts";
import type { CliIo } from "../io.ts";
import { type Line, paragraph, span } from "../line.ts";
import { count, usd } from "../numbers.ts";
import { calledAs } from "../paths.ts";
import { FactCounter } from "../session-facts.ts";
import { treeView } from "../tree-view.ts";
import { type Performance, perform } from "./stage.ts";
import { StoryView, tokenChart } from "./story-view.ts";

/** So slow that one can read along: between the pieces of an answer, and after a line or two. */
const PIECE_DELAY_MS = 60;
const LINE_DELAY_MS = 400;

/** A whole agent session on a scripted model: real tools, real files, real compactions. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const folder = mkdtempSync(join(tmpdir(), "bonsai-demo-"));
  return io.interruptible(async (signal) => {
    try {
      const performance = await performed(invocation, folder, signal);
      const costUsd = sessionCostUsd(performance);
      output.result(report(performance, costUsd), () =>
        ending(performance, { io, costUsd, width: output.width }),
      );
      await performance.agent.close();
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: `Stopped. What there is so far lies in ${folder}.` });
      return ExitCode.cancelled;
    }
  });
}

function performed(
  { io, output, options }: Invocation,
  folder: string,
  signal: AbortSignal,
): Promise<Performance> {
  const isSlow = io.stdout.isTTY === true && options.fast !== true && !output.wantsJson;
  const audience = new StoryView({
    print: (lines) => (output.wantsJson ? undefined : output.lines(lines)),
    width: output.width,
    pause: async (weight) => {
      // Whoever stops the demonstration need not wait.
      if (isSlow) await wait(weight * LINE_DELAY_MS, undefined, { signal }).catch(() => {});
    },
  });
  return perform({ folder, delayMs: isSlow ? PIECE_DELAY_MS : 0, audience, signal });
}

function sessionCostUsd({ agent }: Performance): number {
  const facts = new FactCounter();
  for (const { entry } of agent.session.scan()) facts.add(entry);
  return facts.facts().usage.cost.total;
}

function report({ sessionFile, projectFolder, served, moments }: Performance, costUsd: number) {
  return { sessionFile, projectFolder, requests: served, moments, costUsd };
}

interface EndingOptions {
  io: CliIo;
  costUsd: number;
  /** Columns. */
  width: number;
}

function ending(performance: Performance, { io, costUsd, width }: EndingOptions): Line[] {
  const { agent, sessionFile, projectFolder, served } = performance;
  const { session } = agent;
  const tree = session.tree({ isParsed: true });
  return [
    ...heading("The tree: nothing is gone"),
    ...treeView({ tree, leafId: session.leafId, width, all: false }),
    ...heading("Tokens of each request"),
    ...tokenChart(performance),
    ...heading("The bill"),
    ...paragraph(
      `${count(served.length)} requests, ${usd(costUsd)} at the prices of a middling model. The model was scripted; nothing was spent.`,
      width,
      undefined,
      2,
    ),
    [],
    ["  session  ", span(sessionFile, "cyan")],
    ["  project  ", span(projectFolder, "cyan")],
    ["  go on    ", span(`${calledAs(io)} show ${sessionFile}`, "cyan")],
  ];
}

function heading(title: string): Line[] {
  return [[], [span(`── ${title} `.padEnd(78, "─"), "bold")]];
}
