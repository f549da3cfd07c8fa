import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { everyRow, fewRuns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml, stringify } from "smol-toml";
import { expect, test } from "vitest";
import { withConfigValue } from "../../src/call/agent-config.ts";
import { withTomlTable } from "../../src/mcp-server/toml-table.ts";
import { testFolder } from "../call/sample-session.ts";
import { jsonOf, runCli } from "../run-cli.ts";

function place() {
  const folder = testFolder();
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  return { folder, cwd, env: { HOME: folder, BONSAI_HOME: join(folder, ".bonsai") } };
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const launcher = (folder: string) => join(folder, ".bonsai/launcher.mjs");
const command = (folder: string) => [process.execPath, launcher(folder), "mcp-server"];

const plain = (folder: string) => {
  const [node, ...args] = command(folder);
  return { command: node, args };
};

test("install writes the entry in the form of each client", () =>
  everyRow([
    [
      "claude-code",
      ".claude.json",
      (folder: string) => ({ mcpServers: { bonsai: { type: "stdio", ...plain(folder) } } }),
    ],
    ["codex", ".codex/config.toml", (folder: string) => ({ mcp_servers: { bonsai: plain(folder) } })],
    [
      "opencode",
      ".config/opencode/opencode.json",
      (folder: string) => ({ mcp: { bonsai: { type: "local", command: command(folder) } } }),
    ],
    ["gemini", ".gemini/settings.json", (folder: string) => ({ mcpServers: { bonsai: plain(folder) } })],
    ["cursor", ".cursor/mcp.json", (folder: string) => ({ mcpServers: { bonsai: plain(folder) } })],
  ] as const)(async ([client, name, wanted]) => {
    const { folder, ...options } = place();
    const report = await jsonOf(["mcp-server", "install", client, "--yes"], options);
    const file = join(folder, name);
    expect(report).toEqual({ client, file, outcome: "written" });
    const text = readFileSync(file, "utf8");
    expect(name.endsWith("toml") ? parseToml(text) : parseJsonc(text)).toEqual(wanted(folder));
    expect(existsSync(launcher(folder))).toBe(true);
    const again = await jsonOf(["mcp-server", "install", client, "--yes"], options);
    expect(again).toMatchObject({ outcome: "unchanged" });
  }));

test("install writes the project's file of each client", () =>
  everyRow([
    ["claude-code", ".mcp.json"],
    ["codex", ".codex/config.toml"],
    ["opencode", "opencode.json"],
    ["gemini", ".gemini/settings.json"],
    ["cursor", ".cursor/mcp.json"],
    ["vscode", ".vscode/mcp.json"],
  ] as const)(async ([client, name]) => {
    const { cwd, env } = place();
    await jsonOf(["mcp-server", "install", client, "--project", "--yes"], { cwd, env });
    expect(readFileSync(join(cwd, name), "utf8")).toContain("mcp-server");
  }));

test("install keeps comments, other servers and their order, and saves the former file", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".gemini/settings.json");
  const before = `{
\t// my servers
\t"mcpServers": {
\t\t"other": { "command": "x" }, // not mine
\t},
}
`;
  write(file, before);
  await jsonOf(["mcp-server", "install", "gemini", "--yes"], options);
  const after = readFileSync(file, "utf8");
  expect(after).toContain("\t// my servers");
  expect(after).toContain("// not mine");
  expect(Object.keys(parseJsonc(after).mcpServers)).toEqual(["other", "bonsai"]);
  expect(readFileSync(`${file}.bonsai-backup`, "utf8")).toBe(before);
  await jsonOf(["mcp-server", "remove", "gemini", "--yes"], options);
  expect(parseJsonc(readFileSync(file, "utf8"))).toEqual({ mcpServers: { other: { command: "x" } } });
  expect(readFileSync(file, "utf8")).toContain("// not mine");
});

test("install updates a TOML table in place and keeps its other keys and comments", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".codex/config.toml");
  const before = `# mine
model = "o5" # the best

[mcp_servers.bonsai]
command = "old"
args = ["old.mjs", "mcp-server"]
# slow disk
startup_timeout_sec = 30

# another
[mcp_servers.other]
command = "x"
`;
  write(file, before);
  await jsonOf(["mcp-server", "install", "codex", "--yes"], options);
  const text = readFileSync(file, "utf8");
  expect(text.replace(/^(command = ).*node.*$/m, '$1"old"').replace(/^args = .*$/m, "")).toBe(
    before.replace(/^args = .*$/m, ""),
  );
  await jsonOf(["mcp-server", "remove", "codex", "--yes"], options);
  expect(readFileSync(file, "utf8")).toBe(`# mine
model = "o5" # the best

# another
[mcp_servers.other]
command = "x"
`);
});

test("install uses the deeper place of OpenCode 2", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".config/opencode/opencode.jsonc");
  write(file, '{ "mcp": { "servers": { "a": { "type": "local", "command": ["x"] } } } }');
  await jsonOf(["mcp-server", "install", "opencode", "--yes"], options);
  expect(Object.keys(parseJsonc(readFileSync(file, "utf8")).mcp.servers)).toEqual(["a", "bonsai"]);
});

test("install changes nothing after a refusal, without a terminal, or in a damaged file", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".cursor/mcp.json");
  write(file, "{ broken");
  const damaged = await runCli(["mcp-server", "install", "cursor", "--yes"], options);
  expect(damaged).toMatchObject({ code: 1, stdout: "" });
  expect(damaged.stderr).toContain("[agent_config_unreadable]");
  write(file, "{}");
  const silent = await runCli(["mcp-server", "install", "cursor"], options);
  expect(silent.stderr.replaceAll(/\s+/g, " ")).toContain("Add --yes to write without asking.");
  const refused = await runCli(["mcp-server", "install", "cursor"], { ...options, typed: "n\n" });
  expect(refused).toMatchObject({ code: 130, stdout: "Nothing was changed.\n" });
  expect(refused.stderr).toContain('+     "bonsai": {');
  expect(readFileSync(file, "utf8")).toBe("{}");
  expect(existsSync(`${file}.bonsai-backup`)).toBe(false);
});

test("install refuses to replace another server named bonsai", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".cursor/mcp.json");
  const text = '{"mcpServers":{"bonsai":{"command":"trees"}}}';
  write(file, text);
  const { code, stderr } = await runCli(["mcp-server", "install", "cursor", "--yes"], options);
  expect([code, stderr]).toEqual([1, expect.stringContaining("[mcp_server_name_taken]")]);
  expect(await jsonOf(["mcp-server", "remove", "cursor", "--yes"], options)).toMatchObject({
    outcome: "unchanged",
  });
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("install refuses a TOML file with its servers in an inline table", async () => {
  const { folder, ...options } = place();
  const file = join(folder, ".codex/config.toml");
  const text = 'mcp_servers = { other = { command = "x" } }\n';
  write(file, text);
  const { code, stderr } = await runCli(["mcp-server", "install", "codex", "--yes"], options);
  expect([code, stderr]).toEqual([1, expect.stringContaining("[agent_config_unusual]")]);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("status lists the configurations and reports a launcher without its program", async () => {
  const { folder, ...options } = place();
  await jsonOf(["mcp-server", "install", "codex", "--yes"], options);
  const installed = await jsonOf<{ servers: { client: string; scope: string; state: string }[] }>(
    ["mcp-server", "status"],
    options,
  );
  const states = installed.servers.filter(({ state }) => state === "installed");
  expect(states).toMatchObject([{ client: "codex", scope: "user" }]);
  expect(installed).toMatchObject({ problem: null });
  writeFileSync(launcher(folder), 'const program = "file:///gone/bonsai.js";\n');
  expect((await runCli(["mcp-server", "status"], options)).stdout).toContain("no longer exists");
});

test("bonsai mcp-server names the clients and actions after a wrong word", async () => {
  const { cwd, env } = place();
  const client = await runCli(["mcp-server", "install", "emacs"], { cwd, env });
  expect([client.code, client.stderr]).toEqual([2, expect.stringContaining("claude-code, codex")]);
  const action = await runCli(["mcp-server", "start"], { cwd, env });
  expect([action.code, action.stderr]).toEqual([2, expect.stringContaining("Use install, remove or status")]);
});

const names = fc.stringMatching(/^[a-z]{1,6}$/).filter((name) => name !== "bonsai");
const server = fc.record({ command: fc.string(), args: fc.array(fc.string(), { maxLength: 3 }) });
const entry = { command: "node", args: ["launcher.mjs", "mcp-server"] };

test("law: adding and removing an entry leaves every other value of a JSON file", () => {
  const config = fc.record({
    mcpServers: fc.dictionary(names, server, { minKeys: 1 }),
    other: fc.jsonValue(),
  });
  fc.assert(
    fc.property(config, fc.constantFrom(0, 2, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const added = withConfigValue(text, ["mcpServers", "bonsai"], entry);
      expect(parseJsonc(added)).toEqual({ ...value, mcpServers: { ...value.mcpServers, bonsai: entry } });
      expect(parseJsonc(withConfigValue(added, ["mcpServers", "bonsai"], undefined))).toEqual(value);
    }),
    fewRuns(),
  );
});

test("law: adding and removing a table leaves every other byte of a TOML file", () => {
  const config = fc.record({
    model: fc.string(),
    mcp_servers: fc.dictionary(names, server, { minKeys: 1 }),
    zoo: fc.dictionary(names, fc.string()),
  });
  fc.assert(
    fc.property(config, fc.constantFrom("", "# end\n"), (value, end) => {
      const text = `${stringify(value)}${end}`;
      const added = withTomlTable(text, ["mcp_servers", "bonsai"], entry);
      expect(parseToml(added!).mcp_servers).toEqual({ ...value.mcp_servers, bonsai: entry });
      expect(withTomlTable(added!, ["mcp_servers", "bonsai"], undefined)?.trimEnd()).toBe(text.trimEnd());
    }),
    fewRuns(),
  );
});
