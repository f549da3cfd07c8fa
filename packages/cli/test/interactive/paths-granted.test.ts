import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { pathGrants } from "../../src/call/trust.ts";
import { agentProject } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

/** In the place of the program's own `read`. */
const wrapping = (cwd: string) => `
import { createReadTool } from "@earendil-works/pi-coding-agent";
export default (pi) => pi.registerTool(createReadTool(${JSON.stringify(cwd)}));
`;

/** The model reads two files beside the project, one after the other. @param extension one to load. Default: none */
async function opened(extension?: (cwd: string) => string) {
  const reads = (name: string): Scenario["turn"][number] => ({
    calls: [{ name: "read", arguments: { path: `../beside/${name}` } }],
  });
  const scenario: Scenario = {
    contextWindow: 100_000,
    turn: [reads("a.txt"), reads("b.txt"), { text: "Both read." }],
    atEnd: "repeat",
  };
  const project = agentProject(scenario);
  const beside = join(dirname(project.cwd), "beside");
  mkdirSync(beside);
  for (const name of ["a.txt", "b.txt"]) writeFileSync(join(beside, name), `secret of ${name}`);
  if (extension !== undefined) {
    mkdirSync(join(project.home, "extensions"));
    writeFileSync(join(project.home, "extensions", "wrapping.ts"), extension(project.cwd));
  }
  const { terminal } = openInteractive({ project, rows: 40 });
  await terminal.until("/100k");
  terminal.type("read them\n");
  await terminal.until(/Read outside the project\?[\s\S]*a\.txt/);
  return { terminal, project, beside };
}

test('"always" for a folder asks once, is listed, and can be revoked', async () => {
  const { terminal, project, beside } = await opened();
  terminal.press("down", "down", "down", "enter");
  await terminal.until("Both read.");
  expect(pathGrants(project.cwd, project.home)).toEqual([
    { project: project.cwd, folder: beside, access: "read" },
  ]);
  terminal.type("/trust paths\n");
  await terminal.until("Paths outside this project that are always");
  terminal.press("delete");
  await terminal.until("No paths left.");
  expect(pathGrants(project.cwd, project.home)).toEqual([]);
  terminal.press("esc");
});

test("a wrapped tool asks in the same way, and grants apply to it", async () => {
  const { terminal, project, beside } = await opened(wrapping);
  terminal.press("down", "down", "down", "enter");
  await terminal.until("Both read.");
  expect(pathGrants(project.cwd, project.home)).toMatchObject([{ folder: beside, access: "read" }]);
});

test("Enter alone allows nothing, and once is for one file", async () => {
  const { terminal } = await opened();
  terminal.press("enter");
  await terminal.until(/Read outside the project\?[\s\S]*b\.txt/);
  terminal.press("down", "enter");
  const screen = await terminal.until("Both read.");
  expect(screen).toMatch(/did\s+not\s+allow/);
  expect(screen).toContain("secret of b.txt");
});
