import { searchSettings } from "@bonsai-agent/lab";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { callSettings } from "../call/settings.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { daysOf, named } from "./lab-days.ts";

type Tuned = Awaited<ReturnType<typeof searchSettings>>;

/** Looks for settings that would have been better for recorded sessions than those in use. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output, args, options } = invocation;
  const days = await daysOf(invocation, named(args));
  const baseline = { name: "yours", settings: callSettings(invocation), input: {} };
  const loss = lossOf(options.loss);
  const tuned = await withProgress(io, `Tuning on ${counted(days.length, "session")}`, () =>
    searchSettings({ days, baseline, ...(loss !== undefined && { loss }) }),
  );
  output.result(tuned, () => tunedView(tuned, output.width));
}

function lossOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const loss = Number(value);
  if (loss >= 0 && loss <= 1) return loss;
  throw wrongUsage(
    `--loss must be a number from 0 to 1, not ${String(value)}.`,
    "Write it like --loss 0.05.",
  );
}

function tunedView(tuned: Tuned, width: number): Line[] {
  const { isBetter, settings, savings, needed, presets, trained, tested, name } = tuned;
  const found = { name: isBetter ? "found" : "best found", savings, needed: needed.tuned };
  const yours = { name: "yours", savings: savings.map(() => 0), needed: needed.baseline };
  const said = isBetter
    ? `Found better settings. Trained on ${counted(trained, "session")}, tested on ${tested} others. Paste into your settings:`
    : `Found no better settings than yours. Trained on ${counted(trained, "session")}, tested on ${tested} others. The best found: ${name}`;
  return [
    ...table(
      [["", "saved", "from … to", "needed facts"].map((cell): Line => [cell])].concat(
        [yours, ...presets, found].map((each) => testedCells(each)),
      ),
      {
        columns: [{ flexible: true }, ...Array.from({ length: 3 }, () => ({ align: "right" as const }))],
        width,
      },
    ),
    [""],
    ...paragraph(said, width),
    ...(isBetter ? [[""], ...settingsLines(settings)] : []),
  ];
}

function testedCells({ name, savings, needed }: Tuned["presets"][number]): Line[] {
  const percent = (share: number) => `${Math.round(share * 100)}%`;
  const mean = savings.reduce((sum, saving) => sum + saving, 0) / savings.length;
  const spread = `${percent(Math.min(...savings))} … ${percent(Math.max(...savings))}`;
  return [[name], [percent(mean)], [spread], [needed.toFixed(2)]];
}

function settingsLines(settings: Tuned["settings"]): Line[] {
  const text = JSON.stringify({ compaction: settings }, null, 2);
  return text.split("\n").map((line): Line => [span(line, "cyan")]);
}
