import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/extension";
import { expect, test } from "vitest";
import { columnsOf } from "../src/drawn-columns.ts";
import { type McpSession, openMcpSession, script } from "./mcp-session.ts";

const offers = script(join(import.meta.dirname, "offering-server.ts"));
const broken = {
  command: process.execPath,
  args: ["-e", "console.error('\u001b[31mno database'); process.exit(3)"],
};
const last = ({ notices }: McpSession) => notices.at(-1)!;

type Screen = Parameters<
  NonNullable<NonNullable<Parameters<typeof openMcpSession>[1]>["ui"]>["custom"] & {}
>[0];

/** Keys by what they stand for. */
const keys = (screen: Screen, ...names: string[]) => {
  for (const name of names) screen.handleInput?.(`tui.select.${name}`);
};

test("as text: what wants attention first, what all of it costs, and one server with all that it has", async () => {
  await using open = await openMcpSession({ offers, broken, idle: { ...offers, enabled: false } });
  await open.session.command("/mcp");
  const [summary, ...rows] = last(open).split("\n");
  expect(summary).toMatch(/^1 of 3 servers ready · 2 tools, ~\d+ tokens in each request$/);
  expect(rows.map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
    ["broken", "failed"],
    ["offers", "ready"],
    ["idle", "off"],
  ]);
  expect(rows[0]).toContain("no database");
  await open.session.command("/mcp offers");
  expect(last(open)).toContain("mcp__offers__show-later  ~");
  expect(last(open)).toContain("@offers:test://text");
  expect(last(open)).toContain("/offers:review  Reviews");
  await open.session.command("/mcp broken");
  expect(last(open)).toContain("Error output\n  no database");
  expect(open.notices.join("\n")).not.toContain("\u001b");
});

test("reports that large tools are found by search", async () => {
  await using open = await openMcpSession({ offers }, { model: { contextWindow: 300 } });
  await open.session.command("/mcp");
  expect(last(open)).toContain("the model searches for tools with mcp_search");
});

test("a server is switched off and on for the session, and connected anew", async () => {
  await using open = await openMcpSession({ offers });
  await open.session.command("/mcp off offers");
  expect(last(open)).toBe("Turned offers off for this session.");
  await open.session.command("/mcp on offers");
  expect(last(open)).toBe("Turned offers on for this session: ready, 2 tools.");
  await open.session.command("/mcp reconnect offers");
  expect(last(open)).toBe("offers: ready, 2 tools.");
});

test.each([
  ["/mcp nothing", "No MCP server is named nothing."],
  ["/mcp login", "Unknown command: /mcp login."],
  ["/mcp offers please", "Unknown command: /mcp offers please."],
  ["/mcp login offers", "The MCP server offers needs no login: it runs as a local program."],
])("%s is refused", async (text, message) => {
  await using open = await openMcpSession({ offers });
  const error = await open.session.command(text).catch((thrown: unknown) => thrown);
  expect(BonsaiError.is(error) && error.message).toContain(message);
});

test("shows a refused command with its hint on a screen", async () => {
  await using open = await openMcpSession({ offers }, { mode: "tui" });
  await open.session.command("/mcp nothing");
  expect(last(open)).toBe("No MCP server is named nothing. Configured servers: offers.");
});

test("words are completed", async () => {
  await using open = await openMcpSession({ offers });
  const complete = async (text: string) =>
    (await open.session.extensions.completeCommand("mcp", text)).map(({ value }) => value);
  expect(await complete("o")).toEqual(["offers", "on", "off"]);
  expect(await complete("login o")).toEqual(["login offers"]);
  expect(await complete("nothing o")).toEqual([]);
});

test.each([40, 80, 120])("the screen fits %i columns, on every page", async (width) => {
  const drawn: string[] = [];
  const custom = (screen: Screen) => {
    const draw = () => drawn.push(...(screen.render(width) ?? []));
    draw();
    keys(screen, "down", "confirm");
    draw();
    for (let item = 0; item < 3; item++) {
      keys(screen, "confirm");
      draw();
      keys(screen, "down", "confirm");
      draw();
      keys(screen, "cancel", "cancel", "confirm", "down");
    }
  };
  await using open = await openMcpSession({ offers, broken }, { mode: "tui", ui: { custom } });
  await expect.poll(() => open.session.extensions.commands.length, { timeout: 30_000 }).toBeGreaterThan(2);
  await open.session.command("/mcp");
  expect(drawn.length).toBeGreaterThan(30);
  expect(drawn.filter((line) => columnsOf(line) > width)).toEqual([]);
  expect(drawn.join("\n")).not.toContain("\u001b");
  expect(drawn.join("\n")).toContain("› broken");
});

test("the screen leads from a server to its tools, and to what can be done with it", async () => {
  const seen: string[] = [];
  let round = 0;
  const custom = (screen: Screen) => {
    const see = () => seen.push((screen.render(80) ?? []).join("\n"));
    round += 1;
    if (round > 1) return void see();
    keys(screen, "confirm", "confirm", "confirm");
    see();
    keys(screen, "cancel", "cancel", "down", "down", "down");
    see();
    keys(screen, "confirm");
  };
  await using open = await openMcpSession({ offers }, { mode: "tui", ui: { custom } });
  await expect.poll(() => open.session.extensions.commands.length, { timeout: 30_000 }).toBeGreaterThan(2);
  await open.session.command("/mcp");
  expect(seen[0]).toContain("mcp__offers__show-later, ~");
  expect(seen[1]).toContain("› Reconnect");
  expect(last(open)).toBe("offers: ready, 2 tools.");
  expect(seen[2]).toContain("offers");
});

test("switching off in the file leaves all else in it as it was", async () => {
  const home = mkdtempSync(join(tmpdir(), "mcp-switch-"));
  const file = join(home, "mcp.json");
  const before = { note: "mine", mcpServers: { other: { url: "https://a.example", enabled: true }, offers } };
  writeFileSync(file, JSON.stringify(before, null, 4));
  const { switchInFile } = await import("../src/server-switch.ts");
  const config = { name: "offers", file } as Parameters<typeof switchInFile>[0];
  await switchInFile(config, false);
  const off = readFileSync(file, "utf8");
  expect(JSON.parse(off)).toEqual({
    ...before,
    mcpServers: { ...before.mcpServers, offers: { ...offers, enabled: false } },
  });
  expect(off).toContain('\n    "note"');
  await switchInFile(config, true);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(before);
  await expect(switchInFile({ ...config, name: "gone" }, true)).rejects.toMatchObject({
    code: "mcp_file_unchanged",
  });
  rmSync(home, { recursive: true });
});
