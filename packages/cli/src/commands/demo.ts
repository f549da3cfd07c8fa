import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { perform } from "../demo/stage.ts";
import { StoryView } from "../demo/story-view.ts";
import { tokenChart } from "../demo/token-chart.ts";
import type { Invocation } from "../invocation.ts";
import { FactCounter } from "../session-facts.ts";
import { sessionOutline } from "../session-outline.ts";
import { sessionTree } from "../session-tree.ts";
import { type Line, span } from "../views/line.ts";
import { count, usd } from "../views/numbers.ts";
import { treeView } from "../views/tree-view.ts";

/** So slow that one can read along. */
const READING_DELAY_MS = 45;

/** A whole agent session on a scripted model: real tools, real files, real compactions. */
export async function run({ io, output, options }: Invocation): Promise<undefined> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-demo-"));
  const isSlow = io.stdout.isTTY === true && options.fast !== true && !output.wantsJson;
  const view = new StoryView({
    print: (lines) => (output.wantsJson ? undefined : output.lines(lines)),
    width: output.width,
  });
  const performance = await io.interruptible((signal) =>
    perform({ folder, delayMs: isSlow ? READING_DELAY_MS : 0, audience: view, signal }),
  );
  const { session } = performance.agent;
  const facts = new FactCounter();
  for (const entry of session.entries()) facts.add(entry);
  const costUsd = facts.facts().usage.cost.total;
  const requests = performance.served.length;
  output.result(
    {
      sessionFile: performance.sessionFile,
      projectFolder: performance.projectFolder,
      requests: performance.served,
      moments: performance.moments,
      costUsd,
    },
    (): Line[] => [
      ...heading("The tree: nothing is gone"),
      ...treeView({
        tree: sessionTree(session, sessionOutline(session)),
        leafId: session.leafId,
        width: output.width,
        all: false,
      }),
      ...heading("Tokens of each request"),
      ...tokenChart(performance),
      ...heading("The bill"),
      [
        `  ${count(requests)} requests, ${usd(costUsd)} at the prices of a middling model. The model was scripted; nothing was spent.`,
      ],
      [],
      ["  session  ", span(performance.sessionFile, "cyan")],
      ["  project  ", span(performance.projectFolder, "cyan")],
      ["  go on    ", span(`bonsai show ${performance.sessionFile}`, "cyan")],
    ],
  );
  await performance.agent.close();
}

function heading(title: string): Line[] {
  return [[], [span(`── ${title} `.padEnd(78, "─"), "bold")]];
}
