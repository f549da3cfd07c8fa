import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

const folder = join(import.meta.dirname, "..");

/** Runs a session with each list of servers in turn. Prints the SDK modules that the process has loaded after each. */
const program = `
  import { writeFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  const asked = new Set();
  registerHooks({
    resolve(name, context, next) {
      if (name.startsWith("@modelcontextprotocol/")) asked.add(name);
      return next(name, context);
    },
  });
  const { default: mcp } = await import("./index.ts");
  const { openTestSession } = await import("@bonsai-agent/extension/testing");
  const [file, ...lists] = process.argv.slice(1);
  for (const servers of lists) {
    writeFileSync(file, servers);
    const session = await openTestSession({ extensions: mcp, answers: ["Hello."] });
    await session.prompt("Hello.");
    await session.close();
    console.log(JSON.stringify([...asked]));
  }
`;

function askedAfter(...lists: object[]): string[][] {
  const home = mkdtempSync(join(tmpdir(), "bonsai-mcp-start-"));
  try {
    const servers = lists.map((mcpServers) => JSON.stringify({ mcpServers }));
    const node = ["--no-warnings", "--conditions=@bonsai-agent/source", "--input-type=module", "-e", program];
    const args = [...node, join(home, "mcp.json"), ...servers];
    const env = { ...process.env, BONSAI_HOME: home };
    const printed = execFileSync(process.execPath, args, { cwd: folder, env, encoding: "utf8" });
    return printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

test("the SDK is loaded for a server that is enabled, and for nothing else", () => {
  const off = { off: { command: "off", enabled: false } };
  const on = { on: { command: "bonsai-no-such-program" } };
  const [before, after] = askedAfter(off, on);
  expect(before).toEqual([]);
  expect(after).toContain("@modelcontextprotocol/client");
});

test("the file in the README is one that is read", () => {
  const [, text = ""] = /<!-- file: mcp\.json -->\n```json\n([\s\S]*?)```/.exec(
    readFileSync(join(folder, "README.md"), "utf8"),
  )!;
  const home = mkdtempSync(join(tmpdir(), "bonsai-mcp-readme-"));
  try {
    writeFileSync(join(home, "mcp.json"), text);
    const { servers, problems } = readConfig({ cwd: home, home, isProjectTrusted: false, env: {} });
    expect(problems).toEqual([]);
    expect(servers.map(({ name, type }) => [name, type])).toEqual([
      ["files", "stdio"],
      ["docs", "http"],
    ]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
