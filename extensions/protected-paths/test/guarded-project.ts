import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, beforeEach, vi } from "vitest";
import protectedPaths from "../index.ts";

/** The project of the test that runs, and the session that was opened in it. */
export const project = { folder: "", cwd: "", open: undefined as TestSession | undefined };

/** Makes the project anew for each test of a file. */
export function useProject(): void {
  beforeEach(() => {
    project.folder = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-protected-")));
    project.cwd = join(project.folder, "project");
    put({
      ".env": "A=1\n",
      ".git/HEAD": "x",
      "src/a.ts": "a\n",
      "node_modules/x/index.js": "x",
      "dist/o.js": "o",
    });
    vi.stubEnv("BONSAI_HOME", join(project.folder, "home"));
    vi.stubEnv("BONSAI_PROTECT", undefined);
  });

  afterEach(async () => {
    await project.open?.close();
    project.open = undefined;
    vi.unstubAllEnvs();
    rmSync(project.folder, { recursive: true, force: true });
  });
}

export function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project.cwd, name)), { recursive: true });
    writeFileSync(join(project.cwd, name), text);
  }
}

/** Why a tool call is refused; undefined if it runs. */
export async function refused(
  toolName: string,
  input: Record<string, unknown>,
  options: OpenTestSessionOptions = {},
): Promise<string | undefined> {
  project.open ??= await openTestSession({ extensions: protectedPaths, cwd: project.cwd, ...options });
  const event = { type: "tool_call", toolCallId: "1", toolName, input } as const;
  const { result } = await project.open.lifecycle.decide("tool_call", event);
  return result?.block === true ? result.reason : undefined;
}

/** The rule that a change of a path breaks. */
export async function rule(path: string, options: OpenTestSessionOptions = {}): Promise<string | undefined> {
  const reason = await refused("write", { path, content: "x" }, options);
  return /by the rule (\S+)\. /.exec(reason ?? "")?.[1];
}

export async function bash(
  command: string,
  options: OpenTestSessionOptions = {},
): Promise<string | undefined> {
  const reason = await refused("bash", { command }, options);
  return /by the rule (\S+)\. /.exec(reason ?? "")?.[1];
}

/** Each row's first item with the rule that its change breaks. */
export async function answers(
  rows: readonly (readonly string[])[],
  ruleOf: (given: string) => Promise<string | undefined>,
): Promise<(string | undefined)[][]> {
  const found: (string | undefined)[][] = [];
  for (const [given = ""] of rows) found.push([given, await ruleOf(given)]);
  return found;
}
