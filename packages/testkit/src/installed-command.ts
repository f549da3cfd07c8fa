import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../cli", import.meta.url));

/** The command after `npm install --global`. */
export interface InstalledCommand {
  /** Its program, for Node. */
  program: string;
  /** The folder of its package. */
  package: string;
}

/** Path of the built command, for Node. It starts in half the time of the sources. @throws Error if it is not built */
export function builtCommand(): string {
  if (!existsSync(join(cli, "dist/main.mjs")))
    throw new Error("The command is not built. Run `pnpm build` first.");
  return join(cli, "bin/bonsai.js");
}

/** Packs the built command and installs it below a folder. @throws Error if it is not built */
export function installCommand(folder: string): InstalledCommand {
  builtCommand();
  const [tarballs, prefix] = [join(folder, "tarballs"), join(folder, "prefix")];
  for (const made of [tarballs, prefix]) mkdirSync(made, { recursive: true });
  execFileSync("pnpm", ["pack", "--pack-destination", tarballs], { cwd: cli, stdio: "pipe" });
  const tarball = join(tarballs, readdirSync(tarballs)[0]!);
  execFileSync("npm", ["install", "--global", "--offline", "--prefix", prefix, tarball], { stdio: "pipe" });
  return { program: join(prefix, "bin/bonsai"), package: join(prefix, "lib/node_modules/bonsai-agent") };
}
