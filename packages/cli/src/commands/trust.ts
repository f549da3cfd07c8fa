import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import { projectFiles } from "../extensions/project-files.ts";
import type { Invocation } from "../invocation.ts";
import { isTrusted, trustFolder, untrustFolder } from "../trust.ts";
import { type Line, span } from "../views/line.ts";

/** What `bonsai trust --json` prints. */
export interface TrustReport {
  folder: string;
  trusted: boolean;
  /** False where it was so before. */
  changed: boolean;
  /** Of the project: its settings and the modules that run as extensions, absolute; empty where it is not trusted. */
  used: readonly string[];
}

export async function run({ args, options, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome({ ...io.env });
  const folder = resolve(io.cwd, args[0] ?? ".");
  const changed = options.untrust === true ? untrustFolder(folder, home) : trustFolder(folder, home);
  const trusted = options.untrust === true ? remains(folder, home) : true;
  const used = trusted ? await projectFiles(folder, home) : [];
  const report: TrustReport = { folder, trusted, changed, used };
  output.result(report, () => lines(report));
}

/** Trust can come from a folder above. A folder that is gone has none. */
function remains(folder: string, home: string): boolean {
  return existsSync(folder) && isTrusted(folder, home);
}

function lines({ folder, trusted, changed, used }: TrustReport): Line[] {
  const told = trusted ? "is trusted: its own settings and extensions are used" : "is not trusted";
  const before = changed ? "" : trusted ? " (as before)" : " (it was not before)";
  const first: Line = [span(folder, "bold"), ` ${told}${before}.`];
  if (!trusted) return [first];
  if (used.length === 0) return [first, ["It has none now; those that come later will be used."]];
  return [first, ...used.map((path): Line => ["  ", relative(folder, path)])];
}
