import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { isNothing, type ProjectUse, projectPlace, projectUse, projectUseLines } from "../call/project.ts";
import { isTrusted, trustFolder, untrustFolder } from "../call/trust.ts";
import { type Line, span } from "../views/line.ts";

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
  const place = { ...projectPlace({ io }), cwd: folder };
  const use = trusted ? await projectUse(place) : { used: [], missing: [], settings: [], servers: [] };
  const report: TrustReport = { folder, trusted, changed, ...use };
  output.result(report, () => lines(report, options.untrust === true));
}

/** Trust can come from a folder above. A folder that is gone has none. */
function remains(folder: string, home: string): boolean {
  return existsSync(folder) && isTrusted(folder, home);
}

function lines(report: TrustReport, isUntrusting: boolean): Line[] {
  const { folder, trusted, changed } = report;
  const name = span(folder, "bold");
  if (!trusted) return [[name, changed ? " is no longer trusted." : " was not trusted. Nothing changed."]];
  if (isUntrusting) return [[name, " is still trusted, because a folder above it is."]];
  const first: Line = [
    name,
    ` ${changed ? "is now" : "was already"} trusted. Bonsai uses its settings and extensions.`,
  ];
  if (isNothing(report))
    return [first, ["The project has none yet. Bonsai will use them when you add some."]];
  return [first, ...projectUseLines(report, folder).map((line): Line => ["  ", line])];
}
