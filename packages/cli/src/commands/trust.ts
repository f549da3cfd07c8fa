import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { isTrusted, trustFolder, untrustFolder } from "../trust.ts";
import { type Line, span } from "../views/line.ts";

/** What `bonsai trust --json` prints. */
export interface TrustReport {
  folder: string;
  trusted: boolean;
  /** False where it was so before. */
  changed: boolean;
}

export async function run({ args, options, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome({ ...io.env });
  const folder = resolve(io.cwd, args[0] ?? ".");
  const changed = options.untrust === true ? untrustFolder(folder, home) : trustFolder(folder, home);
  const report: TrustReport = {
    folder,
    trusted: options.untrust === true ? remains(folder, home) : true,
    changed,
  };
  output.result(report, () => lines(report));
}

/** Trust can come from a folder above. A folder that is gone has none. */
function remains(folder: string, home: string): boolean {
  return existsSync(folder) && isTrusted(folder, home);
}

function lines({ folder, trusted, changed }: TrustReport): Line[] {
  const told = trusted ? "is trusted: its .bonsai/settings.json is used" : "is not trusted";
  const before = changed ? "" : trusted ? " (as before)" : " (it was not before)";
  return [[span(folder, "bold"), ` ${told}${before}.`]];
}
