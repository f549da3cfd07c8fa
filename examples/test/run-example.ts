import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtCommand } from "@bonsai-agent/testkit";

export const examplesFolder: string = fileURLToPath(new URL("..", import.meta.url));
/** Starts the built command as a program. */
export const bonsaiCommand = (): string[] => [process.execPath, builtCommand()];

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
