import { bonsaiHome } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { hasPiSettings, importFromPi, type PiImport, piFolder } from "../call/pi-import.ts";
import { type Line, span } from "../views/line.ts";
import { oneLine } from "../views/terminal-text.ts";

/** Takes over models, keys and settings of pi. */
export async function run({ args, io, output }: Invocation): Promise<undefined> {
  if (args[0] !== "pi")
    throw wrongUsage(
      `Cannot import settings of ${oneLine(args[0] ?? "", 40)}.`,
      "Run `bonsai import-settings pi`.",
    );
  const folder = piFolder(io.env);
  if (!hasPiSettings(folder))
    throw wrongUsage(
      `${folder} has no settings of pi.`,
      "If pi uses another folder, set PI_CODING_AGENT_DIR to it.",
    );
  const report = await importFromPi(bonsaiHome(io.env), io.env);
  output.result(report, () => importLines(report));
}

function importLines({ folder, taken, left }: PiImport): Line[] {
  const lines: Line[] = [
    [
      taken.length === 0 ? "Took nothing from " : "Took from ",
      span(folder, "bold"),
      taken.length === 0 ? "." : ":",
    ],
  ];
  lines.push(...taken.map((name): Line => [`  ${name}`]));
  if (left.length > 0)
    lines.push(["Left there:"], ...left.map(({ name, why }): Line => [`  ${name}. ${oneLine(why, 300)}`]));
  return lines;
}
