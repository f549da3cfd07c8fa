import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { calledAs } from "../call/paths.ts";
import { type Line, paragraph, span } from "../views/line.ts";
import { count, usd } from "../views/numbers.ts";
import { FactCounter } from "../views/session-facts.ts";
import { treeView } from "../views/tree-view.ts";
import { type DemoRun, playDemo } from "./demo-run.ts";
import { DemoView, tokenChart } from "./demo-view.ts";

/** Pauses for readers: between the pieces of an answer, and after a line or two. */
const PIECE_DELAY_MS = 60;
const LINE_DELAY_MS = 400;

/** A whole agent session on a scripted model: real tools, real files, real compactions. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const folder = mkdtempSync(join(tmpdir(), "bonsai-demo-"));
  return io.interruptible(async (signal) => {
    try {
      const demo = await played(invocation, folder, signal);
      const costUsd = sessionCostUsd(demo);
      output.result(report(demo, costUsd), () => ending(demo, costUsd, invocation));
      await demo.agent.close();
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: `Stopped. The files so far are in ${folder}.` });
      return ExitCode.cancelled;
    }
  });
}

function played({ io, output, options }: Invocation, folder: string, signal: AbortSignal): Promise<DemoRun> {
  const isSlow = io.stdout.isTTY === true && options.fast !== true && !output.wantsJson;
  const viewer = new DemoView({
    print: (lines) => (output.wantsJson ? undefined : output.lines(lines)),
    width: output.width,
    pause: async (weight) => {
      if (isSlow) await wait(weight * LINE_DELAY_MS, undefined, { signal }).catch(() => {});
    },
  });
  return playDemo({ folder, delayMs: isSlow ? PIECE_DELAY_MS : 0, viewer, signal });
}

function sessionCostUsd({ agent }: DemoRun): number {
  const facts = new FactCounter();
  for (const { entry } of agent.session.scan()) facts.add(entry);
  return facts.facts().usage.cost.total;
}

function report({ sessionFile, projectFolder, served, moments }: DemoRun, costUsd: number) {
  return { sessionFile, projectFolder, requests: served, moments, costUsd };
}

function ending(demo: DemoRun, costUsd: number, { io, output: { width } }: Invocation): Line[] {
  const { agent, sessionFile, projectFolder, served } = demo;
  const { session } = agent;
  const tree = session.tree({ isParsed: true });
  return [
    ...heading("The tree: nothing is lost"),
    ...treeView({ tree, leafId: session.leafId, width, all: false }),
    ...heading("Tokens of each request"),
    ...tokenChart(demo),
    ...heading("The bill"),
    ...paragraph(
      `${count(served.length)} requests, ${usd(costUsd)} at the prices of a mid-range model. The model was scripted, so this cost nothing.`,
      width,
      undefined,
      2,
    ),
    [],
    ["  session  ", span(sessionFile, "cyan")],
    ["  project  ", span(projectFolder, "cyan")],
    ["  next     ", span(`${calledAs(io)} session show ${sessionFile}`, "cyan")],
  ];
}

function heading(title: string): Line[] {
  return [[], [span(`── ${title} `.padEnd(78, "─"), "bold")]];
}
