import { rmSync, statSync } from "node:fs";
import { expect } from "vitest";
import { type BashDetails, bashTool } from "../../src/tools/bash-tool.ts";
import type { OutputRecord } from "../../src/tools/command-output.ts";
import { textOf } from "./tool-folder.ts";

/** Fills a record beyond its limit. Expects the file to end at the limit and the result to report it. */
export async function expectSaved({ megabytes, output }: { megabytes: number; output: OutputRecord }) {
  const megabyte = `${"0123456789".repeat(104_857)}01234\n`;
  for (let at = 0; at < megabytes + 2; at++) output.append(megabyte);
  output.close();
  const outcome = { exitCode: 0, output, isBinary: false, background: [], elapsedMs: 1 };
  const run = async () => ({ ...outcome, end: "exit" as const });
  const tool = bashTool({ cwd: "/", env: {}, timeoutSeconds: 1, run });
  const result = await tool.execute({
    toolCallId: "1",
    input: { command: "anything" },
    signal: new AbortController().signal,
    onUpdate: () => {},
  });
  const { fullOutputPath } = result.details as BashDetails;
  expect(textOf(result)).toContain(`But only the first ${megabytes} MB were saved.`);
  expect(statSync(fullOutputPath!).size).toBe(megabytes << 20);
  rmSync(fullOutputPath!);
}
