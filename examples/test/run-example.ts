import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const examplesFolder: string = fileURLToPath(new URL("..", import.meta.url));
/** The command from its sources, for who starts it as a program. */
export const bonsaiCommand: readonly string[] = [
  process.execPath,
  "--conditions=@bonsai-agent/source",
  "--no-warnings",
  fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url)),
];

export interface ExampleRun {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface RunExampleOptions {
  args?: readonly string[];
  cwd?: string;
  env?: Readonly<Record<string, string>>;
}

/** Runs an example as its reader would, from the packages' sources, in a folder of its own. */
export function runExample(
  file: string,
  { args = [], cwd = emptyFolder(), env }: RunExampleOptions = {},
): ExampleRun {
  const argv = ["--conditions=@bonsai-agent/source", join(examplesFolder, file), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

export function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), "bonsai-example-"));
}
