import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, paragraph, span } from "@bonsai-agent/app/line";
import { counted } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { callSettings } from "@bonsai-agent/app/settings";
import { type Tuned, tune } from "@bonsai-agent/lab";
import { wrongUsage } from "../failure.ts";
import { daysOf } from "./lab-days.ts";

/** Looks for settings that would have been better for recorded sessions than those in use. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output, args, options } = invocation;
  const days = await daysOf(invocation, args[1]);
  const baseline = { name: "yours", settings: callSettings(invocation), input: {} };
  const loss = lossOf(options.loss);
  const tuned = await withProgress(io, `Tuning on ${counted(days.length, "session")}`, () =>
    tune({ days, baseline, ...(loss !== undefined && { loss }) }),
  );
  output.result(tuned, () => tunedView(tuned, output.width));
}

function lossOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const loss = Number(value);
  if (loss >= 0 && loss <= 1) return loss;
  throw wrongUsage(`--loss ${String(value)} is no share.`, "Give a number from 0 to 1, like 0.05.");
}

function tunedView(tuned: Tuned, width: number): Line[] {
  const { isBetter, settings, savings, needed, trained, tested } = tuned;
  const percent = (share: number) => `${Math.round(share * 100)}%`;
  const mean = savings.reduce((sum, saving) => sum + saving, 0) / savings.length;
  const spread = `${percent(Math.min(...savings))} to ${percent(Math.max(...savings))}`;
  const figures = `on ${counted(tested, "session")} that they were not trained on: ${percent(mean)} less money (${spread}), ${needed.tuned.toFixed(2)} of what was needed in view, now ${needed.baseline.toFixed(2)}; trained on ${trained}.`;
  if (!isBetter)
    return paragraph(
      `No better than your settings. The best that was found (${tuned.name}), ${figures}`,
      width,
    );
  return [
    ...paragraph(`Better, ${figures} To paste into the settings:`, width),
    [""],
    ...JSON.stringify({ compaction: settings }, null, 2)
      .split("\n")
      .map((line): Line => [span(line, "cyan")]),
  ];
}
