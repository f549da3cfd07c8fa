import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, span } from "@bonsai-agent/app/line";
import { isNothing, type ProjectUse, projectUse, projectUseLines } from "@bonsai-agent/app/project-use";
import { userHomeFolder } from "@bonsai-agent/app/resource-places";
import { isTrusted, trustFolder, untrustFolder } from "@bonsai-agent/app/trust";
import { bonsaiHome } from "@bonsai-agent/session";

/** The JSON of `bonsai trust`. */
export interface TrustReport extends ProjectUse {
  folder: string;
  trusted: boolean;
  /** False where it was so before. */
  changed: boolean;
}

export async function run({ args, options, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome(io.env);
  const folder = resolve(io.cwd, args[0] ?? ".");
  const changed = options.untrust === true ? untrustFolder(folder, home) : trustFolder(folder, home);
  const trusted = options.untrust === true ? remains(folder, home) : true;
  const place = { cwd: folder, home, userHome: userHomeFolder(io.env) };
  const use = trusted ? await projectUse(place) : { used: [], missing: [], settings: [], servers: [] };
  const report: TrustReport = { folder, trusted, changed, ...use };
  output.result(report, () => lines(report));
}

/** Trust can come from a folder above. A folder that is gone has none. */
function remains(folder: string, home: string): boolean {
  return existsSync(folder) && isTrusted(folder, home);
}

function lines(report: TrustReport): Line[] {
  const { folder, trusted, changed } = report;
  const state = trusted ? "is trusted. Bonsai uses its own settings and extensions" : "is not trusted";
  const before = changed ? "" : trusted ? " (it was already)" : " (it was not before)";
  const first: Line = [span(folder, "bold"), ` ${state}${before}.`];
  if (!trusted) return [first];
  if (isNothing(report)) return [first, ["It has none now. Bonsai uses them as soon as they exist."]];
  return [first, ...projectUseLines(report, folder).map((line): Line => ["  ", line])];
}
