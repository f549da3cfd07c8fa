import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PI = "@earendil-works/pi-coding-agent";

/** The version of pi that Bonsai is compared with. `BENCH_PI_VERSION` names another one. */
export const piVersion = process.env.BENCH_PI_VERSION ?? "0.87.1";

/**
 * Imports a module of pi. Installs pi from the registry into the folder, unless `BONSAI_BENCH_PEER` names a folder that has
 * it.
 * @param path of the module in pi's `dist`
 */
export async function importFromPi<Module>(folder: string, path: string): Promise<Module> {
  const peer = process.env.BONSAI_BENCH_PEER || folder;
  const install = ["install", "--prefix", folder, "--ignore-scripts", "--no-audit", `${PI}@${piVersion}`];
  if (peer === folder) execFileSync("npm", install, { stdio: "ignore" });
  return (await import(pathToFileURL(join(peer, "node_modules", PI, "dist", path)).href)) as Module;
}
