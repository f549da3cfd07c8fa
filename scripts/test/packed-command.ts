import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installCommand } from "@bonsai-agent/testkit";
import { afterAll, beforeAll } from "vitest";
import { packedExtensions } from "./packed-extensions.ts";

/** The command of a tarball, installed for the tests of one file, as a user installs it. */
export interface PackedCommand {
  /** The working folder, with the packed extensions. */
  folder: string;
  /** The program, for Node. */
  program: string;
  /** The folder of the installed package. */
  installed: string;
  environment: Record<string, string>;
  run(...args: string[]): SpawnSyncReturns<string>;
}

/** Packs and installs the command before the tests of a file. */
export function usePackedCommand(): () => PackedCommand {
  let packed: PackedCommand;
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), "bonsai-pack-"));
    const { program, package: installed } = installCommand(folder);
    mkdirSync(join(folder, "own"));
    for (const [name, text] of Object.entries(packedExtensions)) writeFileSync(join(folder, name), text);
    const { CI: _ci, NODE_OPTIONS: _options, ...inherited } = process.env as Record<string, string>;
    const environment = {
      ...inherited,
      HOME: folder,
      BONSAI_HOME: join(folder, "home"),
      TERM: "xterm-256color",
    };
    const options = { cwd: folder, encoding: "utf8", input: "", env: environment } as const;
    const run = (...args: string[]) => spawnSync(process.execPath, [program, ...args], options);
    packed = { folder, program, installed, environment, run };
  }, 120_000);
  afterAll(() => rmSync(packed.folder, { recursive: true }));
  return () => packed;
}
